"""Our Python client against both servers, and together with the official client."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from compat_tests.support import known_answers
from compat_tests.support.artifacts import CURRENT
from compat_tests.support.driver import PATIENCE_SECONDS, Driver, Queue, message
from compat_tests.support.mqadmin import Mqadmin
from compat_tests.support.patience import PATIENT
from compat_tests.support.peers import VARIANTS, Peer, Peers
from compat_tests.support.processes import wait_until
from compat_tests.support.servers import ROOT
from mqgateway.engine.message import java_hash
from mqgateway.gateway.client import (
    Context,
    LitePullConsumer,
    Message,
    MessageQueue,
    Producer,
    PullConsumer,
    PullStatus,
    PushConsumer,
    ReceivedMessage,
    ReplyTimedOut,
    TransactionProducer,
    TransactionState,
)
from mqgateway.gateway.client.compression import Compression
from mqgateway.gateway.client.selectors import by_hash
from tests.support.gateway.client.answers import JAVA

FIRST = {"consume_from_where": "CONSUME_FROM_FIRST_OFFSET"}
SECONDS = 60
LONG = "long " * 2000

pytestmark = pytest.mark.overlap


class Inbox:
    """A listener that records the messages it is given."""

    def __init__(self, fails: int = 0) -> None:
        self.got: list[ReceivedMessage] = []
        self.fails = fails
        self._lock = threading.Lock()

    def __call__(self, given: Sequence[ReceivedMessage], context: Context) -> bool:
        with self._lock:
            self.got += given
            self.fails -= 1
            return self.fails < 0

    @property
    def bodies(self) -> list[str]:
        return sorted(message.body.decode() for message in self.got)

    def wait(self, count: int) -> list[ReceivedMessage]:
        wait_until(lambda: len(self.got) >= count, SECONDS, f"{count} messages, not {len(self.got)}")
        return self.got


@contextmanager
def reading(
    namesrv: str, group: str, topic: str, inbox: Inbox, wanted: str = "*", **settings: Any
) -> Iterator[PushConsumer]:
    """Run a push consumer."""
    consumer = PushConsumer(group, inbox, namesrv, **{**FIRST, **settings})
    consumer.subscribe(topic, wanted)
    with consumer:
        yield consumer


def test_the_known_answers_are_still_known() -> None:
    """The recorded results that the unit tests use are those of the official client."""
    assert known_answers.ask() == JAVA


@pytest.mark.parametrize("how", ["sync", "async", "batch", "oneway"])
def test_python_sends_and_java_receives(peer: Peer, how: str) -> None:
    """Every way to send, with tags, keys, flag and properties; ids are the same on both sides."""
    topic = peer.topic(f"py_{how}")
    with Producer(peer.name("py_producers"), peer.namesrv_address, **PATIENT) as producer:
        messages = [
            Message(
                topic,
                f"grün {number}",
                tags="T",
                keys=["k1", f"k{number}"],
                flag=7,
                properties={"colour": "blau"},
            )
            for number in range(8)
        ]
        if how == "batch":
            results = producer.send_batch(messages)
            ids = set(results[0].message_id.split(","))
        elif how == "oneway":
            for one in messages:
                producer.send_oneway(one)
            ids = {str(one.unique_key) for one in messages}
        else:
            send: Callable[[Message], Any] = producer.send if how == "sync" else producer.send_async
            sent = [send(one) for one in messages]
            ids = {(one if how == "sync" else one.result(10)).message_id for one in sent}
        with peer.push(peer.name("readers"), {topic: "T"}) as consumer:
            received = consumer.collect(8)
    assert sorted(one.body for one in received) == [f"grün {number}" for number in range(8)]
    assert {one.unique_key for one in received} == ids
    for records in received:
        assert (records.tags, records.flag, records.properties["colour"]) == (
            "T",
            7 if how != "batch" else records.flag,
            "blau",
        )
        assert records.keys is not None and records.keys.startswith("k1 k")


def test_java_sends_and_python_receives(peer: Peer) -> None:
    """Single messages, batches and long ones, which the official client compresses."""
    topic = peer.topic("java_sends")
    inbox = Inbox()
    with peer.producer() as producer:
        fields = {"tags": "T", "keys": "k", "flag": 9, "properties": {"colour": "grün"}}
        results = producer.send([message(topic, f"single {number}", **fields) for number in range(5)])
        producer.send([message(topic, f"batch {number}") for number in range(5)], "batch")
        producer.send([message(topic, LONG)])
        with reading(peer.namesrv_address, peer.name("py_readers"), topic, inbox):
            inbox.wait(11)
    singles = [one for one in inbox.got if one.body.startswith(b"single")]
    assert {one.message_id for one in singles} == {result.msg_id for result in results}
    assert {(one.tags, one.flag, one.properties["colour"]) for one in singles} == {("T", 9, "grün")}
    assert LONG in inbox.bodies and len(set(inbox.bodies)) == 11


@pytest.mark.parametrize("kind_of_compression", ["ZLIB", "LZ4", "ZSTD"])
def test_compressed_bodies_arrive_whole(peer: Peer, kind_of_compression: str) -> None:
    """Each compression with the current client; the older one knows zlib only."""
    if peer.variant != CURRENT and kind_of_compression != "ZLIB":
        return
    topic = peer.topic("compressed")
    compression = Compression[kind_of_compression]
    with Producer(
        peer.name("py_producers"), peer.namesrv_address, **PATIENT, compress_type=compression
    ) as producer:
        producer.send(Message(topic, LONG))
    with peer.push(peer.name("readers"), {topic: "*"}) as consumer:
        assert [one.body for one in consumer.collect(1)] == [LONG]


def test_both_see_the_queues_in_one_order(peer: Peer) -> None:
    """A custom selector, which picks by the same rule as the driver's, picks the same queues."""

    def by_key(queues: Sequence[MessageQueue], given: Message, key: str) -> MessageQueue:
        return queues[java_hash(key) % len(queues)]

    topic = peer.topic("same_queue", 8)
    keys = [f"order-{number}" for number in range(12)]
    with (
        peer.producer() as java,
        Producer(peer.name("py_producers"), peer.namesrv_address, **PATIENT) as producer,
    ):
        theirs = java.send([message(topic, "x", keys=key) for key in keys], "selector")
        ours = [producer.send(Message(topic, "x"), selector=by_key, argument=key) for key in keys]
    assert [one.queue.queue_id for one in ours] == [one.queue.queue_id for one in theirs]


def test_requests_and_replies_across_languages(peer: Peer) -> None:
    """Requests of Python are answered by Java, and requests of Java by Python."""
    topic = peer.topic("py_asks", 2)
    with Producer(peer.name("py_askers"), peer.namesrv_address, **PATIENT) as producer:
        producer.send(Message(topic, "to be received, not answered"))
        with peer.replier(peer.name("repliers"), topic) as replier:
            replier.collect(1)
            assert producer.request(Message(topic, "one"), timeout=20).body == b"re: one"
            assert producer.request(Message(topic, LONG), timeout=20).body == f"re: {LONG}".encode()
            with pytest.raises(ReplyTimedOut):
                producer.request(Message(topic, "hush", properties={"silent": "yes"}), timeout=1.5)
        other = peer.topic("java_asks", 2)

        def answer(given: Sequence[ReceivedMessage], context: Context) -> None:
            for one in given:
                producer.send(one.reply(b"re: " + one.body))

        consumer = PushConsumer(peer.name("py_repliers"), answer, peer.namesrv_address)
        consumer.subscribe(other)
        with consumer, peer.requester(peer.name("requesters")) as requester:
            time.sleep(3)  # new groups start at the end of the queues
            assert requester.request(message(other, "two")).body == "re: two"


def test_queues_are_shared_with_java_members(peer: Peer) -> None:
    """Two Java and two Python consumers share 9 queues 3-2-2-2, and take over from a member that leaves."""
    topic, group = peer.topic("nine_mixed", 9), peer.name("mixed_members")
    inboxes = [Inbox(), Inbox()]
    with ExitStack() as stack:
        java = [stack.enter_context(peer.push(group, {topic: "*"})) for _ in range(2)]
        python = [
            stack.enter_context(reading(peer.namesrv_address, group, topic, inbox)) for inbox in inboxes
        ]

        def held() -> list[int]:
            return shares(java, python, topic)

        wait_until(lambda: held() == [3, 2, 2, 2], 60, "shares 3-2-2-2", 0.3)
        with peer.producer() as producer:
            producer.send([message(topic, str(number)) for number in range(90)])

            def total() -> int:
                return sum(len(one.collect(0, 0)) for one in java) + sum(len(one.got) for one in inboxes)

            wait_until(lambda: total() >= 90, 60, "90 messages")
            assert total() == 90 and all(one.got for one in inboxes)
            python.pop().close()
            wait_until(lambda: held() == [3, 3, 3], 60, "shares 3-3-3", 0.3)
            java.pop().close()
            wait_until(lambda: held() == [5, 4], 60, "shares 5-4", 0.3)


def shares(java: list[Any], python: list[PushConsumer], topic: str) -> list[int]:
    """Return how many queues each holds, most first; empty while some queue is held twice."""
    held: list[set[Any]] = [consumer.assigned(topic) for consumer in java]
    for consumer in python:
        queues = list(consumer._core.held)
        held.append({Queue(one.topic, one.broker_name, one.queue_id) for one in queues if one.topic == topic})
    if len(set().union(*held)) != sum(map(len, held)):
        return []
    return sorted(map(len, held), reverse=True)


class Member:
    """A Python consumer in a process of its own."""

    def __init__(self, namesrv: str, group: str, topic: str) -> None:
        command = [sys.executable, "-m", "compat_tests.support.python_member", namesrv, group, topic]
        self.popen = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT)
        self.lines: list[dict[str, Any]] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.popen.stdout is not None
        for line in self.popen.stdout:
            self.lines.append(json.loads(line))

    def received(self) -> list[str]:
        return [line["body"] for line in list(self.lines) if "body" in line]

    @property
    def queues(self) -> list[int]:
        """Queues that the consumer holds."""
        return next((line["queues"] for line in reversed(list(self.lines)) if "queues" in line), [])

    def kill(self) -> None:
        self.popen.kill()
        self.popen.wait(30)
        self._reader.join(10)

    def __enter__(self) -> Member:
        wait_until(lambda: self.lines, 30, "the member has started")
        return self

    def __exit__(self, *_: object) -> None:
        if self.popen.poll() is None:
            self.kill()


def test_nothing_is_lost_when_members_are_killed(kind: str, peers: Peers) -> None:
    """Two Java and two Python members; one of each is killed in the middle of sending.

    All messages are consumed, and only those that a killed member had not committed come twice.
    """
    peer = peers.with_server(peers.server(kind), CURRENT)
    topic, group = peer.topic("killed", 9), peer.name("killed_members")
    version, properties = VARIANTS[CURRENT]
    with ExitStack() as stack:
        drivers = [Driver(peers.runtime, version, properties) for _ in range(2)]
        for driver in drivers:
            stack.callback(driver._process.kill)
        java = [Peer(peer.namesrv_address, driver, CURRENT).push(group, {topic: "*"}) for driver in drivers]
        python = [stack.enter_context(Member(peer.namesrv_address, group, topic)) for _ in range(2)]
        producer = stack.enter_context(Producer(peer.name("py_producers"), peer.namesrv_address, **PATIENT))
        sent: list[str] = []

        def send(count: int) -> None:
            for _ in range(count):
                sent.append(f"m{len(sent)}")
                producer.send(Message(topic, sent[-1]))

        def seen(alive: Sequence[Any]) -> list[str]:
            return [one.body for each in alive for one in each.collect(0, 0)] + [
                body for each in python for body in each.received()
            ]

        def arrives(alive: Sequence[Any], also: Sequence[str], when: str) -> None:
            """Wait until every sent message has been received by a member."""
            end = time.monotonic() + 90
            while missing := set(sent) - set(seen(alive)) - set(also):
                assert time.monotonic() < end, (
                    f"{when}: {len(missing)} are missing: {sorted(missing)[:5]}; held: "
                    f"{[sorted(queue.queue_id for queue in one.assigned(topic)) for one in alive]}, "
                    f"{[one.queues for one in python]}"
                )
                time.sleep(0.2)

        def held() -> list[int]:
            of_java = [queue.queue_id for one in java for queue in one.assigned(topic)]
            return sorted(of_java + [number for one in python for number in one.queues])

        wait_until(lambda: held() == list(range(9)), 90, "each queue has one owner", 0.5)
        send(300)
        arrives(java, (), "before the kills")
        assert all(each.received() for each in python)
        python[0].kill()
        send(300)
        arrives(java, (), "after a Python member was killed")
        before = [one.body for one in java[0].collect(0, 0)]
        drivers[0]._process.kill()
        send(300)
        arrives(java[1:], before, "after a Java member was killed")
        time.sleep(8)  # offsets are committed every 5 s
        repeats = len(before) + len(seen(java[1:])) - len(sent)
        send(100)
        arrives(java[1:], before, "in the end")
        time.sleep(3)
        assert len(before) + len(seen(java[1:])) - len(sent) == repeats, "repeats last"


@pytest.mark.parametrize("state", list(TransactionState))
def test_transactions(kind: str, peers: Peers, state: TransactionState) -> None:
    """Transactions are committed, rolled back, or checked until decided; Java sees the committed ones."""
    peer = peers.with_server(peers.tuned(kind), CURRENT)
    topic = peer.topic("py_transactions")

    class Listener:
        def __init__(self) -> None:
            self.asked: list[str] = []

        def execute(self, message: Message, argument: Any) -> TransactionState:
            return state

        def check(self, message: ReceivedMessage) -> TransactionState:
            self.asked.append(message.body.decode())
            return TransactionState.COMMIT

    listener = Listener()
    with (
        TransactionProducer(peer.name("py_deciders"), listener, peer.namesrv_address, **PATIENT) as producer,
        peer.push(peer.name("readers"), {topic: "*"}) as consumer,
    ):
        result = producer.send_in_transaction(Message(topic, "half"))
        assert result.state is state
        expected = [] if state is TransactionState.ROLLBACK else ["half"]
        received = consumer.collect(1, PATIENCE_SECONDS if expected else 6)
        assert [one.body for one in received] == expected
    assert bool(listener.asked) == (state is TransactionState.UNKNOWN)


def test_failures_come_again_and_then_are_dead_letters(kind: str, peers: Peers) -> None:
    """A refused message is redelivered after 10 s; after the last retry it is a dead letter."""
    server = peers.server(kind)
    peer = peers.with_server(server, CURRENT)
    topic, group = peer.topic("py_retries", 1), peer.name("py_retriers")
    inbox = Inbox(fails=2)
    with Producer(peer.name("py_producers"), server.namesrv_address, **PATIENT) as producer:
        producer.send(Message(topic, "refused"))
        with reading(server.namesrv_address, group, topic, inbox, max_reconsume_times=1):
            got = inbox.wait(2)
            dead = f"%DLQ%{group}"
            wait_until(lambda: peer.knows(dead, 1), 60, "there is a dead letter queue")
            letters = Inbox()
            with reading(server.namesrv_address, peer.name("undertakers"), dead, letters):
                letters.wait(1)
    assert [one.reconsume_times for one in got] == [0, 1] and [one.topic for one in got] == [topic] * 2
    assert letters.got[0].message_id == got[0].message_id


def test_ordered_consumption(kind: str, peers: Peers) -> None:
    """Each queue is consumed in order, also after a failure, with two members."""
    server = peers.server(kind)
    peer = peers.with_server(server, CURRENT)
    topic, group = peer.topic("py_ordered", 4), peer.name("py_ordered")
    inboxes = [Inbox(fails=1), Inbox()]
    with (
        Producer(peer.name("py_producers"), server.namesrv_address, **PATIENT) as producer,
        ExitStack() as stack,
    ):
        for inbox in inboxes:
            stack.enter_context(reading(server.namesrv_address, group, topic, inbox, is_ordered=True))
        time.sleep(3)
        for number in range(80):
            producer.send(Message(topic, str(number)), selector=by_hash, argument=number % 4)

        def distinct() -> set[bytes]:
            return {one.body for inbox in inboxes for one in inbox.got}

        wait_until(lambda: len(distinct()) == 80, SECONDS, "80 messages")
    for number in range(4):
        for inbox in inboxes:
            got = [int(one.body) for one in inbox.got if one.queue.queue_id == number]
            assert got == sorted(got)


def test_broadcasting(kind: str, peers: Peers, tmp_path: Any) -> None:
    """Each member receives all messages, and resumes from its own offsets."""
    server = peers.server(kind)
    peer = peers.with_server(server, CURRENT)
    topic, group = peer.topic("py_broadcast", 2), peer.name("py_broadcast")
    settings = {"message_model": "BROADCASTING", "local_offset_store_dir": str(tmp_path)}
    with Producer(peer.name("py_producers"), server.namesrv_address, **PATIENT) as producer:
        producer.send_batch([Message(topic, f"{number}") for number in range(10)])
        one, two = Inbox(), Inbox()
        with (
            reading(server.namesrv_address, group, topic, one, instance_name="one", **settings),
            reading(server.namesrv_address, group, topic, two, instance_name="two", **settings),
        ):
            one.wait(10)
            two.wait(10)
        producer.send(Message(topic, "later"))
        again = Inbox()
        with reading(server.namesrv_address, group, topic, again, instance_name="one", **settings):
            again.wait(1)
            time.sleep(2)
    assert one.bodies == two.bodies == [str(number) for number in range(10)]
    assert again.bodies == ["later"]
    assert len(list(tmp_path.glob(f"*@one/{group}/offsets.json"))) == 1


def test_pulling_and_polling(kind: str, peers: Peers) -> None:
    """By hand: pull, long polling, offsets; then by poll: subscribe, seek, pause, commit."""
    server = peers.server(kind)
    peer = peers.with_server(server, CURRENT)
    topic, group = peer.topic("py_pull", 1), peer.name("py_pullers")
    with (
        Producer(peer.name("py_producers"), server.namesrv_address, **PATIENT) as producer,
        PullConsumer(group, server.namesrv_address) as consumer,
    ):
        sent = [producer.send(Message(topic, f"{number}", tags="A")) for number in range(5)]
        (queue,) = consumer.queues(topic)
        found = consumer.pull(queue, 1, 2)
        assert ([one.body for one in found.messages], found.next_offset) == ([b"1", b"2"], 3)
        assert consumer.pull(queue, 5).status is PullStatus.NO_NEW_MSG
        assert consumer.pull(queue, 0, wanted="B").status is PullStatus.NO_MATCHED_MSG
        assert consumer.pull(queue, 99).status is PullStatus.OFFSET_ILLEGAL
        assert (consumer.min_offset(queue), consumer.max_offset(queue)) == (0, 5)
        assert consumer.view(topic, sent[3].offset_message_id).body == b"3"
        consumer.commit(queue, 4)
        assert consumer.committed(queue) == 4
        timer = threading.Timer(1.0, lambda: producer.send(Message(topic, "new")))
        timer.start()
        assert [one.body for one in consumer.pull(queue, 5, wait=True).messages] == [b"new"]
    lite = LitePullConsumer(group, server.namesrv_address)
    lite.subscribe(topic)
    with lite:
        assert [one.body for one in polled(lite, 2)] == [b"4", b"new"]
        full = MessageQueue(topic, queue.broker_name, 0)
        lite.seek(full, 2)
        assert [one.body for one in polled(lite, 4)] == [b"2", b"3", b"4", b"new"]
        lite.commit()
        assert lite.committed(full) == 6


def polled(consumer: LitePullConsumer, count: int) -> list[ReceivedMessage]:
    """Poll until `count` messages have come or 40 s have passed."""
    got: list[ReceivedMessage] = []
    end = time.monotonic() + 40
    while len(got) < count and time.monotonic() < end:
        got += consumer.poll(1)
    return got


def test_delays_and_timers(kind: str, peers: Peers) -> None:
    """A delay level and a timer; another timer is recalled."""
    server = peers.tuned(kind)
    peer = peers.with_server(server, CURRENT)
    topic = peer.topic("py_delays", 1)
    inbox = Inbox()
    with Producer(peer.name("py_producers"), server.namesrv_address, **PATIENT) as producer:
        producer.send(Message(topic, "level", delay_level=2))
        producer.send(Message(topic, "timer", delay_millis=3000))
        recalled = producer.send(Message(topic, "recalled", delay_millis=8000))
        assert recalled.recall_handle
        assert producer.recall(topic, recalled.recall_handle) == recalled.message_id
        with reading(server.namesrv_address, peer.name("py_readers"), topic, inbox):
            inbox.wait(2)
            time.sleep(9)
    assert inbox.bodies == ["level", "timer"]


@pytest.mark.parametrize(
    "settings", [{"use_tls": True}, {"serialize_type": "ROCKETMQ"}], ids=["tls", "binary"]
)
def test_tls_and_the_binary_header_form(kind: str, peers: Peers, settings: dict[str, Any]) -> None:
    """Messages are sent and received over TLS and with binary headers."""
    server = peers.server(kind)
    peer = peers.with_server(server, CURRENT)
    topic = peer.topic("py_forms")
    inbox = Inbox()
    with Producer(peer.name("py_producers"), server.namesrv_address, **PATIENT, **settings) as producer:
        producer.send_batch([Message(topic, f"{number}") for number in range(5)])
        with reading(server.namesrv_address, peer.name("py_readers"), topic, inbox, **settings):
            inbox.wait(5)


def test_administrators_see_and_reset_python_consumers(kind: str, peers: Peers) -> None:
    """The official tool shows connection and state, and resets offsets."""
    server = peers.server(kind)
    peer = peers.with_server(server, CURRENT)
    topic, group = peer.topic("py_seen", 1), peer.name("py_seen")
    inbox = Inbox()
    admin = Mqadmin(peers.runtime)
    try:
        with (
            Producer(peer.name("py_producers"), server.namesrv_address, **PATIENT) as producer,
            reading(server.namesrv_address, group, topic, inbox) as consumer,
        ):
            producer.send(Message(topic, "seen"))
            inbox.wait(1)
            shown = admin.run("consumerConnection", "-n", server.namesrv_address, "-g", group)
            assert consumer.client_id in shown.out and "PYTHON" in shown.out
            shown = admin.run(
                *("consumerStatus", "-n", server.namesrv_address, "-g", group, "-i", consumer.client_id, "-s")
            )
            assert "PROP_CONSUME_TYPE" in shown.out or "Consumer Properties" in shown.out, shown
            assert topic in shown.out
            time.sleep(6)
            shown = admin.run(
                *("resetOffsetByTime", "-n", server.namesrv_address, "-g", group, "-t", topic, "-s", "0")
            )
            wait_until(lambda: len(inbox.got) >= 2, SECONDS, f"it comes again after {shown}")
    finally:
        admin.close()
