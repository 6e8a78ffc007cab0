"""The table of consumer groups: built-in ones, creation on use, forbidden operations, the file."""

from itertools import pairwise
from typing import Any

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.tables.attributes import AttributeRefused
from mqgateway.engine.tables.data_version import DataVersion
from mqgateway.engine.tables.groups import (
    BUILT_IN_GROUPS,
    FORBIDDEN_READ,
    FORBIDDEN_WRITE,
    GroupTable,
    SubscriptionGroupConfig,
)
from mqgateway.engine.tables.jsonfile import load_table, save_table
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.worker import MemoryWorker

PATH = "/store/config/subscriptionGroup.json"
NOW = 1_700_000_000_000


def table(disk: CrashDisk | None = None, **given: Any) -> GroupTable:
    made = GroupTable(BrokerOptions(**given), disk or CrashDisk(), PATH, ManualClock(NOW))
    made.load()
    return made


def test_the_built_in_groups_are_there() -> None:
    assert set(table().names()) == set(BUILT_IN_GROUPS)


def test_a_group_is_made_on_first_use() -> None:
    made = table()
    assert made.get("g") is None
    config = made.find("g")
    assert config == SubscriptionGroupConfig("g")
    assert made.find("g") is config
    assert made.data_version == DataVersion(1, 0, NOW)


def test_no_group_is_made_when_that_is_switched_off() -> None:
    made = table(auto_create_subscription_group=False)
    assert made.find("g") is None
    assert made.find("CID_RMQ_SYS_X") is not None
    assert (
        table(auto_create_subscription_group=False, enable_create_sys_group=False).find("CID_RMQ_SYS_X")
        is None
    )


@pytest.mark.parametrize("name", ["", " ", "a b", "g" * 121])
def test_no_group_is_made_under_an_illegal_name(name: str) -> None:
    assert table().find(name) is None


def test_the_longest_name() -> None:
    assert table().find("g" * 120) is not None


def test_groups_made_on_use_are_limited() -> None:
    made = table(max_groups=len(BUILT_IN_GROUPS) + 1)
    assert made.find("one") is not None
    assert made.find("two") is None
    made.update(SubscriptionGroupConfig("by-hand"))
    assert "by-hand" in made


def test_an_update_sets_fields_and_alters_attributes() -> None:
    made = table()
    made.update(SubscriptionGroupConfig("g", retry_max_times=3, attributes={"+priority.factor": "5"}))
    made.update(SubscriptionGroupConfig("g", attributes={"-priority.factor": ""}))
    assert made.get("g") == SubscriptionGroupConfig("g")
    with pytest.raises(AttributeRefused, match="unsupported key"):
        made.update(
            SubscriptionGroupConfig("h"), SubscriptionGroupConfig("g", attributes={"+message.type": "FIFO"})
        )
    assert "h" not in made


def test_a_group_can_be_stopped_and_deleted() -> None:
    made = table()
    made.find("g")
    made.disable_consume("g")
    config = made.get("g")
    assert config is not None
    assert not config.consume_enable
    counter = made.data_version.counter
    made.disable_consume("g")
    assert made.data_version.counter == counter
    made.forbid("g", "t", FORBIDDEN_READ, True)
    assert made.delete("g")
    assert not made.delete("g")
    assert made.forbidden("g", "t") == 0


def test_no_more_is_forbidden_than_allowed() -> None:
    made = table(max_forbidden=2)
    assert made.forbid("g", "t", FORBIDDEN_READ, True)
    assert made.forbid("h", "t", FORBIDDEN_READ, True)
    assert not made.forbid("h", "u", FORBIDDEN_READ, True)
    assert made.forbid("h", "t", FORBIDDEN_WRITE, True), "of what is kept more can be said"
    assert made.forbid("g", "t", FORBIDDEN_READ, False)
    assert made.forbid("h", "u", FORBIDDEN_READ, True)


def test_reading_is_forbidden_and_allowed_by_bits() -> None:
    made = table()
    assert not made.is_read_forbidden("g", "t")
    made.forbid("g", "t", FORBIDDEN_READ, True)
    made.forbid("g", "t", FORBIDDEN_WRITE, True)
    assert (made.is_read_forbidden("g", "t"), made.forbidden("g", "t")) == (True, 6)
    assert not made.is_read_forbidden("g", "u")
    made.forbid("g", "t", FORBIDDEN_READ, False)
    assert (made.is_read_forbidden("g", "t"), made.forbidden_table()) == (False, {"g": {"t": 2}})
    made.forbid("g", "t", FORBIDDEN_WRITE, False)
    assert made.forbidden_table() == {}
    counter = made.data_version.counter
    made.forbid("g", "t", FORBIDDEN_WRITE, False)
    assert made.data_version.counter == counter == 4


def test_the_table_outlives_a_restart() -> None:
    disk = CrashDisk()
    first = table(disk)
    first.update(
        SubscriptionGroupConfig(
            "g",
            consume_enable=False,
            consume_from_min_enable=False,
            consume_broadcast_enable=False,
            consume_message_orderly=True,
            retry_queue_nums=2,
            retry_max_times=3,
            group_retry_policy={"type": "EXPONENTIAL", "exponentialRetryPolicy": {"initial": 1}},
            broker_id=1,
            which_broker_when_consume_slowly=2,
            notify_consumer_ids_changed_enable=False,
            group_sys_flag=1,
            consume_timeout_minute=5,
            subscription_data_set=[{"topic": "t"}],
            attributes={"+priority.factor": "7"},
        )
    )
    first.forbid("g", "t", FORBIDDEN_READ, True)
    again = table(disk.crash())
    assert again.get("g") == first.get("g")
    assert again.forbidden("g", "t") == 4
    assert again.data_version == first.data_version


def test_members_that_we_do_not_know_are_written_back() -> None:
    disk = CrashDisk()
    table(disk).find("g")
    written = load_table(disk, PATH)
    assert written is not None
    written["future"] = "x"
    written["subscriptionGroupTable"]["g"]["newer"] = {"b": 2}
    save_table(disk, PATH, written)
    made = table(disk)
    made.put(SubscriptionGroupConfig("g", retry_max_times=3))
    again = load_table(disk, PATH)
    assert again is not None
    assert again["future"] == "x"
    assert again["subscriptionGroupTable"]["g"]["newer"] == {"b": 2}
    assert again["subscriptionGroupTable"]["g"]["retryMaxTimes"] == 3
    made.delete("g")
    made.find("g")
    again = load_table(disk, PATH)
    assert again is not None
    assert "newer" not in again["subscriptionGroupTable"]["g"], "another group of that name"


def test_the_file_is_the_standards() -> None:
    disk = CrashDisk()
    made = table(disk)
    made.find("g")
    written = load_table(disk, PATH)
    assert written == made.to_json() | {
        "subscriptionGroupTable": {
            name: {k: v for k, v in value.items() if v is not None}
            for name, value in made.to_json()["subscriptionGroupTable"].items()
        }
    }
    assert written["subscriptionGroupTable"]["g"] == {
        "attributes": {},
        "brokerId": 0,
        "consumeBroadcastEnable": True,
        "consumeEnable": True,
        "consumeFromMinEnable": True,
        "consumeMessageOrderly": False,
        "consumeTimeoutMinute": 15,
        "groupName": "g",
        "groupRetryPolicy": {"type": "CUSTOMIZED"},
        "groupSysFlag": 0,
        "notifyConsumerIdsChangedEnable": True,
        "retryMaxTimes": 16,
        "retryQueueNums": 1,
        "whichBrokerWhenConsumeSlowly": 1,
    }


def test_missing_fields_have_their_defaults_and_null_numbers_are_zero() -> None:
    assert SubscriptionGroupConfig.from_json({"groupName": "g", "unknown": 1}) == SubscriptionGroupConfig("g")
    read = SubscriptionGroupConfig.from_json({"groupName": "g", "retryMaxTimes": None, "attributes": None})
    assert read == SubscriptionGroupConfig("g", retry_max_times=0)


def test_lenient_json_values_are_accepted() -> None:
    read = SubscriptionGroupConfig.from_json({"groupName": 5, "consumeEnable": "true", "retryQueueNums": 1.5})
    assert read == SubscriptionGroupConfig("5")


@pytest.mark.parametrize(
    "entry",
    [
        None,
        {"groupName": None},
        {"groupName": "g", "retryQueueNums": "many"},
        {"groupName": "g", "retryMaxTimes": 2**31},
        {"groupName": "g", "consumeEnable": "yes"},
        {"groupName": "g", "groupRetryPolicy": []},
        {"groupName": "g", "subscriptionDataSet": 5},
        {"groupName": "g", "attributes": []},
    ],
)
def test_fields_of_wrong_types_are_refused(entry: Any) -> None:
    with pytest.raises(ConfigError):
        SubscriptionGroupConfig.from_json(entry)


def test_settings_without_end_are_refused() -> None:
    made = table()
    policy: dict[str, Any] = {}
    for _ in range(200):
        policy = {"next": policy}
    for bad in (policy, {"type": "x" * 65536}):
        with pytest.raises(AttributeRefused):
            made.update(SubscriptionGroupConfig("g", group_retry_policy=bad))
    assert made.get("g") is None
    made.put(SubscriptionGroupConfig("h"))


def test_a_full_disk_costs_the_write_not_the_group() -> None:
    disk = CrashDisk()
    made = table(disk)
    disk.fail_next("sync", PATH)
    made.find("g")
    assert load_table(disk, PATH) is None
    made.retry()
    assert load_table(disk, PATH) is not None


def test_writes_can_be_left_to_a_worker() -> None:
    disk, worker = CrashDisk(), MemoryWorker()
    made = GroupTable(BrokerOptions(), disk, PATH, ManualClock(NOW), worker)
    for number in range(20):
        made.find(f"g{number}")
    assert worker.waiting == 1
    worker.perform_all()
    written = load_table(disk, PATH)
    assert written is not None
    assert len(written["subscriptionGroupTable"]) == len(made)


def test_with_lmq_queues_there_is_a_group_of_every_lmq_name() -> None:
    made = table(auto_create_subscription_group=False)
    assert made.find("%LMQ%g") is None and "%LMQ%g" not in made
    made.has_lmq_groups = True
    assert made.find("%LMQ%g") == made.get("%LMQ%g") == SubscriptionGroupConfig("%LMQ%g")
    assert "%LMQ%g" in made
    made.put(SubscriptionGroupConfig("%LMQ%g", consume_enable=False))
    assert "%LMQ%g" not in made.names()


def test_each_group_of_a_list_is_a_change_of_its_own() -> None:
    made = table()
    for _ in range(2):
        made.update(*(SubscriptionGroupConfig(f"G{n}") for n in range(20)))
    assert made.data_version.counter == 40


def test_a_long_list_is_updated_in_steps() -> None:
    """None is changed before all have been checked; then some with each step."""
    made = table()
    before = len(made)
    configs = [SubscriptionGroupConfig(f"G{n}") for n in range(100)]
    sizes = [len(made) - before for _ in made.update_in_steps(configs)]
    assert len(sizes) > 20 and sizes[len(sizes) // 3] == 0
    assert max(later - one for one, later in pairwise(sizes)) <= 10
    assert len(made) - before == 100
