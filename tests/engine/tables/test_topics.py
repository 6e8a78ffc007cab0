"""The table of topics: built-in ones, creation by a send, changes, and the file."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.tables.attributes import AttributeRefused
from mqgateway.engine.tables.data_version import DataVersion
from mqgateway.engine.tables.jsonfile import load_table, save_table
from mqgateway.engine.tables.topics import TopicConfig, TopicTable
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.worker import MemoryWorker

PATH = "/store/config/topics.json"
NOW = 1_700_000_000_000


def options(**given: Any) -> BrokerOptions:
    return BrokerOptions(broker_name="b0", broker_cluster_name="c0", **given)


def table(
    disk: CrashDisk | None = None, log_range: Callable[[], tuple[int, int]] = lambda: (0, 0), **given: Any
) -> TopicTable:
    made = TopicTable(options(**given), disk or CrashDisk(), PATH, ManualClock(NOW), log_range=log_range)
    made.load()
    return made


def test_the_built_in_topics_are_those_of_the_standard() -> None:
    """Name, queues and permission, as a 5.5.0 broker with default settings writes them at start."""
    assert {c.topic_name: (c.read_queue_nums, c.write_queue_nums, c.perm) for c in table().all()} == {
        "TBW102": (8, 8, 7),
        "SELF_TEST_TOPIC": (1, 1, 6),
        "BenchmarkTest": (1024, 1024, 6),
        "c0": (16, 16, 7),
        "b0": (1, 1, 7),
        "OFFSET_MOVED_EVENT": (1, 1, 6),
        "SCHEDULE_TOPIC_XXXX": (18, 18, 6),
        "c0_REPLY_TOPIC": (1, 1, 6),
        "rmq_sys_REVIVE_LOG_c0": (8, 8, 6),
        "rmq_sys_SYNC_BROKER_MEMBER_b0": (1, 1, 1),
        "RMQ_SYS_TRANS_HALF_TOPIC": (1, 1, 6),
        "RMQ_SYS_TRANS_OP_HALF_TOPIC": (1, 1, 6),
        "RMQ_SYS_ROCKSDB_TRANS_HALF_TOPIC": (1, 1, 6),
        "RMQ_SYS_ROCKSDB_TRANS_OP_HALF_TOPIC": (1, 1, 6),
        "rmq_sys_wheel_timer": (1, 1, 6),
    }


def test_settings_change_the_built_in_topics() -> None:
    made = table(auto_create_topic_enable=False, trace_topic_enable=True, cluster_topic_enable=False)
    assert "TBW102" not in made
    assert "RMQ_SYS_TRACE_TOPIC" in made
    cluster = made.get("c0")
    assert cluster is not None
    assert cluster.perm == 1


def test_names_of_this_broker_are_reserved_too() -> None:
    made = table()
    assert [made.is_system(n) for n in ("c0", "b0", "c0_REPLY_TOPIC", "TBW102", "rmq_sys_x", "orders")] == [
        True,
        True,
        True,
        True,
        True,
        False,
    ]


@pytest.mark.parametrize(("wished", "queues"), [(4, 4), (100, 8), (0, 0), (-3, 0)])
def test_a_send_makes_a_topic_after_the_default_one(wished: int, queues: int) -> None:
    made = table()
    config = made.create_for_send("orders", "TBW102", wished, 1)
    assert config == TopicConfig("orders", queues, queues, 6, topic_sys_flag=1)
    assert made.get("orders") is config
    assert made.data_version == DataVersion(1, 0, NOW)


def test_a_send_finds_the_topic_that_is_there() -> None:
    made = table()
    first = made.create_for_send("orders", "TBW102", 4, 0)
    assert made.create_for_send("orders", "nothing", 8, 0) is first
    assert made.data_version.counter == 1


def test_a_send_makes_nothing_after_what_may_not_be_inherited() -> None:
    made = table()
    made.put(TopicConfig("plain", 4, 4, 6))
    assert made.create_for_send("orders", "plain", 4, 0) is None
    assert made.create_for_send("orders", "nothing", 4, 0) is None


def test_a_send_makes_nothing_when_that_is_switched_off() -> None:
    """The default topic may still exist, from a file written while it was allowed."""
    disk = CrashDisk()
    table(disk).put(TopicConfig("orders"))
    made = table(disk, auto_create_topic_enable=False)
    assert "TBW102" in made
    assert made.create_for_send("one", "TBW102", 4, 0) is None
    assert made.create_for_send("one", "c0", 4, 0) is not None


def test_topics_made_on_a_send_are_limited() -> None:
    made = table(max_topics=16)
    assert made.create_for_send("one", "TBW102", 4, 0) is not None
    assert made.create_for_send("two", "TBW102", 4, 0) is None
    assert made.create_for_send_back("%RETRY%two", 1, 6, 0) is None
    assert made.create_for_send("one", "TBW102", 4, 0) is not None
    made.put(TopicConfig("by-hand"))
    assert "by-hand" in made


def test_retry_topics_are_made_once() -> None:
    made = table()
    config = made.create_for_send_back("%RETRY%g", 2, 6, 2)
    assert config == TopicConfig("%RETRY%g", 2, 2, 6, topic_sys_flag=2)
    assert made.create_for_send_back("%RETRY%g", 5, 4, 0) is config
    ordered = made.create_for_send_back("%RETRY%g", 5, 4, 0, order=True)
    assert ordered is not None
    assert (ordered.order, ordered.read_queue_nums, config.order) == (True, 2, False)


def test_an_update_sets_fields_and_alters_attributes() -> None:
    made = table()
    made.update(TopicConfig("orders", 4, 4, attributes={"+message.type": "FIFO"}))
    made.update(TopicConfig("orders", 8, 4, attributes={"+reserve.time": "5", "-message.type": ""}))
    assert made.get("orders") == TopicConfig("orders", 8, 4, attributes={"reserve.time": "5"})
    assert made.data_version.counter == 2


def test_an_update_to_what_is_there_changes_nothing() -> None:
    made = table()
    made.update(TopicConfig("orders", 4, 4, attributes={"+message.type": "FIFO"}))
    made.update(TopicConfig("orders", 4, 4))
    assert made.data_version.counter == 1


def test_a_list_is_updated_as_a_whole_or_not_at_all() -> None:
    made = table()
    with pytest.raises(AttributeRefused, match="unsupported key: nope"):
        made.update(TopicConfig("one"), TopicConfig("two", attributes={"+nope": "1"}))
    assert "one" not in made
    assert made.data_version.counter == 0


def test_each_topic_of_a_list_is_a_change_of_its_own_unless_it_is_as_asked_already() -> None:
    made = table()
    made.update(*(TopicConfig(f"T{n}") for n in range(20)))
    assert made.data_version.counter == 20
    made.update(TopicConfig("T0"), TopicConfig("T1", perm=4), TopicConfig("new"))
    assert made.data_version.counter == 22


def test_a_long_list_is_updated_in_steps() -> None:
    """None is changed before all have been checked; then some with each step."""
    made = table()
    before = len(made)
    sizes = [len(made) - before for _ in made.update_in_steps([TopicConfig(f"T{n}") for n in range(100)])]
    assert len(sizes) > 20 and sizes[len(sizes) // 3] == 0
    assert max(later - one for one, later in pairwise(sizes)) <= 10
    assert len(made) - before == 100


@pytest.mark.parametrize(
    ("config", "remark"),
    [
        (TopicConfig("orders"), None),
        (TopicConfig(" "), "The specified topic is blank."),
        (TopicConfig("b0"), "The topic[b0] is conflict with system topic."),
        (TopicConfig("TBW102"), "The topic[TBW102] is conflict with system topic."),
        (
            TopicConfig("t", attributes={"+message.type": "MIXED"}),
            "MIXED message type is not supported.",
        ),
        (TopicConfig("t", 1, 16385), "The topic[t] may not have more than 16384 queues."),
    ],
)
def test_why_a_topic_may_not_be_changed(config: TopicConfig, remark: str | None) -> None:
    assert table().why_not(config) == remark


def test_filter_types_and_numbers_of_queues_are_sane() -> None:
    remark = table().why_not(TopicConfig("t", topic_filter_type="x" * 1000))
    assert remark is not None and "filter type" in remark and len(remark) < 200
    remark = table().why_not(TopicConfig("t", read_queue_nums=-1))
    assert remark is not None and "queues" in remark


def test_reserved_names_can_be_given_free() -> None:
    assert table(validate_system_topic_when_update_topic=False).why_not(TopicConfig("TBW102")) is None


def test_changes_are_reported() -> None:
    made = table()
    notified: list[list[str]] = []
    made.watch_changes(lambda configs: notified.append([config.topic_name for config in configs]))
    made.put(TopicConfig("one"), TopicConfig("two"))
    made.create_for_send("three", "TBW102", 1, 0)
    assert made.delete("one")
    assert not made.delete("one")
    assert notified == [["one", "two"], ["three"], []]


def test_ordered_topics_follow_the_name_server() -> None:
    made = table()
    made.put(TopicConfig("one", order=True), TopicConfig("two"))
    made.set_ordered({"two"})
    assert [config.topic_name for config in made.all() if config.order] == ["two"]
    before = made.data_version.counter
    made.set_ordered({"two"})
    assert made.data_version.counter == before


def test_the_table_outlives_a_restart() -> None:
    disk = CrashDisk()
    first = table(disk)
    first.update(TopicConfig("orders", 4, 2, 4, "MULTI_TAG", 3, True, {"+message.type": "FIFO"}))
    first.delete("BenchmarkTest")
    again = table(disk.crash())
    assert again.get("orders") == first.get("orders")
    assert again.data_version == DataVersion(2, 0, NOW)
    assert "BenchmarkTest" in again, "built-in topics come back"


def test_the_file_is_the_standards() -> None:
    disk = CrashDisk()
    table(disk).put(TopicConfig("orders", 4, 4, attributes={"message.type": "FIFO"}))
    text = disk.read_bytes(PATH).decode()
    assert text.startswith(
        '{\n\t"dataVersion":{\n\t\t"counter":1,\n\t\t"stateVersion":0,\n\t\t"timestamp":1700000000000\n\t},\n'
        '\t"topicConfigTable":{\n\t\t"BenchmarkTest":{\n\t\t\t"attributes":{},\n\t\t\t"order":false,\n'
    )
    written = load_table(disk, PATH)
    assert written is not None
    assert written["topicConfigTable"]["orders"] == {
        "attributes": {"message.type": "FIFO"},
        "order": False,
        "perm": 6,
        "readQueueNums": 4,
        "topicFilterType": "SINGLE_TAG",
        "topicName": "orders",
        "topicSysFlag": 0,
        "writeQueueNums": 4,
    }


def test_members_that_we_do_not_know_are_written_back() -> None:
    disk = CrashDisk()
    table(disk).put(TopicConfig("t"), TopicConfig("u"))
    written = load_table(disk, PATH)
    assert written is not None
    written["future"] = {"a": [1]}
    written["topicConfigTable"]["t"]["newer"] = {"b": None, "c": 2}
    written["topicConfigTable"]["u"]["newer"] = 3
    save_table(disk, PATH, written)
    made = table(disk)
    made.put(TopicConfig("t", 9, 9))
    made.delete("u")
    made.put(TopicConfig("u"))
    again = load_table(disk, PATH)
    assert again is not None
    assert again["future"] == {"a": [1]}
    assert again["topicConfigTable"]["t"]["newer"] == {"c": 2}
    assert again["topicConfigTable"]["t"]["readQueueNums"] == 9
    assert "newer" not in again["topicConfigTable"]["u"], "another topic of that name"


def test_a_file_of_version_4_is_read() -> None:
    """No attributes, no state version."""
    old = {"topicName": "t", "readQueueNums": 2, "writeQueueNums": 2, "perm": 6, "order": True}
    assert TopicConfig.from_json(old) == TopicConfig("t", 2, 2, 6, order=True)


@pytest.mark.parametrize(
    "entry",
    [
        [],
        {"perm": 6},
        {"topicName": "t", "readQueueNums": "two"},
        {"topicName": "t", "order": "no"},
        {"topicName": "t", "topicFilterType": 2},
        {"topicName": "t", "attributes": 5},
    ],
)
def test_fields_of_wrong_types_are_refused(entry: Any) -> None:
    with pytest.raises(ConfigError):
        TopicConfig.from_json(entry)


def test_reported_table_equals_the_file() -> None:
    disk = CrashDisk()
    made = table(disk)
    made.put(TopicConfig("orders"))
    made.put(TopicConfig("orders", 2, 2))
    assert load_table(disk, PATH) == made.to_json()


def test_a_full_disk_costs_the_write_not_the_topic() -> None:
    disk = CrashDisk()
    made = table(disk)
    disk.fail_next("write", PATH, times=2)
    made.put(TopicConfig("orders"))
    assert "orders" in made
    assert load_table(disk, PATH) is None
    made.retry()
    assert load_table(disk, PATH) == made.to_json()
    syncs = disk.syncs
    made.retry()
    assert disk.syncs == syncs


def test_writes_can_be_left_to_a_worker() -> None:
    disk, worker = CrashDisk(), MemoryWorker()
    made = TopicTable(options(), disk, PATH, ManualClock(NOW), worker)
    for number in range(50):
        made.put(TopicConfig(f"t{number}"))
    assert worker.waiting == 1
    worker.perform_all()
    assert load_table(disk, PATH) == made.to_json()


def test_a_topic_prints_as_the_standard_prints_it() -> None:
    assert str(TopicConfig("t", 1, 2, 5, attributes={"a": "b"})) == (
        "TopicConfig [topicName=t, readQueueNums=1, writeQueueNums=2, perm=R-X, "
        "topicFilterType=SINGLE_TAG, topicSysFlag=0, order=false, attributes={a=b}]"
    )


def test_with_lmq_queues_each_of_them_is_a_topic_that_is_nowhere_listed() -> None:
    disk = CrashDisk()
    made = table(disk)
    assert made.get("%LMQ%a") is None and "%LMQ%a" not in made
    made.has_lmq_topics = True
    assert made.get("%LMQ%a") == TopicConfig("%LMQ%a", 1, 1, 6)
    assert "%LMQ%a" in made and made.get("a") is None
    made.put(TopicConfig("%LMQ%a", 9, 9), TopicConfig("T", 1, 1))
    assert "T" in made.names() and "%LMQ%a" not in made.names()


def test_compacted_topics_are_known_with_their_queues() -> None:
    made = table()
    made.update(TopicConfig("states", 4, 6, attributes={"+cleanup.policy": "COMPACTION"}))
    made.update(TopicConfig("orders", 4, 4, attributes={"+cleanup.policy": "DELETE"}))
    assert made.compacted() == [("states", 6)]
    assert [made.is_compacted(name) for name in ("states", "orders", "none")] == [True, False, False]


def test_topics_that_have_messages_are_added_with_their_queues() -> None:
    disk = CrashDisk()
    table = TopicTable(BrokerOptions(), disk, "/c/topics.json", ManualClock())
    table.load()
    version = table.data_version.counter
    table.put(TopicConfig("known", 2, 2))
    kinds = {"batched": {"queue.type": "BatchCQ"}}
    added = table.restore({"known": 8, "batched": 3}, lambda name: kinds.get(name, {}))
    assert added == ["batched"] and table.has_batch_queues("batched")
    known = table.get("known")
    assert known is not None and known.read_queue_nums == 2  # made smaller on purpose, for all that is known
    assert table.data_version.counter == version + 2
    again = TopicTable(BrokerOptions(), disk, "/c/topics.json", ManualClock())
    again.load()
    assert again.get("batched") == table.get("batched")
    assert again.restore({"known": 1, "batched": 3}, lambda _: {}) == []
    assert again.data_version == table.data_version


def deleting(disk: CrashDisk, log_range: Callable[[], tuple[int, int]]) -> TopicTable:
    made = table(disk, log_range)
    if "T" not in made:
        made.put(TopicConfig("T"))
    made.delete("T")
    return made


def test_record_before_deletion_is_past_and_later_ones_are_not() -> None:
    made = deleting(CrashDisk(), lambda: (0, 500))
    made.put(TopicConfig("T"))
    assert made.is_past("T", 499) and not made.is_past("T", 500)
    assert not made.is_past("U", 0)


def test_deletion_survives_kill_without_a_change_of_the_version_of_its_own() -> None:
    disk = CrashDisk()
    made = table(disk, lambda: (0, 500))
    made.put(TopicConfig("T"))
    before = made.data_version.counter
    made.delete("T")
    assert made.data_version.counter == before + 1
    again = table(disk.kill())
    assert again.is_past("T", 499) and again.ends() == {"T": {"logOffset": 500}}


def test_deletion_that_no_record_lies_before_is_forgotten_with_the_next_one() -> None:
    disk, ranges = CrashDisk(), [(0, 500), (500, 900)]
    made = deleting(disk, lambda: ranges.pop(0))
    made.put(TopicConfig("U"))
    made.delete("U")
    assert made.ends() == {"U": {"logOffset": 900}}
    assert table(disk.kill()).ends() == made.ends()


def test_deletions_are_bounded_by_max_topics() -> None:
    ends = iter(range(100, 130))
    made = table(log_range=lambda: (0, next(ends)), max_topics=20)
    for number in range(30):
        made.put(TopicConfig(f"T{number}"))
        made.delete(f"T{number}")
    assert len(made.ends()) == 20 and "T29" in made.ends() and "T9" not in made.ends()


def test_no_topic_ends_behind_the_log() -> None:
    """A power cut removed the end of the log: records written there now belong to current topics."""
    ranges = [(0, 500), (0, 300)]
    made = deleting(CrashDisk(), lambda: ranges.pop(0))
    made.cut_ends()
    assert made.is_past("T", 299) and not made.is_past("T", 300)


def test_slave_learns_from_its_master_which_topics_were_deleted() -> None:
    master = deleting(CrashDisk(), lambda: (0, 500))
    slave = table()
    assert slave.adopt(master.to_json())
    assert slave.is_past("T", 499)


def test_slave_concludes_deletions_of_a_master_that_does_not_report_them() -> None:
    disk = CrashDisk()
    slave = table(disk)
    slave.put(TopicConfig("T"))
    reported = {"dataVersion": {"counter": 99}, "topicConfigTable": {}}
    assert slave.adopt(reported, 400)
    assert slave.is_past("T", 399) and not slave.is_past("T", 400)
    assert table(disk.kill()).is_past("T", 399)


def test_discarded_messages_are_counted_and_the_first_of_a_topic_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    made = deleting(CrashDisk(), lambda: (0, 500))
    caplog.clear()
    assert made.leaves_out("T", 1) and made.leaves_out("T", 2) and not made.leaves_out("T", 600)
    assert made.left_out == {"T": 2}
    assert caplog.messages == ["topic T was deleted: its waiting messages are discarded"]
