"""One server for clients of RocketMQ and of Kafka, and the records that cross from one protocol to the other.

Apache has no server that speaks both protocols. Scenarios of this kind run against this server only, so they
take no `kind`, and the record of Apache's side has no entries for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from compat_tests.kafka.support.clients import KafkaClient, Programs
from compat_tests.kafka.support.clients import Received as KafkaRecord
from compat_tests.kafka.support.wire import create_topic
from compat_tests.support.artifacts import CURRENT
from compat_tests.support.driver import Received
from compat_tests.support.grpc.doors import LIGHT, GrpcServer
from compat_tests.support.mqadmin import Mqadmin
from compat_tests.support.peers import TUNED, Peer, Peers
from compat_tests.support.processes import free_ports, wait_until
from compat_tests.support.servers import HOST, Settings
from compat_tests.test_resets import Tool

PARTITIONS = 4
JAVA = "java-4.4.0"
WRITERS = (JAVA, "librdkafka", "kafka-python")
"""Kafka's clients that write and read in these scenarios."""
CODECS = ("none", "lz4", "zstd")
MAKERS = ("kafka", "rocketmq")
"""Protocols by which a topic is created."""


class BothServer(GrpcServer):
    """This server, with all of its listeners."""

    def __init__(self, work: Path, settings: Settings | None = None) -> None:
        port = free_ports()
        super().__init__("ours", work, {**TUNED, **LIGHT, **(settings or {}), "kafkaPort": str(port)})
        self.kafka_address = f"{HOST}:{port}"

    def __enter__(self) -> BothServer:
        super().__enter__()
        return self


class Crossing:
    """The clients of both kinds at one server, and topics that each kind creates."""

    def __init__(self, server: BothServer, peers: Peers, programs: Programs) -> None:
        self.server = server
        self.peers = peers
        self._programs = programs

    @property
    def rocketmq(self) -> Peer:
        """The Java client of RocketMQ."""
        return self.peers.with_server(self.server, CURRENT)

    def kafka(self, name: str = JAVA) -> KafkaClient:
        """A client of Kafka."""
        return KafkaClient(name, self._programs.get(name), self.server.kafka_address)

    def topic(self, what: str, maker: str, partitions: int = PARTITIONS) -> str:
        """Return a new topic, created by a client of one protocol and known to clients of both."""
        if maker == "rocketmq":
            return self.rocketmq.topic(what, partitions)
        topic = self.rocketmq.name(what)
        create_topic(self.server.kafka_address, topic, partitions)
        wait_until(lambda: self.rocketmq.knows(topic, partitions), 30, f"{topic} has a route")
        return topic


def crossing(peers: Peers, programs: Programs) -> Crossing:
    """Return the clients at the server that these scenarios share; it ends with the run."""
    place = "ours", "all listeners"
    with peers._lock:
        found = peers._servers.get(place)
        if found is None:
            found = peers._servers[place] = BothServer(peers.work).start()
    assert isinstance(found, BothServer)
    return Crossing(found, peers, programs)


@contextmanager
def mqadmin_at(both: Crossing) -> Iterator[Tool]:
    """The official mqadmin; its first command, whose outcome does not matter, loads the tool's classes."""
    mqadmin = Mqadmin(both.peers.runtime)
    try:
        mqadmin.run("topicList", "-n", both.server.namesrv_address)
        yield Tool(mqadmin, both.server)
    finally:
        mqadmin.close()


class Case(NamedTuple):
    """A record of Kafka's, and the message that RocketMQ's clients must get for it."""

    record: Mapping[str, Any]
    keys: str | None = None
    tags: str | None = None
    properties: Mapping[str, str] = {}

    @property
    def body(self) -> str:
        """The body of the message: a null value is an empty one."""
        return self.record["value"] or ""


def cases(label: str) -> list[Case]:
    """Return records of all kinds, with values that have a label."""
    return [
        Case({"key": "k1", "value": f"{label} key", "headers": [["n", "5"], ["größe", "µ"]]}, "k1", None)
        ._replace(properties={"n": "5", "größe": "µ"}),
        Case({"value": f"{label} plain"}),
        Case({"key": f"{label}-null", "value": None}, f"{label}-null", None, {"__KNULL": "1"}),
        Case({"value": f"{label} tag A", "headers": [["TAGS", "A"], ["n", "7"]]}, None, "A", {"n": "7"}),
        Case({"value": f"{label} tag B", "headers": [["TAGS", "B"]]}, None, "B"),
        Case({"key": "two words", "value": f"{label} spaces"}, None, None, {"__KKEY": "dHdvIHdvcmRz"}),
        Case({"value": f"{label} repeated", "headers": [["a", "1"], ["a", "2"], ["b", "3"]]}, None, None)
        ._replace(properties={"b": "3"}),
        Case({"value": f"{label} long " + 3000 * "x"}),
    ]  # fmt: skip


class Filled(NamedTuple):
    """A topic, and the message that is expected at each queue and offset of it."""

    topic: str
    expected: dict[tuple[int, int], Case]

    def count(self, tag: str | None = None) -> int:
        """Return the number of messages, or of those with a tag."""
        return sum(tag in (None, one.tags) for one in self.expected.values())


def fill(client: KafkaClient, topic: str) -> Filled:
    """Send records of all kinds, in batches of each compression, to all partitions."""
    expected: dict[tuple[int, int], Case] = {}
    for codec in CODECS:
        batch = [
            one._replace(record={**one.record, "partition": number % PARTITIONS})
            for number, one in enumerate(cases(codec) + cases(f"{codec}-again"))
        ]
        placed = client.produce(topic, [one.record for one in batch], compression=codec)
        expected |= {(place.partition, place.offset): one for place, one in zip(placed, batch, strict=True)}
    return Filled(topic, expected)


def check_received(filled: Filled, received: Sequence[Received], select: str | None = None) -> None:
    """Compare messages that a consumer of RocketMQ got with those expected; `select`: of one tag only."""
    wanted = {place: one for place, one in filled.expected.items() if select in (None, one.tags)}
    assert sorted((one.queue_id, one.queue_offset) for one in received) == sorted(wanted)
    for one in received:
        check_message(wanted[one.queue_id, one.queue_offset], one.body, one.keys, one.tags, one.properties)


def check_message(
    case: Case,
    body: str,
    keys: str | None,
    tags: str | None,
    properties: Mapping[str, str],
    *,
    is_whole: bool = True,
) -> None:
    """Compare one message with the one expected for a record; not `is_whole`: user properties only."""
    assert (body, keys or None, tags or None) == (case.body, case.keys, case.tags)
    wanted = {name: value for name, value in case.properties.items() if is_whole or name[:2] != "__"}
    assert wanted.items() <= properties.items()
    if is_whole:
        assert ("__KNULL" in properties) == (case.record["value"] is None)


def check_records(filled: Filled, records: Sequence[KafkaRecord]) -> None:
    """Compare what a consumer of Kafka got with the records that were sent."""
    assert sorted((one.partition, one.offset) for one in records) == sorted(filled.expected)
    for one in records:
        sent = filled.expected[one.partition, one.offset].record
        assert (one.key, one.value) == (sent.get("key"), sent["value"])
        assert sorted(one.headers) == sorted((name, value) for name, value in sent.get("headers", []))
