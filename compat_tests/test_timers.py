"""Messages with timers on both servers, and timers that change hands.

Never early and once: each message has its due time, the consumer records the time of arrival. A directory of
one server, stopped or killed, is taken over by the other, which delivers the remaining timers.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from compat_tests.support.artifacts import CURRENT
from compat_tests.support.driver import ClientError, Producer, Received, message
from compat_tests.support.peers import Peer, Peers
from compat_tests.support.processes import free_ports, wait_until
from compat_tests.support.servers import (
    BROKER_NAME,
    HOST,
    Part,
    apache_broker,
    our_broker,
    our_namesrv,
    wait_until_registered,
)

STEP = 1000
"""The servers' precision in ms."""
LATE = 10 * STEP
"""Milliseconds by which timers are late at most on a busy machine."""
SETTINGS = {"recallMessageEnable": "true"}
CLOCK_SLACK = 3
"""Milliseconds by which clocks of two processes may be read apart."""


def now() -> int:
    return int(time.time() * 1000)


def timed(topic: str, due: int, property: str = "TIMER_DELIVER_MS", body: str = "") -> dict[str, object]:
    """Return a message due at a time in ms, set in one of the three ways; its body starts with the time."""
    left = {"TIMER_DELAY_SEC": (due - now()) // 1000, "TIMER_DELAY_MS": due - now(), "TIMER_DELIVER_MS": due}
    # Seconds are whole, so the requested time is a little earlier.
    stated = now() + left[property] * 1000 if property == "TIMER_DELAY_SEC" else due
    return message(topic, f"{stated} {property} {body}", timer=property, time=left[property])


def due_of(body: str) -> int:
    return int(body.split()[0])


def check_times(found: list[Received], late_millis: int) -> None:
    """Check that no message is early, duplicate or later than allowed."""
    for one in found:
        assert one.store_timestamp >= due_of(one.body) - CLOCK_SLACK, f"early: {one}"
        assert one.store_timestamp <= due_of(one.body) + late_millis, f"late: {one}"
    assert len({one.body for one in found}) == len(found)


@pytest.mark.overlap
@pytest.mark.parametrize("property", ["TIMER_DELAY_SEC", "TIMER_DELAY_MS", "TIMER_DELIVER_MS"])
def test_timers_are_kept(peer: Peer, property: str) -> None:
    """Whole and odd times, some shorter than a step: each message comes once, at its time or just after."""
    topic = peer.topic("timers")
    with peer.producer() as producer, peer.push(peer.name("timer_readers"), {topic: "*"}) as consumer:
        delays = (1000, 1500, 2750, 2750, 4001, 400)
        sent = [timed(topic, now() + delay, property, str(i)) for i, delay in enumerate(delays)]
        assert all(result.status == "SEND_OK" for result in producer.send(sent))
        found = consumer.collect(len(sent))
    check_times(found, LATE)
    assert sorted(one.body for one in found) == sorted(str(one["body"]) for one in sent)
    for one in found:
        assert one.properties.get("REAL_TOPIC", topic) == topic and one.topic == topic


@pytest.mark.overlap
def test_timer_beyond_the_limit_is_refused(peer: Peer) -> None:
    """The texts differ by the limit only."""
    topic = peer.topic("timers_far")
    with peer.producer() as producer, pytest.raises(ClientError) as refused:
        producer.send([timed(topic, now() + 4 * 86_400_000)])
    assert refused.value.code == 13
    assert "should not be bigger than the max delay 259200000ms" in str(refused.value)


@pytest.mark.overlap
def test_timer_in_the_past_is_delivered_at_once(peer: Peer) -> None:
    topic = peer.topic("timers_past")
    with peer.producer() as producer, peer.push(peer.name("timer_readers"), {topic: "*"}) as consumer:
        producer.send([timed(topic, now() - 5000)])
        (one,) = consumer.collect(1)
    assert one.properties["TIMER_DELIVER_MS"] == str(due_of(one.body))


@pytest.mark.overlap
def test_recalled_messages_do_not_come(kind: str, peers: Peers) -> None:
    """Recalls use the handle of the send; handles of another topic, and invalid ones, are refused."""
    peer = peers.with_server(peers.tuned(kind), CURRENT)
    topic, other = peer.topic("timers_back"), peer.topic("timers_other")
    with peer.producer() as producer, peer.push(peer.name("timer_readers"), {topic: "*"}) as consumer:
        due = now() + 6000
        sent = producer.send([timed(topic, due, body=str(i)) for i in range(4)])
        assert all(one.recall_handle for one in sent)
        assert producer.send([message(topic, f"{now()} plain")])[0].recall_handle is None
        for one in sent[:2]:
            assert producer.recall(topic, str(one.recall_handle)) == one.msg_id
        for wrong_topic, handle, code in ((other, str(sent[2].recall_handle), 604), (topic, "x", None)):
            with pytest.raises(ClientError) as refused:
                producer.recall(wrong_topic, handle)
            assert refused.value.code == code or code is None
        consumer.collect(3)
        found = consumer.collect(4, max(due - now(), 0) / 1000 + 4)
    assert sorted(one.body.split()[2] for one in found if "TIMER" in one.body) == ["2", "3"]


class Hands:
    """One directory, one address and one name server, with changing brokers of either kind."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        namesrv_port = free_ports()
        self.namesrv_address = f"{HOST}:{namesrv_port}"
        self._port = free_ports((-2, 0, 1))
        self.address = f"{HOST}:{self._port}"
        self._namesrv = our_namesrv(folder / "namesrv", namesrv_port)
        self._broker: Part | None = None

    @contextmanager
    def open(self) -> Iterator[Hands]:
        self._namesrv.start()
        try:
            yield self
        finally:
            self.end("kill")
            self._namesrv.kill9()

    def begin(self, kind: str) -> None:
        make = our_broker if kind == "ours" else apache_broker
        settings = {"mappedFileSizeCommitLog": str(16 << 20), **SETTINGS}
        self._broker = make(self.folder / "broker", self._port, self.namesrv_address, settings)
        self._broker.start()
        # Apache's broker registers ten seconds later if it starts faster than it connects.
        wait_until_registered(self.namesrv_address, {BROKER_NAME})

    def end(self, how: str) -> None:
        if self._broker is not None:
            self._broker.stop() if how == "stop" else self._broker.kill9()
            self._broker = None


def read_all(peer: Peer, topic: str) -> list[Received]:
    """Return all messages of a topic."""
    found = []
    with peer.pull(peer.name("timer_all")) as consumer:
        for queue in consumer.queues(topic):
            offset = consumer.min_offset(queue)
            while offset < consumer.max_offset(queue):
                pulled = consumer.pull(queue, offset)
                offset = pulled.next_offset
                found += pulled.messages
    return found


@pytest.mark.overlap
@pytest.mark.both_servers
@pytest.mark.parametrize("how", ["stop", "kill"])
@pytest.mark.parametrize(("first", "second"), [("apache", "ours"), ("ours", "apache"), ("ours", "ours")])
def test_timers_change_hands(first: str, second: str, how: str, peers: Peers, tmp_path: Path) -> None:
    """Some timers fire before, some become due while no server runs, some later; each comes once.

    Apache's checkpoint is up to a second old, and timers fired since then are delivered again. So Apache's
    broker has been idle for two seconds when it is killed here.
    """
    with Hands(tmp_path).open() as hands:
        hands.begin(first)
        peer = Peer(hands.namesrv_address, peers.driver(CURRENT), CURRENT)
        topic = peer.topic("hands")
        with peer.producer() as producer:
            sent = send_timers(producer, topic, 1500, 40) + send_timers(producer, topic, 18_000, 200)
            recalled = producer.send([timed(topic, now() + 19_000, body="back")])[0]
            producer.recall(topic, str(recalled.recall_handle))
            wait_until(lambda: len(read_all(peer, topic)) >= 40, 9, "the first are delivered", 1)
            time.sleep(2)
            before = {one.body for one in read_all(peer, topic)}
            assert before == set(sent[:40])
            ended = now()
            hands.end(how)
            hands.begin(second)
            absent = now() - ended
            sent += send_timers(producer, topic, 3000, 40)
            wait_until(lambda: len(read_all(peer, topic)) >= len(sent), 60, "all are delivered", 1)
            time.sleep(3)  # duplicates have come by now
            found = read_all(peer, topic)
    check_times(found, absent + 12_000)
    assert sorted(one.body for one in found) == sorted(sent)


def send_timers(producer: Producer, topic: str, delay: int, count: int) -> list[str]:
    """Send timers around a time from now on; return the bodies."""
    shapes = [timed(topic, now() + delay + 10 * number, body=str(number)) for number in range(count)]
    producer.send(shapes)
    return [str(shape["body"]) for shape in shapes]


@pytest.mark.overlap
@pytest.mark.both_servers
def test_the_files_are_apaches(peers: Peers) -> None:
    """Names and lengths of the files, and the unit of a timer, are those of Apache's broker."""
    shapes = {}
    for kind in ("apache", "ours"):
        with peers.fresh(kind) as server:
            peer = peers.with_server(server, CURRENT)
            topic = peer.topic("files")
            with peer.producer() as producer:
                producer.send([timed(topic, now() + 60_000)])
            time.sleep(2.5)
            store = server.store_dir
            unit = (store / "timerlog" / ("0" * 20)).read_bytes()[:52]
            shapes[kind] = (
                (store / "timerwheel").stat().st_size,
                (store / "timerlog" / ("0" * 20)).stat().st_size,
                (store / "config" / "timercheck").stat().st_size,
                unit[:16],
                unit[44:],
            )
    assert shapes["apache"][:4] == shapes["ours"][:4]
