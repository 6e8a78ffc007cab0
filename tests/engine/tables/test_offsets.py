"""Offsets of consumer groups: commits, pulls, resets, and the file."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.tables.data_version import DataVersion
from mqgateway.engine.tables.jsonfile import load_table, write_table
from mqgateway.engine.tables.offsets import ConsumerOffsets
from mqgateway.engine.tables.partition_layout import ELSEWHERE
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.worker import MemoryWorker

PATH = "/store/config/consumerOffset.json"
NOW = 1_700_000_000_000


def table(disk: CrashDisk | None = None, **given: Any) -> ConsumerOffsets:
    made = ConsumerOffsets(BrokerOptions(**given), disk or CrashDisk(), PATH, ManualClock(NOW))
    made.load()
    return made


def test_partitions_of_other_groups_are_no_queues_and_are_cloned() -> None:
    offsets = table()
    offsets.commit("g", "t", 0, 4)
    offsets.commit("g", "t", ELSEWHERE + 2, 5)
    assert offsets.queues_of("g", "t") == {0: 4} and offsets.keys_of("g", "t") == [0, ELSEWHERE + 2]
    offsets.clone("g", "h", "t")
    assert [offsets.query("h", "t", key) for key in (0, ELSEWHERE + 2)] == [4, 5]


def test_query_returns_last_commit() -> None:
    offsets = table()
    assert offsets.query("g", "t", 0) == -1
    offsets.commit("g", "t", 0, 12)
    offsets.commit("g", "t", 0, 7)
    offsets.commit("g", "t", 3, 1)
    assert [offsets.query("g", "t", q) for q in (0, 1, 3)] == [7, -1, 1]
    assert offsets.queues_of("g", "t") == {0: 7, 3: 1}
    assert offsets.queues_of("g", "u") == {}


def test_the_copy_of_a_groups_offsets_is_a_copy() -> None:
    offsets = table()
    offsets.commit("g", "t", 0, 12)
    offsets.queues_of("g", "t")[0] = 99
    assert offsets.query("g", "t", 0) == 12


def test_topics_and_groups_find_each_other() -> None:
    offsets = table()
    for group, topic in (("g", "t"), ("g", "%RETRY%g"), ("h", "t")):
        offsets.commit(group, topic, 0, 1)
    assert offsets.topics_of("g") == {"t", "%RETRY%g"}
    assert offsets.groups_of("t") == {"g", "h"}
    assert offsets.group_topics() == {"g": ["%RETRY%g", "t"], "h": ["t"]}


def test_reads_are_noted_apart() -> None:
    offsets = table()
    offsets.commit("g", "t", 0, 5)
    assert offsets.query_pull("g", "t", 0) == 5
    offsets.commit_pull("g", "t", 0, 9, 0)
    assert (offsets.query_pull("g", "t", 0), offsets.query("g", "t", 0)) == (9, 5)


def test_beginning_of_reads_is_noted_in_queues_without_a_commit() -> None:
    offsets = table()
    offsets.commit("g", "t", 0, 5)
    for queue in (0, 1):
        offsets.commit_pull("g", "t", queue, 9, 7)
        offsets.commit_pull("g", "t", queue, 12, 9)
    assert offsets.begun_of("g", "t") == {1: 7} and offsets.begun_of("h", "t") == {}
    offsets.commit_pull("h", "t", 0, 4, 3)
    assert list(offsets.begun_pairs()) == [("t", "h")]
    offsets.remove_queue("g", "t", 1)
    offsets.remove_group("h")
    assert offsets.begun_of("g", "t") == offsets.begun_of("h", "t") == {}
    offsets.commit_pull("g", "t", 1, 9, 8)
    offsets.forget_end(lambda topic, queue_id: 100)
    assert offsets.begun_of("g", "t") == {}


def test_a_reset_waits_for_the_next_pull() -> None:
    offsets = table()
    offsets.commit("g", "t", 0, 5)
    assert offsets.take_reset("g", "t", 0) is None
    offsets.assign_reset("g", "t", 0, 2)
    assert offsets.has_reset("g", "t", 0)
    assert not offsets.has_reset("g", "t", 1)
    offsets.commit("g", "t", 0, 6)
    assert offsets.query("g", "t", 0) == 2, "the reset hides what is committed meanwhile"
    assert offsets.take_reset("g", "t", 0) == 2
    assert offsets.take_reset("g", "t", 0) is None
    assert not offsets.has_reset("g", "t", 0)


def test_resets_are_not_answered_where_clients_reset_themselves() -> None:
    offsets = table(use_server_side_reset_offset=False)
    offsets.assign_reset("g", "t", 0, 2)
    offsets.commit("g", "t", 0, 6)
    assert offsets.query("g", "t", 0) == 6


@pytest.mark.parametrize(
    ("group", "topic", "queue", "offset"),
    [("", "t", 0, 0), ("g", "", 0, 0), ("g", "t", -1, 0), ("g", "t", 0, -1)],
)
def test_a_reset_to_nowhere_is_not_taken(group: str, topic: str, queue: int, offset: int) -> None:
    offsets = table()
    offsets.assign_reset(group, topic, queue, offset)
    assert not offsets.has_reset(group, topic, queue)


def test_group_continues_where_another_is() -> None:
    offsets = table()
    offsets.commit("g", "t", 0, 5)
    offsets.commit("g", "t", 1, 6)
    offsets.clone("g", "h", "t")
    offsets.clone("g", "h", "nothing")
    offsets.commit("g", "t", 0, 9)
    assert offsets.queues_of("h", "t") == {0: 5, 1: 6}


@pytest.mark.parametrize("what", ["group", "topic"])
def test_removal_takes_everything(what: str) -> None:
    disk = CrashDisk()
    offsets = table(disk)
    for group, topic in (("g", "t"), ("h", "u")):
        offsets.commit(group, topic, 0, 1)
        offsets.commit_pull(group, topic, 0, 2, 0)
        offsets.assign_reset(group, topic, 0, 3)
    offsets.persist()
    if what == "group":
        offsets.remove_group("g")
    else:
        offsets.remove_topic("t")
    assert (offsets.query("g", "t", 0), offsets.query_pull("g", "t", 0)) == (-1, -1)
    assert not offsets.has_reset("g", "t", 0)
    assert (offsets.query_pull("h", "u", 0), offsets.take_reset("h", "u", 0)) == (2, 3)
    offsets.persist()
    assert table(disk).group_topics() == {"h": ["u"]}


@pytest.mark.parametrize("is_allowed", [True, False])
def test_held_file_that_may_not_be_written_is_written_with_the_next(is_allowed: bool) -> None:
    disk = CrashDisk()
    offsets = table(disk)
    offsets.commit("g", "t", 0, 5)
    held: list[Callable[[bool], None]] = []
    offsets.persist(held.append)
    assert table(disk).query("g", "t", 0) == -1
    held[0](is_allowed)
    assert table(disk).query("g", "t", 0) == (5 if is_allowed else -1)
    offsets.persist()
    assert table(disk).query("g", "t", 0) == 5


def test_one_group_may_leave_one_topic() -> None:
    offsets = table(max_offsets=4)
    for group, topic in (("g", "t"), ("g", "u"), ("h", "t")):
        offsets.commit(group, topic, 0, 1)
    offsets.commit_pull("g", "t", 0, 2, 0)
    offsets.assign_reset("g", "t", 0, 3)
    offsets.remove("g", "t")
    offsets.remove("g", "nothing")
    assert offsets.topics_of("g") == {"u"}
    assert offsets.groups_of("t") == {"h"}
    assert not offsets.has_reset("g", "t", 0)
    assert all(offsets.commit("g", "v", queue, 1) for queue in range(2)), "there is room again"


def test_removed_queue_leaves_the_others_and_makes_room() -> None:
    disk = CrashDisk()
    offsets = table(disk, max_offsets=2)
    for queue in (0, 1):
        offsets.commit("g", "t", queue, 5)
        offsets.commit_pull("g", "t", queue, 6, 0)
    offsets.persist()
    offsets.remove_queue("g", "t", 0)
    offsets.remove_queue("g", "t", 7)
    assert (offsets.queues_of("g", "t"), dict(offsets.pulled_of("g", "t"))) == ({1: 5}, {1: 6})
    assert offsets.commit("g", "u", 0, 1) and not offsets.commit("g", "u", 1, 1)
    offsets.persist()
    assert table(disk).queues_of("g", "t") == {1: 5}
    offsets.remove_queue("g", "t", 1)
    assert offsets.topics_of("g") == {"u"}


def test_pairs_are_counted_without_light_groups() -> None:
    offsets = table()
    for group, topic in (("g", "t"), ("g", "u"), ("%LMQ%g", "t")):
        for queue in range(2):
            offsets.commit(group, topic, queue, 1)
    assert offsets.key_count == 2


def test_the_number_of_offsets_is_limited() -> None:
    offsets = table(max_offsets=2)
    assert offsets.commit("g", "t", 0, 1)
    assert offsets.commit("g", "t", 1, 1)
    assert not offsets.commit("g", "t", 2, 1)
    assert not offsets.commit("h", "t", 0, 1)
    assert offsets.commit("g", "t", 1, 5), "known queues go on"
    assert offsets.groups_of("t") == {"g"}
    offsets.remove_group("g")
    assert offsets.commit("h", "t", 0, 1)


def test_reads_are_limited_too() -> None:
    offsets = table(max_offsets=1)
    offsets.commit_pull("g", "t", 0, 5, 0)
    offsets.commit_pull("h", "t", 0, 5, 0)
    offsets.commit_pull("g", "t", 1, 5, 0)
    assert (offsets.query_pull("g", "t", 0), offsets.query_pull("h", "t", 0)) == (5, -1)
    assert offsets.query_pull("g", "t", 1) == -1
    offsets.remove_topic("t")
    offsets.commit_pull("g", "t", 1, 7, 0)
    assert (offsets.query_pull("g", "t", 1), offsets.query_pull("h", "t", 0)) == (7, -1)


def test_the_version_grows_every_so_many_commits() -> None:
    offsets = table(consumer_offset_update_version_step=3)
    for number in range(7):
        offsets.commit("g", "t", 0, number)
    assert offsets.data_version == DataVersion(2, 0, NOW)


def test_the_table_outlives_a_restart() -> None:
    disk = CrashDisk()
    first = table(disk)
    first.commit("g", "t", 0, 12)
    first.commit("g", "t", 1, 2**60)
    first.persist()
    first.commit("g", "t", 1, 3)
    first.commit("h", "t", 0, 1)
    first.persist()
    again = table(disk.crash())
    assert again.to_json() == first.to_json()
    assert again.query("g", "t", 1) == 3


def test_the_file_is_the_standards() -> None:
    disk = CrashDisk()
    offsets = table(disk)
    offsets.commit("gA", "orders", 1, 20)
    offsets.commit("gA", "orders", 0, 17)
    offsets.persist()
    assert disk.read_bytes(PATH).decode() == (
        '{\n\t"dataVersion":{\n\t\t"counter":0,\n\t\t"stateVersion":0,\n\t\t"timestamp":1700000000000\n\t},\n'
        '\t"groupTopicMap":{\n\t\t"gA":[\n\t\t\t"orders"\n\t\t]\n\t},\n'
        '\t"offsetTable":{\n\t\t"orders@gA":{\n\t\t\t0:17,\n\t\t\t1:20\n\t\t}\n\t}\n}'
    )


@pytest.mark.parametrize(
    "text", [b'{"offsetTable":{"t@g":{0:17,1:20}}}', b'{"offsetTable":{"t@g":{"0":17,"1":20}}}']
)
def test_a_file_of_version_4_is_read(text: bytes) -> None:
    """Only the offsets; keys bare or in quotes."""
    disk = CrashDisk()
    write_table(disk, PATH, text)
    offsets = table(disk)
    assert offsets.queues_of("g", "t") == {0: 17, 1: 20}
    assert offsets.data_version == DataVersion()


def test_members_that_we_do_not_know_are_written_back() -> None:
    disk = CrashDisk()
    write_table(disk, PATH, b'{"offsetTable":{"t@g":{0:17}},"future":{"a":[1]},"groupTopicMap":{"o":[]}}')
    offsets = table(disk)
    offsets.commit("g", "t", 0, 18)
    offsets.persist()
    again = load_table(disk, PATH)
    assert again is not None
    assert again["future"] == {"a": [1]}
    assert again["groupTopicMap"] == {"g": ["t"]}, "derived from the offsets"


def test_foreign_keys_are_kept() -> None:
    disk = CrashDisk()
    write_table(disk, PATH, b'{"offsetTable":{"a@b@c":{0:1},"plain":{0:2}}}')
    offsets = table(disk)
    assert offsets.group_topics() == {}
    offsets.commit("g", "t", 0, 1)
    offsets.persist()
    written = load_table(disk, PATH)
    assert written is not None
    assert set(written["offsetTable"]) == {"a@b@c", "plain", "t@g"}


def test_nothing_is_written_when_nothing_has_changed() -> None:
    disk = CrashDisk()
    offsets = table(disk)
    offsets.persist()
    assert not disk.exists(PATH)
    offsets.commit("g", "t", 0, 1)
    offsets.persist()
    syncs = disk.syncs
    offsets.persist()
    assert disk.syncs == syncs


def test_a_failed_write_is_tried_again() -> None:
    disk = CrashDisk()
    offsets = table(disk)
    offsets.commit("g", "t", 0, 1)
    disk.fail_next("write", PATH)
    offsets.persist()
    assert not disk.exists(PATH)
    offsets.persist()
    assert table(disk).query("g", "t", 0) == 1


def test_commits_during_a_write_are_in_the_next() -> None:
    disk, worker = CrashDisk(), MemoryWorker()
    offsets = ConsumerOffsets(BrokerOptions(), disk, PATH, ManualClock(NOW), worker)
    offsets.commit("g", "t", 0, 1)
    offsets.persist()
    offsets.commit("g", "t", 0, 2)
    offsets.persist()
    offsets.commit("g", "t", 0, 3)
    worker.perform_all()
    assert table(disk).query("g", "t", 0) == 3
    offsets.persist()
    worker.perform_all()
    assert table(disk).query("g", "t", 0) == 3


GROUPS = st.sampled_from(["g", "h"])
TOPICS = st.sampled_from(["t", "u"])
QUEUES = st.integers(0, 2)


class OffsetsAgainstAModel(RuleBasedStateMachine):
    """Commits, removals, writes and restarts in any order; the file equals a plain table."""

    def __init__(self) -> None:
        super().__init__()
        self.disk = CrashDisk()
        self.offsets = table(self.disk, max_offsets=5)
        self.model: dict[tuple[str, str, int], int] = {}
        self.written: dict[tuple[str, str, int], int] = {}

    @rule(group=GROUPS, topic=TOPICS, queue=QUEUES, offset=st.integers(0, 9))
    def commit(self, group: str, topic: str, queue: int, offset: int) -> None:
        key = (group, topic, queue)
        taken = self.offsets.commit(group, topic, queue, offset)
        assert taken == (key in self.model or len(self.model) < 5)
        if taken:
            self.model[key] = offset

    @rule(group=GROUPS)
    def remove_group(self, group: str) -> None:
        self.offsets.remove_group(group)
        self.model = {key: offset for key, offset in self.model.items() if key[0] != group}

    @rule(topic=TOPICS)
    def remove_topic(self, topic: str) -> None:
        self.offsets.remove_topic(topic)
        self.model = {key: offset for key, offset in self.model.items() if key[1] != topic}

    @rule()
    def persist(self) -> None:
        self.offsets.persist()
        self.written = dict(self.model)

    @rule()
    def restart(self) -> None:
        self.offsets = table(self.disk, max_offsets=5)
        self.model = dict(self.written)

    @invariant()
    def answers_are_the_models(self) -> None:
        for group in ("g", "h"):
            for topic in ("t", "u"):
                for queue in range(3):
                    expected = self.model.get((group, topic, queue), -1)
                    assert self.offsets.query(group, topic, queue) == expected


TestOffsetsAgainstAModel = OffsetsAgainstAModel.TestCase
TestOffsetsAgainstAModel.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)


def light_table(disk: CrashDisk) -> ConsumerOffsets:
    path = "/store/config/lmqConsumerOffset.json"
    made = ConsumerOffsets(BrokerOptions(), disk, path, ManualClock(NOW), plain_path=PATH)
    made.load()
    return made


def test_with_lmq_queues_lmq_groups_are_apart_in_another_file() -> None:
    disk = CrashDisk()
    before = table(disk)
    before.commit("g", "t", 1, 5)
    before.persist()
    offsets = light_table(disk)
    assert offsets.query("g", "t", 1) == 5
    offsets.commit("%LMQ%c", "%LMQ%q", 0, 7)
    offsets.commit("g", "%LMQ%q", 0, 8)
    offsets.persist()
    written = load_table(disk, "/store/config/lmqConsumerOffset.json")
    assert written is not None
    assert written["lmqOffsetTable"] == {"%LMQ%q@%LMQ%c": 7}
    assert set(written["offsetTable"]) == {"t@g", "%LMQ%q@g"}
    assert offsets.to_json()["lmqOffsetTable"] == {"%LMQ%q@%LMQ%c": 7}
    before.commit("g", "t", 1, 99)
    before.persist()
    again = light_table(disk)
    assert (again.query("%LMQ%c", "%LMQ%q", 0), again.query("g", "t", 1)) == (7, 5)
