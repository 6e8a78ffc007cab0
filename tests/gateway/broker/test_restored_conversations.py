"""Conversations about messages of a store that was restored from its tier."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mqgateway.engine.producers.batch import ProducerBatch
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.headers import (
    QueryMessageRequestHeader,
    SearchOffsetRequestHeader,
    ViewMessageRequestHeader,
)
from mqgateway.gateway.kafka.call import Address, KafkaCall
from mqgateway.gateway.kafka.codec.apis import APIS, FETCH
from mqgateway.gateway.kafka.codec.headers import RequestHeader
from tests.support.engine.store.producing import put_whole
from tests.support.engine.store.stores import drain, message
from tests.support.engine.tier.restoring import LostStore, Row, row
from tests.support.gateway.broker.pop import PopBroker
from tests.support.gateway.kafka.broker import KafkaBroker
from tests.support.gateway.kafka.requests import fetch_request, values_in

COUNT = 40
BATCHES = 12
KAFKA_TOPIC = "batched"
END = 2**62


class Restored:
    """A disk in memory with the restored store, and what the lost one had in queue 0 of topic T."""

    def __init__(self, folder: Path, *, lazy: bool) -> None:
        self.lost = lost = LostStore(folder, lazy=lazy)
        kinds = {"queue.type": "BatchCQ", "message.format": "kafka"}
        entries = {
            "T": {"topicName": "T", "readQueueNums": 4, "writeQueueNums": 4, "perm": 6},
            KAFKA_TOPIC: {
                "topicName": KAFKA_TOPIC,
                "readQueueNums": 1,
                "writeQueueNums": 1,
                "perm": 6,
                "attributes": kinds,
            },
        }
        lost.table("topics.json", {"topicConfigTable": entries})
        lost.table("consumerOffset.json", {"offsetTable": {"T@G": {"0": 7}}})
        for number in range(COUNT):
            properties = {"UNIQ_KEY": f"id{number}", "KEYS": f"k{number}", "TAGS": f"t{number % 3}"}
            lost.bench.put(message("T", 0, b"%d " % number + b"." * 100, properties))
            lost.bench.put(message("rmq_sys_x", 0, b"of the broker itself"))
            lost.clock.advance(1000)
        for number in range(BATCHES):
            put_whole(lost.bench.store, ProducerBatch(7, 0, 2 * number, 2), KAFKA_TOPIC)
            lost.bench.store.dispatch()
        lost.bench = lost.bench.restart()
        self.rows: list[Row] = [row(each) for each in drain(lost.bench.store, "T", 0)]
        lost.save_all()
        lost.restore()
        self.tier = lost.new_tier() if lazy else None
        self.disk = CrashDisk(millis=lost.clock.millis)
        for path in sorted(lost.root.rglob("*")):
            name = f"/store/{path.relative_to(lost.root)}"
            if path.is_dir():
                self.disk.makedirs(name)
                continue
            file = self.disk.open(name, create=True)
            file.truncate(path.stat().st_size)
            file.write(0, path.read_bytes())
            file.sync()
            file.close()

    @property
    def given(self) -> dict[str, Any]:
        """Arguments for a broker in memory that has the store."""
        files = {
            "mapped_file_size_commit_log": 4096,
            "mapped_file_size_consume_queue": 200,
            "max_hash_slot_num": 16,
            "max_index_num": 64,
            "message_index_enable": True,
        }
        return {"disk": self.disk, "clock": self.lost.clock, "store_options": files, "tier": self.tier}

    def pop_broker(self) -> PopBroker:
        """Return a broker that has opened the store, and then has listed the tier."""
        broker = PopBroker(**self.given)
        self.list()
        return broker

    def list(self) -> None:
        """List the ranges of the tier, as a broker does once it has started."""
        if self.tier is not None:
            self.tier.tick()


@pytest.fixture(params=[False, True], ids=["whole", "lazy"])
def restored(tmp_path: Path, request: pytest.FixtureRequest) -> Restored:
    """Return what was restored, whole or so that older messages are in the tier only."""
    return Restored(tmp_path, lazy=request.param)


def test_pulls_read_what_was_saved_and_continue(restored: Restored) -> None:
    broker = restored.pop_broker()
    broker.subscribe("G", "T")
    found, offset = list[Row](), 0
    while offset < COUNT:
        answer = broker.pull(offset=offset)
        assert answer.code == ResponseCode.SUCCESS
        assert (answer.ext["minOffset"], answer.ext["maxOffset"]) == ("0", str(COUNT))
        found += [row(each) for each in answer.messages]
        offset = int(answer.ext["nextBeginOffset"])
    assert found == restored.rows
    assert broker.send(body=b"next").code == 0
    assert [each.body for each in broker.pull(offset=COUNT).messages] == [b"next"]


def test_messages_are_found_by_key_and_time_and_groups_continue(restored: Restored) -> None:
    broker = restored.pop_broker()
    header = QueryMessageRequestHeader(topic="T", key="k9", max_num=10, begin_timestamp=0, end_timestamp=END)
    assert [row(each) for each in broker.ask(RequestCode.QUERY_MESSAGE, header).messages] == [
        restored.rows[9]
    ]
    view = ViewMessageRequestHeader(topic="T", offset=restored.rows[11][0])
    assert row(broker.ask(RequestCode.VIEW_MESSAGE_BY_ID, view).messages[0]) == restored.rows[11]
    search = SearchOffsetRequestHeader(topic="T", queue_id=0, timestamp=restored.rows[17][2])
    assert broker.ask(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, search).ext["offset"] == "17"
    assert broker.broker.tables.offsets.query("G", "T", 0) == 7


def test_kafkas_fetch_reads_what_was_saved(restored: Restored) -> None:
    broker = KafkaBroker(**restored.given)
    restored.list()
    broker.broker.tables.topics.load()
    header = RequestHeader(APIS[FETCH].key, 12, 1, "tester")
    call = KafkaCall(header, broker.peer, Address("10.0.0.1", 9092), broker.operations)
    answer = broker.service.handlers[FETCH](call, fetch_request(KAFKA_TOPIC, 4))
    [topic] = answer.responses  # type: ignore[attr-defined]
    [partition] = topic.partitions
    partition.records = b"".join(map(bytes, partition.records))
    assert [offset for offset, _ in values_in(partition)] == list(range(4, 2 * BATCHES))
    assert partition.high_watermark == 2 * BATCHES
