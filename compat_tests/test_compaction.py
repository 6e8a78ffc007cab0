"""Topics of which only the newest message of each key stays, on both servers and from one to the other."""

from __future__ import annotations

import struct
import time
from collections.abc import Iterable
from contextlib import closing

import pytest

from compat_tests.support.artifacts import CURRENT
from compat_tests.support.driver import Queue, Received, message
from compat_tests.support.mqadmin import Mqadmin
from compat_tests.support.peers import Peer, Peers
from compat_tests.support.processes import wait_until
from compat_tests.support.raw import RawConnection
from compat_tests.support.servers import BROKER_NAME
from compat_tests.test_takeover import Home
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.fields import camel_case
from mqgateway.gateway.codec.headers import SendMessageRequestHeaderV2

pytestmark = pytest.mark.overlap

SETTINGS = {
    "mappedFileSizeCommitLog": str(16 << 20),
    "compactionScheduleInternal": "2000",
    "compactionCqMappedFileSize": "4600",
    "compactionMappedFileSize": "4600",
}
"""Files of 99 messages or less, compacted every four seconds or so."""
BROKERS = {"apache": f"apache-{CURRENT}", "ours": "ours"}
KEYS = 10
EMPTY = struct.Struct(">5ih")
"""An element of a batch without a body: size, magic, checksum, flag, size of the body; of the properties."""
COMPACT_SECONDS = 40


def make(peers: Peers, peer: Peer, home: Home, topic: str) -> Queue:
    """A compacted topic with one queue."""
    with closing(Mqadmin(peers.runtime)) as admin:
        created = admin.run(
            *("updateTopic", "-n", home.namesrv_address, "-b", home.broker_address, "-t", topic),
            *("-r", "1", "-w", "1", "-a", "+cleanup.policy=COMPACTION"),
        )
    assert created.has_made_topic, created
    wait_until(lambda: peer.knows(topic, 1), 30, f"{topic} has a route")
    return Queue(topic, BROKER_NAME, 0)


def send(peer: Peer, queue: Queue, numbers: Iterable[int]) -> dict[str, str]:
    """Send messages, each a newer state of one of a few keys; the newest by key."""
    states = {f"key{number % KEYS}": f"state {number}" for number in numbers}
    with peer.producer() as producer:
        for number in numbers:
            key = f"key{number % KEYS}"
            producer.send_to(queue, [message(queue.topic, f"state {number}", keys=key)])
    return states


def delete(home: Home, queue: Queue, key: str) -> None:
    """Send an empty message, which clients refuse to send, and Apache's broker takes in a batch only."""
    fields = {
        "producerGroup": "deleters",
        "topic": queue.topic,
        "defaultTopic": "TBW102",
        "defaultTopicQueueNums": "4",
        "queueId": "0",
        "sysFlag": "0",
        "bornTimestamp": str(int(time.time() * 1000)),
        "flag": "0",
        "reconsumeTimes": "0",
        "unitMode": "false",
        "batch": "true",
    }
    letters = {camel_case(one.name): one.wire_name for one in SendMessageRequestHeaderV2.__fields__}
    properties = f"KEYS\1{key}\2".encode()
    element = EMPTY.pack(EMPTY.size + len(properties), 0, 0, 0, 0, len(properties)) + properties
    with RawConnection(home.broker_address) as connection:
        answer = connection.ask(
            RequestCode.SEND_BATCH_MESSAGE, {letters[name]: value for name, value in fields.items()}, element
        )
    assert answer is not None
    assert answer.code == 0, answer.remark


def begin_again(home: Home, kind: str, peer: Peer, queue: Queue) -> None:
    """Start a broker, and wait until clients hear of it: Apache's may register 10 seconds after it is up."""
    home.begin(kind)
    wait_until(lambda: peer.knows(queue.topic, 1), 30, "the broker is registered")


def read(peer: Peer, queue: Queue) -> list[Received]:
    """Everything that is left, from the first offset on."""
    found: list[Received] = []
    with peer.pull(peer.name("readers")) as consumer:
        offset = 0
        while True:
            pulled = consumer.pull(queue, offset)
            found += pulled.messages
            if pulled.status != "FOUND":
                return found
            offset = pulled.next_offset


def check_compacted(peer: Peer, queue: Queue, states: dict[str, str], sent: int) -> None:
    """Old states go in the end, the newest of each key never."""
    wait_until(lambda: len(read(peer, queue)) < sent // 2, COMPACT_SECONDS, "old states are gone", 1)
    left = read(peer, queue)
    assert {each.keys: each.body for each in left if each.body} == states
    offsets = [each.queue_offset for each in left]
    assert offsets == sorted(set(offsets))


def test_the_newest_state_of_each_key_stays(kind: str, peers: Peers) -> None:
    """Reads begin anywhere, a key is deleted by an empty message, a restart changes nothing."""
    with Home(peers.work / f"compaction-{kind}-{time.time_ns()}", SETTINGS) as home:
        home.begin(BROKERS[kind])
        peer = Peer(home.namesrv_address, peers.driver(CURRENT), CURRENT)
        queue = make(peers, peer, home, peer.name("states"))
        send(peer, queue, range(5))
        delete(home, queue, "gone")
        states = send(peer, queue, range(5, 400))
        check_compacted(peer, queue, states, 400)
        left = read(peer, queue)
        assert "gone" not in {each.keys for each in left}
        with peer.pull(peer.name("readers")) as consumer:
            middle = left[len(left) // 2].queue_offset
            pulled = consumer.pull(queue, middle)
            assert pulled.messages[0].queue_offset == middle
            assert consumer.pull(queue, left[0].queue_offset - 1).messages[0].body == left[0].body
        home.end("stop")
        begin_again(home, BROKERS[kind], peer, queue)
        assert {each.keys: each.body for each in read(peer, queue)} == states
        peer.close()


@pytest.mark.both_servers
@pytest.mark.parametrize("kinds", [(f"apache-{CURRENT}", "ours"), ("ours", f"apache-{CURRENT}")])
def test_compacted_files_change_hands(kinds: tuple[str, str], peers: Peers) -> None:
    """One server compacts and ends, the other reads on, adds to it and compacts again."""
    first, second = kinds
    with Home(peers.work / f"compaction-{first}-{second}-{time.time_ns()}", SETTINGS) as home:
        home.begin(first)
        peer = Peer(home.namesrv_address, peers.driver(CURRENT), CURRENT)
        queue = make(peers, peer, home, peer.name("states"))
        states = send(peer, queue, range(400))
        check_compacted(peer, queue, states, 400)
        home.end("stop")
        begin_again(home, second, peer, queue)
        left = read(peer, queue)
        assert {each.keys: each.body for each in left} == states
        assert len(left) < 200
        states = send(peer, queue, range(400, 800))
        check_compacted(peer, queue, states, len(left) + 400)
        peer.close()
