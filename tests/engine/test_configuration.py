"""Settings of a running broker: changed as a whole, and kept in their file in its owner's form."""

import errno

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.configuration import NAMESRV_RULES, ChangeForbidden, Configuration
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import (
    BrokerOptions,
    NamesrvOptions,
    OptionSet,
    Setting,
    StoreOptions,
    load_properties,
)
from mqgateway.engine.tables.jsonfile import write_table
from mqgateway.engine.testing.crash_disk import CrashDisk

PATH = "/conf/broker.conf"
TEXT = """# our broker
brokerName = broker-a

# who may be slow
listenPort=10911
"""


class World:
    """A configuration with its file."""

    def __init__(self, path: str = PATH, text: str | None = TEXT) -> None:
        self.clock = ManualClock()
        self.disk = CrashDisk(millis=self.clock.millis)
        if text is not None:
            write_table(self.disk, PATH, text.encode())
        self.options = BrokerOptions()
        self.settings = OptionSet(self.options, StoreOptions())
        self.configuration = Configuration(self.settings, self.disk, self.clock, path)

    def update(self, **changes: str) -> None:
        self.note = self.configuration.update(
            [Setting(key, value, source="request") for key, value in changes.items()]
        )

    @property
    def kept(self) -> str:
        return self.disk.read_bytes(PATH).decode()


def test_a_change_counts_at_once_and_is_kept_below_the_rest() -> None:
    world = World()
    world.clock.advance(5)
    world.update(traceOn="false")
    assert world.options.trace_on is False
    assert world.kept == TEXT + "traceOn=false\n"
    assert world.configuration.version.counter == 1
    assert world.configuration.version.timestamp == world.clock.millis()
    assert world.configuration.get("traceOn") == "false"


def test_a_change_takes_the_line_that_is_there() -> None:
    world = World(text="traceOn=true\n# end\n")
    world.update(traceOn="false", autoCreateTopicEnable="false")
    assert world.kept == "traceOn=false\n# end\nautoCreateTopicEnable=false\n"


@pytest.mark.parametrize("path", ["", PATH])
def test_without_a_file_a_change_counts_and_is_not_kept(path: str) -> None:
    world = World(path=path, text=None)
    world.update(traceOn="false")
    assert world.options.trace_on is False
    assert not world.disk.exists(PATH)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"traceOn": "false", "nonsense": "1"}, ConfigError),
        ({"traceOn": "false", "defaultTopicQueueNums": "-1"}, ConfigError),
        ({"traceOn": "false", "storePathRootDir": "/elsewhere"}, ConfigError),
        ({"traceOn": "false", "kafkaGroupShareSessionTimeoutMillis": "5000"}, ConfigError),
        ({"traceOn": "false", "configBlackList": ""}, ChangeForbidden),
    ],
)
def test_all_or_nothing(changes: dict[str, str], error: type[Exception]) -> None:
    world = World()
    with pytest.raises(error):
        world.update(**changes)
    assert world.options.trace_on is True
    assert world.kept == TEXT
    assert world.configuration.version.counter == 0


def test_settings_that_contradict_each_other_can_be_changed_together_only() -> None:
    world = World()
    world.update(kafkaGroupShareSessionTimeoutMillis="5000", kafkaGroupShareHeartbeatIntervalMillis="1000")
    assert world.options.kafka_group_share_session_timeout_millis == 5000
    with pytest.raises(
        ConfigError, match=r"=5000: must be less than kafkaGroupShareSessionTimeoutMillis=5000"
    ):
        world.configuration.reread([Setting("kafkaGroupShareHeartbeatIntervalMillis", "5000", 3, PATH)])
    assert world.options.kafka_group_share_heartbeat_interval_millis == 1000


def test_the_owner_may_close_more_settings() -> None:
    world = World()
    world.options.config_black_list = "configBlackList;traceOn"
    with pytest.raises(ChangeForbidden):
        world.update(traceOn="false")


def test_everything_is_shown() -> None:
    shown = World().configuration.as_properties().splitlines()
    assert "traceOn=true" in shown and "flushDiskType=ASYNC_FLUSH" in shown


class OfNameServer:
    """A name server's configuration, whose file is its own."""

    def __init__(self) -> None:
        self.disk, self.options = CrashDisk(), NamesrvOptions()
        self.settings = OptionSet(self.options)
        self.configuration = Configuration(self.settings, self.disk, ManualClock(), PATH, NAMESRV_RULES)


def test_a_name_server_s_file_has_all_properties_and_unknown_names_are_passed_over() -> None:
    made = OfNameServer()
    made.configuration.update([Setting("noSuchThing", "1"), Setting("orderMessageEnable", "true")])
    kept = made.disk.read_bytes(PATH).decode()
    assert made.options.order_message_enable
    assert "orderMessageEnable=true\n" in kept and "scanNotActiveBrokerInterval=" in kept
    assert "noSuchThing" not in kept


@pytest.mark.parametrize("name", ["configStorePath", "kvConfigPath", "configBlackList", "rocketmqHome"])
def test_a_name_server_has_a_black_list_of_its_own(name: str) -> None:
    made = OfNameServer()
    with pytest.raises(ChangeForbidden):
        made.configuration.update([Setting("orderMessageEnable", "true"), Setting(name, "x")])
    assert not made.options.order_message_enable and not made.disk.exists(PATH)


def test_metadata_of_properties() -> None:
    world = World()
    configuration = world.configuration
    assert configuration.option("maxMessageSize").unit == "bytes"
    named = {row.name: row.value for row in configuration.effective()}
    assert named["maxMessageSize"] == "4194304"
    for name, why in (
        ("maxMessageSize", ""),
        ("storePathRootDir", "read at start only"),
        ("configBlackList", "on the black list"),
    ):
        assert configuration.why_fixed(name) == why


def reread(world: World, text: str) -> list[str]:
    return world.configuration.reread(load_properties(text, PATH))


def test_reread_applies_changed_values_and_keeps_the_file() -> None:
    world = World()
    world.settings.apply(load_properties(TEXT, PATH))
    assert reread(world, TEXT) == [] and world.configuration.version.counter == 0
    waiting = reread(world, "aclEnable=true\ntraceOn=true\ntraceOn=false\nnoSuchThing=1\n")
    assert waiting == ["aclEnable"]
    assert (world.options.trace_on, world.options.acl_enable) == (False, False)
    assert (world.kept, world.configuration.version.counter) == (TEXT, 1)


def test_flags_and_variables_stay_above_the_file() -> None:
    world = World()
    for origin in ("flag", "--set", "MQGATEWAY_TRACE_ON", "JAVA_OPT"):
        world.settings.apply([Setting("traceOn", "true", 0, origin)])
        assert reread(world, "traceOn=false\n") == [] and world.options.trace_on
    world.update(traceOn="true")
    reread(world, "traceOn=false\n")
    assert not world.options.trace_on


def test_a_file_that_is_wrong_changes_nothing() -> None:
    world = World()
    with pytest.raises(ConfigError, match="maxMessageSize"):
        reread(world, "traceOn=false\nmaxMessageSize=many\n")
    assert world.options.trace_on


def test_live_and_kept_change_needs_no_note() -> None:
    world = World()
    world.update(traceOn="false")
    assert world.note == ""


def test_restart_setting_is_kept_but_not_set() -> None:
    world = World()
    world.update(aclEnable="true", traceOn="false")
    assert world.note == "aclEnable: takes effect after a restart"
    assert (world.options.acl_enable, world.options.trace_on) == (False, False)
    assert "aclEnable=true\n" in world.kept
    assert "aclEnable=false\n" in world.configuration.as_properties()


@pytest.mark.parametrize("path", ["", PATH])
def test_restart_setting_without_a_file_is_refused(path: str) -> None:
    world = World(path=path, text=None)
    with pytest.raises(
        ConfigError,
        match="aclEnable: takes effect after a restart only, and is not kept until then: there is",
    ):
        world.update(aclEnable="true", traceOn="false")
    assert world.options.trace_on is True
    assert world.configuration.why_fixed("aclEnable")


def test_restart_setting_that_a_flag_gives_is_refused() -> None:
    world = World()
    world.settings.apply([Setting("aclEnable", "false", 0, "--set")])
    world.configuration = Configuration(world.settings, world.disk, world.clock, PATH)
    with pytest.raises(ConfigError, match="set again at the next start: aclEnable by --set"):
        world.update(aclEnable="true")
    assert world.kept == TEXT


def test_live_setting_that_a_variable_gives_is_noted() -> None:
    world = World()
    world.settings.apply([Setting("traceOn", "true", 0, "MQGATEWAY_TRACE_ON")])
    world.configuration = Configuration(world.settings, world.disk, world.clock, PATH)
    world.update(traceOn="false")
    assert world.note == "set again at the next start: traceOn by MQGATEWAY_TRACE_ON"


def test_setting_with_its_present_value_is_accepted_whatever_its_effect() -> None:
    world = World()
    world.update(aclEnable="false", authenticationEnabled="false")
    assert world.note == ""


def test_setting_without_effect_is_noted() -> None:
    world = World()
    world.update(sendMessageThreadPoolNums="8")
    assert world.note.startswith("sendMessageThreadPoolNums has no effect: ")


def test_unwritable_file_leaves_the_change_live_and_notes_it() -> None:
    world = World()
    world.disk.fail_next("open", PATH, errno.EROFS, times=99)
    world.update(traceOn="false")
    assert world.options.trace_on is False
    assert "not kept beyond a restart" in world.note and "Read-only" in world.note
    with pytest.raises(ConfigError, match="aclEnable"):
        world.update(aclEnable="true")
    world.disk.heal()
    assert world.kept == TEXT


def test_change_under_an_old_name_takes_the_line_of_the_new_one() -> None:
    world = World(text="isInBrokerContainer=false\n")
    world.update(inBrokerContainer="true")
    assert world.kept == "isInBrokerContainer=true\n"


def test_announced_setting_cannot_become_empty() -> None:
    world = World()
    with pytest.raises(ConfigError, match="brokerName: an announced value cannot be empty"):
        world.update(brokerName="")


def test_second_change_of_a_name_server_keeps_the_first() -> None:
    made = OfNameServer()
    made.configuration.update([Setting("scanNotActiveBrokerInterval", "6000")])
    made.configuration.update([Setting("orderMessageEnable", "true")])
    kept = made.disk.read_bytes(PATH).decode()
    assert "scanNotActiveBrokerInterval=6000\n" in kept and "orderMessageEnable=true\n" in kept
    assert made.options.scan_not_active_broker_interval == 5000


def test_name_server_file_that_no_start_reads_is_noted() -> None:
    made = OfNameServer()
    made.settings.assume("configStorePath", PATH, "data folder")
    note = made.configuration.update([Setting("orderMessageEnable", "true")])
    assert note == f"not kept beyond a restart: a start does not read {PATH} unless -c names it"
