"""The settings of a server: where they come from, what is said about them."""

import pytest

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import (
    BrokerOptions,
    NamesrvOptions,
    OptionSet,
    RemotingOptions,
    Setting,
    StoreOptions,
    TlsOptions,
    load_properties,
    snake_case,
)


@pytest.fixture
def options() -> OptionSet:
    return OptionSet(BrokerOptions(), StoreOptions(), RemotingOptions(), TlsOptions())


def test_a_file_over_defaults_an_environment_over_a_file_a_flag_over_all(options: OptionSet) -> None:
    options.apply(load_properties("brokerName=a\nbrokerId=0\nlistenPort=1\n", "broker.conf"))
    options.apply([Setting("listenPort", "2", source="MQGATEWAY_LISTEN_PORT")])
    options.apply([Setting("listenPort", "3", source="--set")])
    assert options.get("listenPort") == 3
    assert options.origin("listenPort") == "--set"
    assert options.origin("brokerName") == "broker.conf:1"
    assert options.origin("brokerClusterName") == "default"


def test_a_shared_property_is_set_everywhere() -> None:
    broker, remoting = BrokerOptions(), RemotingOptions()
    OptionSet(broker, remoting).set("listenPort", "7")
    assert broker.listen_port == remoting.listen_port == 7


def test_a_problem_says_where_what_and_what_instead(options: OptionSet) -> None:
    problems = options.apply(load_properties("#\nflushDiskType = SYNC_FLSH", "broker.conf"))
    assert [str(p) for p in problems] == [
        "broker.conf:2: flushDiskType=SYNC_FLSH: not one of ASYNC_FLUSH, SYNC_FLUSH; "
        "use flushDiskType=SYNC_FLUSH"
    ]
    assert problems[0].severity == "error"
    assert options.get("flushDiskType") == "ASYNC_FLUSH"


def test_an_unknown_key_is_a_warning_with_the_nearest_name(options: OptionSet) -> None:
    (problem,) = options.apply([Setting("autoCreateTopicEnabled", "true", 3, "broker.conf")])
    assert problem.severity == "warning"
    assert problem.suggestion == "did you mean autoCreateTopicEnable?"
    (problem,) = options.apply([Setting("colour", "red")], unknown="error")
    assert (problem.severity, problem.suggestion) == ("error", "")


def test_an_old_name_is_honoured_with_a_warning(options: OptionSet) -> None:
    (problem,) = options.apply([Setting("mapedFileSizeCommitLog", "1048576")])
    assert options.get("mappedFileSizeCommitLog") == 1048576
    assert problem.severity == "warning"
    assert problem.suggestion == "use mappedFileSizeCommitLog=1048576"


def test_a_property_without_effect_is_kept_and_said(options: OptionSet) -> None:
    (problem,) = options.apply([Setting("sendMessageThreadPoolNums", "64")])
    assert problem.severity == "warning"
    assert "no effect" in problem.what
    shown = {e.name: e for e in options.effective()}["sendMessageThreadPoolNums"]
    assert shown.value == "64"
    assert shown.note.startswith("no effect: ")


def test_a_property_without_effect_at_its_default_is_nothing_to_say(options: OptionSet) -> None:
    assert options.apply([Setting("transientStorePoolEnable", "false")]) == []


def test_set_refuses_what_apply_refuses(options: OptionSet) -> None:
    assert options.set("fileReservedTime", "48") == 48
    assert options.set("mapedFileSizeCommitLog", "4096") == 4096
    for name, text in (("fileReservedTime", "-1"), ("fileReservdTime", "48")):
        with pytest.raises(ConfigError, match=name):
            options.set(name, text)
    assert options.get("fileReservedTime") == 48


def test_check_sets_nothing(options: OptionSet) -> None:
    settings = [Setting("fileReservedTime", "48"), Setting("brokerId", "x"), Setting("nope", "1")]
    assert [p.key for p in options.check(settings)] == ["brokerId", "nope"]
    assert options.get("fileReservedTime") == 72


def test_assumed_values_give_way_to_given_ones(options: OptionSet) -> None:
    options.apply([Setting("brokerName", "mine", source="--set")])
    options.assume("brokerName", "host", "machine")
    options.assume("brokerIP1", "10.0.0.1", "machine")
    assert (options.get("brokerName"), options.get("brokerIP1")) == ("mine", "10.0.0.1")
    assert options.origin("brokerIP1") == "machine"


def test_secrets_are_not_shown(options: OptionSet) -> None:
    options.set("tls.server.keyPassword", "hunter2")
    assert "hunter2" not in options.as_properties()
    assert "hunter2" not in repr(options.effective())
    assert "tls.server.keyPassword=hunter2\n" in options.as_properties(hide_secrets=False)


def test_properties_text_gives_the_same_options_again(options: OptionSet) -> None:
    options.set("regionId", "a b=c")
    again = OptionSet(BrokerOptions(), StoreOptions(), RemotingOptions(), TlsOptions())
    assert not [
        p
        for p in again.apply(load_properties(options.as_properties(hide_secrets=False), "f"))
        if "no effect" not in p.what
    ]
    assert again.as_properties() == options.as_properties()


def test_our_own_properties_can_be_left_out(options: OptionSet) -> None:
    assert "maxConnections=" in options.as_properties()
    assert "maxConnections=" not in options.as_properties(ours=False)


def test_a_misspelt_attribute_is_refused() -> None:
    with pytest.raises(AttributeError, match="brokr_name"):
        BrokerOptions().brokr_name = "x"


def test_attributes_follow_the_names(options: OptionSet) -> None:
    namesrv = OptionSet(NamesrvOptions())
    for each in (options, namesrv):
        for name in each.names():
            attribute = each.option(name).attribute
            # Two of Java's fields begin with the `is` of their getters.
            assert attribute in ("", snake_case(name), snake_case(name).removeprefix("is_"))


def test_part_is_the_object_of_a_class() -> None:
    options, remoting = BrokerOptions(), RemotingOptions()
    known = OptionSet(options, remoting)
    assert known.part(RemotingOptions) is remoting
    assert known.part(BrokerOptions) is options
    with pytest.raises(LookupError, match="TlsOptions"):
        known.part(TlsOptions)
