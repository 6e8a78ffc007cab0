"""The server for users' tests, on real ports, with Python and Java clients."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from compat_tests.support.artifacts import CURRENT
from compat_tests.support.driver import message
from compat_tests.support.peers import Peer, Peers
from compat_tests.support.processes import wait_until
from mqgateway.gateway.client import Context, Message, Producer, PushConsumer, ReceivedMessage, SendFailed
from mqgateway.gateway.testing import SEND, Server

START_SECONDS = 0.3
STARTS = """
import time
from mqgateway.gateway.testing import Server

for _ in range(5):
    began = time.perf_counter()
    with Server():
        print(time.perf_counter() - began)
"""


@pytest.fixture
def server() -> Iterator[Server]:
    """Run a server in memory."""
    with Server() as server:
        yield server


def test_it_is_ready_in_no_time(capsys: pytest.CaptureFixture[str]) -> None:
    """Time from nothing to a server that accepts messages, in a process without other threads."""
    done = subprocess.run([sys.executable, "-c", STARTS], capture_output=True, text=True, check=True)
    times = [float(line) for line in done.stdout.split()]
    with capsys.disabled():
        print(f"\nready after {', '.join(f'{one * 1000:.0f}' for one in times)} ms")
    assert min(times) < START_SECONDS


class Inbox:
    """A listener that fails the first `fails` times."""

    def __init__(self, fails: int = 0) -> None:
        self.got: list[ReceivedMessage] = []
        self.fails = fails

    def __call__(self, given: Sequence[ReceivedMessage], context: Context) -> bool:
        self.got += given
        self.fails -= 1
        return self.fails < 0


def consuming(server: Server, topic: str, inbox: Inbox) -> PushConsumer:
    """Return a consumer that is not started yet."""
    consumer = PushConsumer("services", inbox, server.namesrv, consume_from_where="CONSUME_FROM_FIRST_OFFSET")
    consumer.subscribe(topic)
    return consumer


def test_a_python_service_over_retries(server: Server) -> None:
    """Each retry delay ends when the test advances the time."""
    topic, inbox = server.create_topic(), Inbox(fails=3)
    with Producer("shop", server.namesrv) as producer, consuming(server, topic, inbox):
        producer.send(Message(topic, "not yet"))
        for count in range(1, 4):
            server.wait_for_messages("SCHEDULE_TOPIC_XXXX", count)
            server.advance(600)
        wait_until(lambda: len(inbox.got) == 4, 20, "it comes the fourth time")
    assert [one.reconsume_times for one in inbox.got] == [0, 1, 2, 3]


def test_a_python_service_until_the_dead_letter() -> None:
    """Seventeen failures, nearly five hours apart in all, take seconds."""
    with Server(speed=10_000) as server:
        topic, inbox = server.create_topic(), Inbox(fails=99)
        with Producer("shop", server.namesrv) as producer, consuming(server, topic, inbox):
            producer.send(Message(topic, "not an order"))
            server.wait_for_messages("%DLQ%services", 1, seconds=60)
        assert [one.reconsume_times for one in inbox.got] == list(range(17))
        assert [one.body for one in server.dead_letters("services")] == [b"not an order"]


def test_a_java_service_over_delays_faults_and_death(server: Server, peers: Peers) -> None:
    """The official client meets delays that take no time, refusals that it retries, and a killed broker."""
    peer = Peer(server.namesrv, peers.driver(CURRENT), CURRENT)
    topic, group = server.create_topic(), peer.name("java_service")
    with peer.producer() as producer, peer.push(group, {topic: "*"}) as consumer:
        producer.send([message(topic, "now"), message(topic, "in two hours", delayLevel=18)])
        assert [one.body for one in consumer.collect(1)] == ["now"]
        server.advance(7200)
        assert [one.body for one in consumer.collect(2)] == ["now", "in two hours"]
        refused = server.refuse(SEND, code=2, topic=topic)
        producer.send([message(topic, "tried twice")])
        assert refused.hits == 1
        server.kill()
        server.restart()
        wait_until(lambda: sent(producer, topic), 60, "the producer finds the broker again", 0.5)
        # Messages that the killed server had not recorded as consumed are redelivered.
        wanted = {"now", "in two hours", "tried twice", "after all"}
        wait_until(lambda: {one.body for one in consumer.collect(4, 60)} == wanted, 60, "all have come", 0.5)


def sent(producer: object, topic: str) -> bool:
    """Return True if a message could be sent."""
    try:
        producer.send([message(topic, "after all")])  # type: ignore[attr-defined]
    except Exception:
        return False
    return True


def test_a_folder_outlives_its_broker(tmp_path: Path) -> None:
    """Files of a killed broker are read by its successor, and by a server started later."""
    folder = str(tmp_path / "data")
    with Server(data_dir=folder) as server:
        topic = server.create_topic("kept")
        with Producer("shop", server.namesrv, retry_times_when_send_failed=0) as producer:
            producer.send(Message(topic, "one"))
            server.kill()
            with pytest.raises(SendFailed):
                producer.send(Message(topic, "lost"), timeout=2)
            server.restart()
            producer.send(Message(topic, "two"))
    with Server(data_dir=folder) as server:
        assert [one.body for one in server.messages("kept")] == [b"one", b"two"]
