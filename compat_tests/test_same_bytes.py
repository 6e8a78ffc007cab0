"""Stores of both servers after the same sends: equal bytes except for times, addresses and unique keys.

Records are compared field by field, as the order of properties is that of a hash map in Java; consume queues,
batch consume queues and index by unit and entry; tables by their values.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from compat_tests.support import early
from compat_tests.support.artifacts import CURRENT
from compat_tests.support.driver import Producer, Queue, Sent, message
from compat_tests.support.early import Work
from compat_tests.support.mqadmin import Mqadmin, make_batched
from compat_tests.support.peers import KINDS, Peers
from compat_tests.support.processes import wait_until
from compat_tests.support.servers import BROKER_NAME, Server
from mqgateway.engine.lenient_json import loads
from mqgateway.engine.message import PROPERTY_UNIQ_KEY, SysFlag, parse_properties
from mqgateway.engine.store import schema
from mqgateway.engine.store.record import BLANK_MAGIC, START

SLOTS, ENTRIES, UNITS = 1000, 5000, 100
SETTINGS = {
    "mappedFileSizeCommitLog": "16384",
    "mappedFileSizeConsumeQueue": str(20 * UNITS),
    "mapperFileSizeBatchConsumeQueue": str(46 * UNITS),
    "maxHashSlotNum": str(SLOTS),
    "maxIndexNum": str(ENTRIES),
    "flushConsumerOffsetInterval": "500",
    "flushDelayOffsetInterval": "500",
}
TOPIC, BATCHED, GROUP = "SameBytes", "SameBatches", "SameReaders"
DELAYED = 2


def written(peers: Peers, has_checksums: bool) -> dict[str, Path]:
    """Return the directories of both servers after the same actions."""
    admin = Mqadmin(peers.runtime)
    try:
        return {kind: written_by(kind, peers, admin, has_checksums) for kind in KINDS}
    finally:
        admin.close()


WRITTEN = (Work(50, written, (False,)), Work(40, written, (True,)))
EARLY = {"stores": WRITTEN}


@pytest.fixture(scope="module", params=WRITTEN, ids=["plain", "with CRC"])
def stores(request: pytest.FixtureRequest) -> dict[str, Path]:
    """Return the directories of both servers."""
    stores: dict[str, Path] = early.result(request, request.param)
    return stores


def written_by(kind: str, peers: Peers, admin: Mqadmin, has_checksums: bool) -> Path:
    """Run the actions on a server and return its directory."""
    more = {"enabledAppendPropCRC": "true"} if has_checksums else {}
    with Server(kind, peers.work, {**SETTINGS, **more}) as server:
        peer = peers.with_server(server, CURRENT)
        with peer.producer("SameProducers", compressOver=3000) as producer:
            peer.topic("warm_up")
            producer.create_topic(TOPIC, 2)
            wait_until(lambda: peer.knows(TOPIC, 2), 20, f"{TOPIC} has a route")
            make_batched(admin, peer, BATCHED, server.broker_address, 1)
            send_everything(producer)
            with peer.pull(GROUP) as consumer:
                queue = Queue(TOPIC, BROKER_NAME, 0)
                wait_until(lambda: consumer.max_offset(queue) == 62 + DELAYED, 30, "delayed messages came")
                consumer.update_offset(queue, 17)
                wait_until(lambda: consumer.fetch_offset(queue) == 17, 20, "the offset is kept")
        peer.close()
        server.stop()
        return server.store_dir


def send_everything(producer: Producer) -> None:
    """Send messages of every shape, in one order."""
    first, second = (Queue(TOPIC, BROKER_NAME, queue_id) for queue_id in (0, 1))
    shapes: list[dict[str, Any]] = [
        message(TOPIC, "plain"),
        message(TOPIC, "tagged", tags="größer", flag=7),
        message(TOPIC, "keyed", keys="one two  three", tags="red"),
        message(TOPIC, "with properties", properties={"color": "blau", "ü": "="}),
        message(TOPIC, "compressed " * 1000, keys="large"),
        message(TOPIC, "~", keys=" x "),
    ]
    check(producer.send_to(first, shapes))
    check(producer.send_to(second, shapes))
    check(producer.send_to(first, [message(TOPIC, f"{i}" * 2000, tags=f"t{i}") for i in range(56)]))
    three = [message(BATCHED, f"together {i}", tags="red", keys=f"b{i}") for i in range(3)]
    check(producer.send(three, "batch"))
    check(producer.send(three[:1], "batch"))
    delayed = [message(TOPIC, f"later {i}", tags="red", delayLevel=1) for i in range(DELAYED)]
    check(producer.send_to(first, delayed))


def check(sent: list[Sent]) -> None:
    """Check that all messages were stored."""
    assert sent and all(one.status == "SEND_OK" for one in sent)


def files(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder and below, by their relative path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def records(store: Path) -> list[Any]:
    """Return every record of the log, parsed."""
    found = []
    for _, data in sorted(files(store / "commitlog").items()):
        at = 0
        while at + START.size <= len(data):
            size, magic = START.unpack_from(data, at)
            if magic == BLANK_MAGIC:
                found.append(("blank", size))
            if magic == BLANK_MAGIC or size <= 0:
                break
            found.append(schema.RECORD.parse(data[at : at + size]))
            at += size
    return found


def messages(store: Path) -> list[Any]:
    """Return every record that is a message."""
    return [record for record in records(store) if not isinstance(record, tuple)]


def comparable(record: Any) -> Any:
    """Return a record without the parts that may differ: times, addresses, unique keys, their checksums."""
    if isinstance(record, tuple):
        return record
    fields = {name: value for name, value in record.items() if name not in ("_io", "properties")}
    properties = parse_properties(record.properties.decode())
    for name in (PROPERTY_UNIQ_KEY, "__CRC32#"):
        if name in properties:
            properties[name] = str(len(properties[name]))
    for name in ("born_timestamp", "store_timestamp", "born_host", "store_host"):
        fields[name] = len(fields[name]) if isinstance(fields[name], bytes) else fields[name] > 0
    if record.sys_flag & SysFlag.INNER_BATCH:
        fields["body_crc"] = 0
        fields["body"] = [
            (one.flag, one.body, {**parse_properties(one.properties.decode()), PROPERTY_UNIQ_KEY: ""})
            for one in schema.BATCH.parse(record.body)
        ]
    return fields, properties, record.properties.endswith(b"\2")


@pytest.mark.both_servers
def test_records_are_the_same(stores: dict[str, Path]) -> None:
    """Equal field by field, at the same offsets, with blanks at the same ends of files."""
    apache, ours = ([comparable(record) for record in records(stores[kind])] for kind in KINDS)
    assert len(apache) > 70
    assert ours == apache
    assert any(record[0] == "blank" for record in apache)


@pytest.mark.both_servers
def test_consume_queues_are_the_same(stores: dict[str, Path]) -> None:
    """Equal byte for byte, except for the delivery times in the schedule."""
    apache, ours = (files(stores[kind] / "consumequeue") for kind in KINDS)
    assert set(ours) == set(apache)
    for name, expected in apache.items():
        assert len(ours[name]) == len(expected) == 20 * UNITS
        if not name.startswith("SCHEDULE_TOPIC_XXXX"):
            assert ours[name] == expected, name
            continue
        for at in range(0, 20 * DELAYED, 20):
            assert ours[name][at : at + 12] == expected[at : at + 12]
        assert not ours[name][20 * DELAYED :].strip(b"\0")


@pytest.mark.both_servers
def test_delivery_times_are_the_same(stores: dict[str, Path]) -> None:
    """The delivery time is a second after that of the record, on both."""
    for kind in KINDS:
        units = (stores[kind] / "consumequeue/SCHEDULE_TOPIC_XXXX/0" / f"{0:020d}").read_bytes()
        stored = {record.physical_offset: record.store_timestamp for record in messages(stores[kind])}
        for at in range(0, 20 * DELAYED, 20):
            unit = schema.QUEUE_UNIT.parse(units[at : at + 20])
            assert unit.tags_code == stored[unit.physical_offset] + 1000


@pytest.mark.both_servers
def test_batch_consume_queues_are_the_same(stores: dict[str, Path]) -> None:
    """Equal unit by unit, except for the store time."""
    apache, ours = (files(stores[kind] / "batchconsumequeue") for kind in KINDS)
    assert set(ours) == set(apache) == {f"{BATCHED}/0/{0:020d}"}
    (expected,), (found,) = apache.values(), ours.values()
    assert len(found) == len(expected) == 46 * UNITS
    for at in range(0, 46 * 3, 46):
        assert found[at : at + 20] == expected[at : at + 20]
        assert found[at + 28 : at + 46] == expected[at + 28 : at + 46]
    unit = schema.BATCH_QUEUE_UNIT.parse(expected)
    assert (unit.base_offset, unit.messages) == (0, 3)


@pytest.mark.both_servers
def test_index_entries_are_the_same(stores: dict[str, Path]) -> None:
    """One index file, the same entries in the same order; unique keys have other hashes."""
    parsed = {}
    for kind in KINDS:
        ((_, data),) = files(stores[kind] / "index").items()
        assert len(data) == 40 + 4 * SLOTS + 20 * ENTRIES
        parsed[kind] = schema.index_file(SLOTS, ENTRIES).parse(data)
    apache, ours = parsed["apache"], parsed["ours"]
    for name in ("begin_physical_offset", "end_physical_offset", "next_entry"):
        assert ours.header[name] == apache.header[name]
    count = apache.header.next_entry
    assert [entry.physical_offset for entry in ours.entries[:count]] == [
        entry.physical_offset for entry in apache.entries[:count]
    ]
    last = -1
    for one, other in zip(ours.entries[1:count], apache.entries[1:count], strict=True):
        if one.physical_offset == last:
            assert one.key_hash == other.key_hash
        last = one.physical_offset


@pytest.mark.both_servers
def test_the_checkpoint_says_the_same(stores: dict[str, Path]) -> None:
    """Compared as far as times and the interval of flushes allow."""
    for kind in KINDS:
        data = (stores[kind] / "checkpoint").read_bytes()
        assert len(data) == 4096 and not data[48:].strip(b"\0")
        checkpoint = schema.CHECKPOINT.parse(data)
        newest = max(
            record.store_timestamp for record in records(stores[kind]) if not isinstance(record, tuple)
        )
        assert checkpoint.physic_msg_timestamp == newest


@pytest.mark.both_servers
def test_tables_say_the_same(stores: dict[str, Path]) -> None:
    """The entries of the created topics and groups are equal, member by member."""
    tables = {}
    for kind in KINDS:
        config = stores[kind] / "config"
        topics = loads((config / "topics.json").read_bytes())
        groups = loads((config / "subscriptionGroup.json").read_bytes())
        offsets = loads((config / "consumerOffset.json").read_bytes())
        delays = loads((config / "delayOffset.json").read_bytes())
        tables[kind] = [
            {
                name: topics["topicConfigTable"][name]
                for name in (TOPIC, BATCHED, "BenchmarkTest", "SELF_TEST_TOPIC")
            },
            {name: groups["subscriptionGroupTable"].get(name) for name in (GROUP, "TOOLS_CONSUMER")},
            offsets["offsetTable"],
            {level: offset for level, offset in delays["offsetTable"].items() if offset},
            sorted(topics["dataVersion"]),
            sorted(offsets["groupTopicMap"].items()),
        ]
    assert tables["ours"] == tables["apache"]
