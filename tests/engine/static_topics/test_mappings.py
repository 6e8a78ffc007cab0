"""The table of static topics, and its file."""

from dataclasses import replace
from typing import Any

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.static_topics.items import MappingItem, MappingRefused
from mqgateway.engine.static_topics.mappings import Mappings, TopicQueueMappingDetail
from mqgateway.engine.tables.jsonfile import load_table
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.worker import MemoryWorker, Worker

PATH = "/config/topicQueueMapping.json"
MAPPING = TopicQueueMappingDetail(
    "st",
    "b0",
    3,
    5,
    queues={
        0: [MappingItem(0, 0, "b0", 0)],
        2: [MappingItem(0, 1, "b0", 0, 0, 9), MappingItem(1, 0, "b1", 10)],
    },
)


def table(disk: CrashDisk | None = None, worker: Worker | None = None, **settings: Any) -> Mappings:
    options = BrokerOptions(broker_name="b0", **settings)
    made = Mappings(options, disk or CrashDisk(), PATH, ManualClock(), worker)
    made.load()
    return made


def test_a_mapping_is_kept_as_the_standard_keeps_it() -> None:
    disk = CrashDisk()
    made = table(disk)
    made.update(MAPPING)
    found = load_table(disk, PATH)
    assert found is not None
    shape = found["topicQueueMappingInfoMap"]["st"]
    assert shape["currIdMap"] == {}
    assert (shape["totalQueues"], shape["epoch"], shape["scope"]) == (3, 5, "__global__")
    assert table(disk).table == {"st": MAPPING}
    assert table(disk).data_version == made.data_version


def test_name_servers_get_what_the_broker_leads() -> None:
    info = MAPPING.info()
    assert info["currIdMap"] == {0: 0}
    assert "hostedQueues" not in info


def test_a_mapping_follows_on_the_one_before() -> None:
    made = table()
    made.update(MAPPING)
    made.update(replace(MAPPING, epoch=6, queues={1: [MappingItem(0, 7, "b0", 0)]}))
    assert sorted(made.table["st"].queues) == [0, 1, 2]
    for change, why in (
        ({"epoch": 5}, "small epoch"),
        ({"epoch": 6, "scope": "other"}, "unmatched scope"),
        ({"epoch": 6, "queues": {}}, "equal epoch with null"),
        ({"epoch": 7, "broker_name": "b1"}, "for broker b1"),
        ({"epoch": 7, "queues": {0: []}}, "null or empty"),
        ({"epoch": 7, "queues": {-1: []}}, "numbered from 0"),
    ):
        with pytest.raises(MappingRefused, match=why):
            made.update(replace(MAPPING, **change))
    made.update(replace(MAPPING, epoch=1, queues={0: [MappingItem(3, 3, "b0", 0)]}), force=True)
    assert (made.table["st"].epoch, sorted(made.table["st"].queues)) == (1, [0, 1, 2])


def test_a_topic_has_no_more_queues_than_others() -> None:
    with pytest.raises(MappingRefused, match="maxQueuesPerTopic"):
        table(max_queues_per_topic=1).update(MAPPING)


def test_items_are_counted_and_bounded() -> None:
    disk = CrashDisk()
    made = table(disk, max_queue_pieces=4)
    made.update(MAPPING)
    assert made.item_count == 3
    other = replace(MAPPING, topic="other")
    with pytest.raises(MappingRefused, match="maxQueuePieces"):
        made.update(other)
    made.update(replace(MAPPING, epoch=6, queues={1: [MappingItem(0, 2, "b0", 0)]}))
    assert (made.item_count, table(disk).item_count) == (4, 4)
    made.delete("st")
    made.update(other)
    assert made.item_count == 3


def test_clean_replaces_queues_by_the_remaining_items() -> None:
    disk = CrashDisk()
    made = table(disk)
    made.update(MAPPING)
    made.clean("st", {0: [], 2: MAPPING.queues[2][1:]})
    assert made.table["st"].queues == {2: [MappingItem(1, 0, "b1", 10)]}
    assert made.item_count == 1
    assert table(disk).table == made.table
    made.update(replace(MAPPING, queues={2: MAPPING.queues[2]}))


def test_each_change_outlives_the_process_before_the_file_is_written() -> None:
    """Changes that the worker has not written yet are in the file's journal."""
    disk = CrashDisk()
    made = table(disk, worker=MemoryWorker())
    made.update(MAPPING)
    made.update(replace(MAPPING, topic="other"))
    made.clean("st", {0: []})
    made.delete("other")
    assert not disk.exists(PATH)
    again = table(disk.kill())
    assert again.table == made.table
    assert (again.item_count, again.data_version) == (2, made.data_version)


def test_the_end_leaves_the_file_alone() -> None:
    disk = CrashDisk()
    made = table(disk, worker=MemoryWorker())
    made.update(MAPPING)
    made.close()
    assert disk.listdir("/config") == ["topicQueueMapping.json"]
    assert table(disk).table == {"st": MAPPING}


def test_a_file_that_could_not_be_written_is_written_later() -> None:
    disk = CrashDisk()
    made = table(disk)
    made.retry()
    assert not disk.exists(PATH)
    for name in (f"{PATH}.journal0", f"{PATH}.tmp"):
        disk.fail_next("write", name)
    made.update(MAPPING)
    assert not disk.exists(PATH)
    made.retry()
    assert table(disk.kill()).table == {"st": MAPPING}


def test_a_slave_takes_over_what_its_master_knows() -> None:
    master, disk = table(), CrashDisk()
    for epoch in (4, MAPPING.epoch):
        master.update(replace(MAPPING, epoch=epoch))
    fields = {
        "mappingDataVersion": master.data_version.to_json(),
        "topicQueueMappingDetailMap": {"st": MAPPING.to_json()},
    }
    slave = table(disk)
    slave.update(replace(MAPPING, topic="old"))
    assert slave.adopt(fields)
    assert (slave.table, slave.item_count, slave.data_version) == ({"st": MAPPING}, 3, master.data_version)
    assert table(disk).table == slave.table
    assert not slave.adopt(fields)
    with pytest.raises(ConfigError):
        slave.adopt({"mappingDataVersion": {"counter": 99}, "topicQueueMappingDetailMap": {"st": 1}})
    assert slave.table == {"st": MAPPING}


def test_a_deleted_mapping_is_gone() -> None:
    disk = CrashDisk()
    made = table(disk)
    made.update(MAPPING)
    made.delete("st")
    made.delete("none")
    assert not table(disk).table


@pytest.mark.parametrize(
    "shape",
    [
        {"bname": "b0"},
        {"bname": "b0", "topic": "st", "hostedQueues": {"0": 1}},
        {"bname": "b0", "topic": "st", "hostedQueues": {"x": []}},
        {"bname": "b0", "topic": "st", "hostedQueues": {"0": [1]}},
    ],
)
def test_invalid_mapping_is_refused(shape: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        TopicQueueMappingDetail.from_json(shape)
