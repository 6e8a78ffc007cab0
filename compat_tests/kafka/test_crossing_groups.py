"""Groups that change sides, and RocketMQ's tools and retries on records of Kafka. This server only."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

import pytest
from kafka import KafkaConsumer, KafkaProducer

from compat_tests.kafka.support.clients import wait_for_values
from compat_tests.kafka.support.commands import Commands
from compat_tests.kafka.support.crossing import MAKERS, PARTITIONS, Crossing
from compat_tests.kafka.support.readers import grpc_peer
from compat_tests.kafka.support.wire import Connection, end_offset
from compat_tests.support.driver import message
from compat_tests.support.processes import wait_until
from compat_tests.test_resets import Tool
from compat_tests.test_retry import dead_letters
from mqgateway.gateway.client import Context, Message, Producer, PushConsumer, ReceivedMessage

pytest_plugins = ("compat_tests.kafka.support.crossing_fixtures",)

SECONDS = 60
ROUNDS = 2
SETTLE_MILLIS = 5000
"""Time for listeners at work when a consumer stops: without it their messages come again, as in RocketMQ."""
ENOUGH = 150
"""Records that a member gets before the group moves on."""


class Load:
    """Producers of both kinds, which send until they are stopped; keeps the bodies that were acknowledged."""

    def __init__(self, both: Crossing, topic: str) -> None:
        self._both = both
        self._topic = topic
        self._ends = threading.Event()
        self._failures: list[Exception] = []
        self.bodies: list[str] = []
        self._threads = [
            threading.Thread(target=self._run, args=(send,)) for send in (self._kafka, self._ours)
        ]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._ends.set()
        for thread in self._threads:
            thread.join(SECONDS)
        assert not self._failures

    def _run(self, send: Callable[[], None]) -> None:
        try:
            send()
        except Exception as failure:
            self._failures.append(failure)

    def _kafka(self) -> None:
        producer = KafkaProducer(
            bootstrap_servers=self._both.server.kafka_address, linger_ms=5, compression_type="zstd"
        )
        number = 0
        while not self._ends.wait(0.02):
            bodies = [f"kafka-{number + one}" for one in range(10)]
            number += len(bodies)
            for sent in [producer.send(self._topic, body.encode()) for body in bodies]:
                sent.get(SECONDS)
            self.bodies += bodies
        producer.close()

    def _ours(self) -> None:
        with Producer("load", self._both.server.namesrv_address) as producer:
            number = 0
            while not self._ends.wait(0.01):
                producer.send(Message(self._topic, f"rocketmq-{number}"))
                self.bodies.append(f"rocketmq-{number}")
                number += 1


Place = tuple[int, int]
"""Queue and offset."""


class Turn:
    """The time of one member in a group: what it received, between the committed offsets around it."""

    def __init__(self, both: Crossing, group: str, topic: str) -> None:
        self._both, self.group, self.topic = both, group, topic
        self.received: dict[Place, str] = {}
        self.repeated: list[Place] = []
        self.first = committed(both, group, topic)
        self._lock = threading.Lock()

    def add(self, place: Place, body: str) -> None:
        """Keep a message."""
        with self._lock:
            if place in self.received:
                self.repeated.append(place)
            self.received[place] = body

    def check(self, *, is_whole: bool = True) -> None:
        """After the member has left: it received each message of its range once.

        Not `is_whole`: the program that drives the client forgets what came in the last moment.
        """
        # The last commit of a client of RocketMQ has no answer, so that it may be carried out later.
        wait_until(
            lambda: not self.received.keys() - self._committed(), SECONDS, "received, and will be again"
        )
        assert not self.repeated
        assert not (is_whole and self._committed() - self.received.keys()), "committed, and not received"

    def _committed(self) -> set[Place]:
        last = committed(self._both, self.group, self.topic)
        return {(one, offset) for one in last for offset in range(self.first[one], last[one])}

    def wait(self, count: int = ENOUGH) -> None:
        """Wait until as many messages came."""
        wait_until(lambda: len(self.received) >= count, SECONDS, f"{count} messages for {self.group}")


def committed(both: Crossing, group: str, topic: str) -> dict[int, int]:
    """Return the offsets of a group by partition, 0 where it has none."""
    asked = [{"name": topic, "partition_indexes": list(range(PARTITIONS))}]
    with Connection(both.server.kafka_address) as connection:
        answer = connection.ask("OffsetFetch", 5, group_id=group, topics=asked)
    rows = answer["topics"][0]["partitions"]
    return {row["partition_index"]: max(0, row["committed_offset"]) for row in rows}


@contextmanager
def kafka_turn(both: Crossing, group: str, topic: str) -> Iterator[Turn]:
    """Read with a Kafka client; at the end it commits what it received, and leaves."""
    turn, ends = Turn(both, group, topic), threading.Event()
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=both.server.kafka_address,
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )

    def poll() -> None:
        while not ends.is_set():
            for records in consumer.poll(100).values():
                for one in records:
                    turn.add((one.partition, one.offset), one.value.decode())
        consumer.commit()
        consumer.close()

    thread = threading.Thread(target=poll)
    thread.start()
    try:
        yield turn
    finally:
        ends.set()
        thread.join(SECONDS)
    turn.check()


@contextmanager
def python_turn(both: Crossing, group: str, topic: str) -> Iterator[Turn]:
    """Read with the push consumer of this project."""
    turn = Turn(both, group, topic)

    def keep(messages: Sequence[ReceivedMessage], context: Context) -> None:
        for one in messages:
            turn.add((one.queue.queue_id, one.queue_offset), one.body.decode())

    consumer = PushConsumer(
        group,
        keep,
        both.server.namesrv_address,
        consume_from_where="CONSUME_FROM_FIRST_OFFSET",
        await_termination_millis_when_shutdown=SETTLE_MILLIS,
    )
    consumer.subscribe(topic)
    with consumer:
        yield turn
    turn.check()


@contextmanager
def java_turn(both: Crossing, group: str, topic: str) -> Iterator[Turn]:
    """Read with the official push consumer of RocketMQ."""
    turn = Turn(both, group, topic)
    with both.rocketmq.push(group, {topic: "*"}) as consumer:
        wait_until(lambda: len(consumer.collect(0, 0)) >= ENOUGH, SECONDS, f"messages for {group}")
        for one in consumer.collect(0, 0):
            turn.add((one.queue_id, one.queue_offset), one.body)
        yield turn
    turn.check(is_whole=False)


@pytest.mark.parametrize("rocketmq_turn", [python_turn, java_turn], ids=["python", "java"])
@pytest.mark.parametrize("maker", MAKERS)
def test_group_moves_under_load_without_loss_or_repeats(
    both: Crossing, maker: str, rocketmq_turn: Callable[..., AbstractContextManager[Turn]]
) -> None:
    """A RocketMQ member stops, a Kafka member continues, and back, while producers of both kinds send."""
    topic = both.topic("moved_under_load", maker)
    group = both.rocketmq.name("movers")
    turns: list[Turn] = []
    with Load(both, topic) as load:
        for _ in range(ROUNDS):
            for take_turn in (rocketmq_turn, kafka_turn):
                with take_turn(both, group, topic) as turn:
                    turn.wait()
                turns.append(turn)
    sent = sum(end_offset(both.server.kafka_address, topic, one) for one in range(PARTITIONS))
    with kafka_turn(both, group, topic) as turn:
        turn.wait(sent - sum(turn.first.values()))
    turns.append(turn)
    assert sum(committed(both, group, topic).values()) == sent == len(load.bodies)
    for one, two in itertools.pairwise(turns):
        assert not one.received.keys() & two.received.keys()
    if rocketmq_turn is python_turn:
        received = sorted(body for turn in turns for body in turn.received.values())
        assert received == sorted(load.bodies)


def test_mqadmin_resets_a_group_for_kafka(both: Crossing, admin: Tool) -> None:
    """`resetOffsetByTime` on a group that a Kafka member has left: the next one begins there."""
    kafka, group = both.kafka(), both.rocketmq.name("reset_by_mqadmin")
    topic = both.topic("reset_by_mqadmin", "kafka")
    values = [f"value-{number}" for number in range(20)]
    begin = int(time.time() * 1000)
    records = [{"value": value, "partition": 0} for value in values]
    kafka.produce(topic, records[:10], compression="lz4")
    time.sleep(0.5)
    middle = int(time.time() * 1000)
    time.sleep(0.5)
    kafka.produce(topic, records[10:], compression="lz4")
    with kafka.join(group, topic) as member:
        wait_for_values([member], values)
        member.commit()
    for when, expected in ((begin - 1000, values), (middle, values[10:])):
        admin.run("resetOffsetByTime", "-g", group, "-t", topic, "-s", str(when))
        with kafka.join(group, topic) as member:
            wait_for_values([member], expected)
            member.commit()


def test_kafka_consumer_groups_resets_a_group_for_rocketmq(both: Crossing, commands: Commands) -> None:
    """`--reset-offsets` on a group that a RocketMQ member has left: the next one begins there."""
    peer, topic = both.rocketmq, both.topic("reset_by_kafka", "rocketmq", 1)
    group = peer.name("reset_by_kafka")
    with peer.producer() as producer:
        producer.send([message(topic, f"{number:02}") for number in range(20)])
    every = [f"{number:02}" for number in range(20)]
    with peer.push(group, {topic: "*"}) as consumer:
        assert sorted(one.body for one in consumer.collect(20)) == every
    address, chosen = both.server.kafka_address, ("--group", group, "--topic", topic)
    for how, first in (("--to-offset", "15"), 15), (("--to-earliest",), 0), (("--shift-by", "-3"), 17):
        reset = commands.run(address, "consumer-groups", "--reset-offsets", *chosen, *how, "--execute")
        assert reset.exit == 0, reset
        with peer.push(group, {topic: "*"}) as consumer:
            assert sorted(one.body for one in consumer.collect(20 - first)) == every[first:]
            assert len(consumer.collect(21 - first, 2)) == 20 - first
    described = commands.run(address, "consumer-groups", "--describe", "--group", group)
    assert described.out.split(group)[1].split()[:4] == [topic, "0", "20", "20"], described


@pytest.mark.parametrize("maker", MAKERS)
def test_refused_record_of_kafka_comes_again_and_is_a_dead_letter(both: Crossing, maker: str) -> None:
    """Of a record in the middle of a compressed batch; Kafka's clients do not see the group's own topics."""
    peer, kafka = both.rocketmq, both.kafka()
    topic, group = both.topic("refused", maker, 1), peer.name("refusers")
    headers = [["TAGS", "A"], ["colour", "blau"]]
    records = [{"value": f"{number}", "key": f"k{number}", "headers": headers} for number in range(3)]
    kafka.produce(topic, records, compression="zstd")
    with peer.push(group, {topic: "*"}, failFirst=99, maxReconsumeTimes=1) as consumer:
        received = consumer.collect(6)
        with peer.pull(peer.name("undertaker")) as reader:
            wait_until(lambda: len(dead_letters(reader, group)) == 3, SECONDS, "three dead letters", 0.5)
            dead = sorted(dead_letters(reader, group), key=lambda one: one.body)
        assert len(consumer.collect(7, 1)) == 6
    for number, one in enumerate(dead):
        first, second = (got for got in received if got.body == str(number))
        assert (first.reconsume_times, second.reconsume_times) == (0, 1)
        assert first.unique_key == second.unique_key == one.unique_key
        for got in (first, second, one):
            assert (got.tags, got.keys, got.properties["colour"]) == ("A", f"k{number}", "blau")
        assert (one.body, one.topic) == (str(number), f"%DLQ%{group}")
    with Connection(both.server.kafka_address) as connection:
        shown = {one["name"] for one in connection.ask("Metadata", 12, topics=None)["topics"]}
    assert topic in shown
    assert not any(group in name for name in shown)


def test_unacknowledged_record_of_kafka_comes_again_by_grpc(both: Crossing) -> None:
    """With one attempt more, and the same content."""
    peer, topic = grpc_peer(both), both.topic("unacknowledged", "kafka", 1)
    records = [{"value": f"{number}", "key": f"k{number}"} for number in range(3)]
    both.kafka().produce(topic, records, compression="lz4")
    with peer.simple(peer.group("forgetful"), {topic: "*"}) as consumer:
        first = consumer.collect(3, invisible=10_000, ack=False)
        consumer.ack(*(one for one in first if one.body != "1"))
        (again,) = consumer.collect(1)
    assert sorted(one.body for one in first) == ["0", "1", "2"]
    assert (again.body, again.keys, again.attempt) == ("1", ["k1"], 2)


@pytest.mark.parametrize("maker", MAKERS)
def test_mqadmin_shows_records_and_groups_of_kafka(both: Crossing, admin: Tool, maker: str) -> None:
    """By offset and by unique key; ends of the topic, and the progress of a group of Kafka's."""
    peer, kafka = both.rocketmq, both.kafka()
    topic, group = both.topic("shown", maker, 2), peer.name("shown_readers")
    headers = [["TAGS", "A"], ["colour", "blau"]]
    values = [f"shown {number}" for number in range(10)]
    records = [{"value": value, "key": "k1", "headers": headers, "partition": 1} for value in values]
    kafka.produce(topic, records, compression="zstd")
    with kafka.join(group, topic) as member:
        wait_for_values([member], values)
        member.commit()
    kafka.produce(topic, [{"value": "later", "partition": 1}])
    broker = both.server.broker_name
    shown = admin.run("queryMsgByOffset", "-t", topic, "-b", broker, "-i", "1", "-o", "7")
    for text in (
        "Queue Offset:        7",
        "Tags:                [A]",
        "Keys:                [k1]",
        "colour=blau",
    ):
        assert text in shown, shown
    with peer.pull(peer.name("lookers")) as consumer:
        queue = consumer.queues(topic)[1]
        (seventh,) = consumer.pull(queue, 7, max=1).messages
    assert seventh.unique_key is not None
    by_key = admin.run("queryMsgByUniqueKey", "-t", topic, "-i", seventh.unique_key)
    assert "Queue Offset:        7" in by_key and "Keys:                [k1]" in by_key, by_key
    rows = [line.split() for line in admin.run("topicStatus", "-t", topic).splitlines()]
    assert [row[1:4] for row in rows if row[:1] == [broker]] == [["0", "0", "0"], ["1", "0", "11"]]
    progress = admin.run("consumerProgress", "-g", group)
    (row,) = [line.split() for line in progress.splitlines() if line.split()[:3] == [topic, broker, "1"]]
    assert row[3:5] == ["11", "10"], progress
    assert "Consume Diff Total: 1" in progress, progress
