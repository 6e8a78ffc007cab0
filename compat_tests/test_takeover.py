"""A store that changes hands: one server writes and ends, and another continues on its directory.

The first, or a newer one, then continues on the result. No acknowledged message is lost, whole bodies are
compared; groups resume exactly from the tables on disk; queries by key find old and new messages.
``MQGATEWAY_TAKEOVER_MESSAGES`` (1,200) is the number of messages; 150,000 are 50 topics with 100,000 messages
before the change of hands and 50,000 after it.
"""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import NamedTuple, ParamSpec, TypeVar

import pytest

from compat_tests.support.artifacts import CURRENT, OLD_SERVER
from compat_tests.support.driver import (
    PATIENCE_SECONDS,
    ClientError,
    PullConsumer,
    Queue,
    Received,
    message,
)
from compat_tests.support.mixture import Mixture, name_in
from compat_tests.support.mqadmin import Mqadmin, make_batched
from compat_tests.support.offset_table import offsets_on_disk
from compat_tests.support.peers import Peer, Peers
from compat_tests.support.processes import free_ports, wait_until
from compat_tests.support.servers import (
    BROKER_NAME,
    HOST,
    Part,
    Settings,
    apache_broker,
    our_broker,
    our_namesrv,
    wait_until_registered,
)

MESSAGES = int(os.environ.get("MQGATEWAY_TAKEOVER_MESSAGES", "1200"))
TOPICS = max(4, min(50, MESSAGES // 400))
POLL_SECONDS = max(2 * PATIENCE_SECONDS, MESSAGES // 200)
SETTINGS = {"mappedFileSizeCommitLog": str(16 << 20), "flushConsumerOffsetInterval": "500"}
WITH_MORE = {**SETTINGS, "enableConsumeQueueExt": "true", "enabledAppendPropCRC": "true"}
"""Tags with addresses into extra files, and records that end with a checksum."""
RETRIED = 5
QUEUES, BATCH_QUEUES = 4, 2
TAGS = ("red", "größer")
P = ParamSpec("P")
T = TypeVar("T")


class Home:
    """One directory, one address, one name server, and a changing broker."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self.folder = folder
        self.settings = settings
        self.tables = folder / "broker" / "store" / "config"
        namesrv_port = free_ports()
        self.namesrv_address = f"{HOST}:{namesrv_port}"
        self._port = free_ports((-2, 0, 1))
        self.broker_address = f"{HOST}:{self._port}"
        self._namesrv = our_namesrv(folder / "namesrv", namesrv_port)
        self._broker: Part | None = None

    def __enter__(self) -> Home:
        self._namesrv.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self.end("kill")
        self._namesrv.kill9()

    def begin(self, kind: str) -> None:
        """Start a broker: ``ours``, or Apache's ``apache-VERSION``."""
        folder = self.folder / "broker"
        if kind == "ours":
            self._broker = our_broker(folder, self._port, self.namesrv_address, self.settings)
        else:
            version = kind.removeprefix("apache-")
            self._broker = apache_broker(
                folder, self._port, self.namesrv_address, self.settings, version=version
            )
        self._broker.start()
        wait_until_registered(self.namesrv_address, {BROKER_NAME})

    def end(self, how: str) -> None:
        """End the broker: cleanly by ``stop``, at once by ``kill``."""
        if self._broker is not None:
            self._broker.stop() if how == "stop" else self._broker.kill9()
            self._broker = None

    def offsets(self, group: str) -> dict[tuple[str, int], int]:
        """Return the offsets of a group in the table on disk, by topic and queue."""
        table = offsets_on_disk(self.tables / "consumerOffset.json")
        found: dict[tuple[str, int], int] = {}
        for key, queues in table.items():
            topic, _, of = key.partition("@")
            if of == group:
                found |= {(topic, int(queue)): offset for queue, offset in queues.items()}
        return found


class Reader:
    """A group that reads all messages with pull consumers, and commits its offsets."""

    def __init__(self, peer: Peer, group: str, mixture: Mixture) -> None:
        self._peer = peer
        self.group = group
        self._mixture = mixture
        self.seen: set[str] = set()
        self.committed: dict[tuple[str, int], int] = {}

    def read_on(self, since: dict[tuple[str, int], int]) -> None:
        """Resume from the server's offsets, which must be ``since``; read until all sent messages came."""
        end = time.monotonic() + POLL_SECONDS
        with self._peer.pull(self.group) as consumer:
            for topic, names in self._mixture.acknowledged.items():
                queues = patiently(consumer.queues, topic)
                places = {queue: patiently(consumer.fetch_offset, queue) for queue in queues}
                for queue, offset in places.items():
                    assert max(0, offset) == since.get((topic, queue.queue_id), 0)
                while not names <= self.seen:
                    assert time.monotonic() < end, f"never came: {sorted(names - self.seen)[:5]}"
                    for queue, offset in places.items():
                        places[queue] = self._read_queue(consumer, queue, max(0, offset))
                for queue, offset in places.items():
                    wait_until(lambda: _commit(consumer, queue, offset), 20, "the offset is kept")  # noqa: B023
                    self.committed[topic, queue.queue_id] = offset

    def _read_queue(self, consumer: PullConsumer, queue: Queue, offset: int) -> int:
        end = patiently(consumer.max_offset, queue)
        while offset < end:
            pulled = patiently(consumer.pull, queue, offset)
            assert [one.queue_offset for one in pulled.messages] == list(range(offset, pulled.next_offset))
            names = {name_in(one.body) for one in pulled.messages}
            assert names.isdisjoint(self.seen - self._mixture.delayed)
            self.seen |= names
            offset = pulled.next_offset
        return offset


def patiently(question: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """Return the answer of a server; repeat the request for half a minute.

    The client's time limit is a few seconds, which may be too short on a busy machine.
    """
    end = time.monotonic() + 30
    while True:
        try:
            return question(*arguments, **named)
        except ClientError:
            if time.monotonic() > end:
                raise


def _commit(consumer: PullConsumer, queue: Queue, offset: int) -> bool:
    """Commit, which has no answer, and return True if the offset arrived."""
    patiently(consumer.update_offset, queue, offset)
    return patiently(consumer.fetch_offset, queue) == offset


class Pushed:
    """A group that reads messages of some tags in one topic, with one push consumer after the other."""

    def __init__(self, peer: Peer, group: str, mixture: Mixture) -> None:
        self._peer = peer
        self.group = group
        self._mixture = mixture
        self.topic = mixture.topics[0]
        self.seen: set[str] = set()

    def read_on(self, since: dict[tuple[str, int], int]) -> None:
        """Resume as `Reader.read_on` does."""
        wanted = {
            name for name in self._mixture.acknowledged[self.topic] if self._mixture.tags.get(name) in TAGS
        }
        end = time.monotonic() + POLL_SECONDS
        found: list[Received] = []
        missing = wanted - self.seen
        with self._peer.push(self.group, {self.topic: " || ".join(TAGS)}) as consumer:
            while missing:
                assert time.monotonic() < end, f"{len(missing)} never came, such as {sorted(missing)[:5]}"
                found = consumer.collect(len(found) + len(missing), 2)
                missing -= {name_in(one.body) for one in found}
        assert {one.tags for one in found} <= set(TAGS)
        places = Counter((one.queue_id, one.queue_offset) for one in found)
        assert max(places.values(), default=1) == 1
        for queue_id, offset in places:
            assert offset >= since.get((self.topic, queue_id), 0)
        self.seen |= {name_in(one.body) for one in found}


class Cast(NamedTuple):
    """Servers, clients and groups of a scenario."""

    home: Home
    peer: Peer
    admin: Mqadmin
    mixture: Mixture
    reader: Reader
    pushed: Pushed
    retry_group: str
    retry_topic: str


@pytest.mark.overlap
@pytest.mark.both_servers
@pytest.mark.timeout(max(600, MESSAGES // 50))
@pytest.mark.parametrize("how", ["kill", "stop"])
@pytest.mark.parametrize(
    "brokers",
    [
        (f"apache-{CURRENT}", "ours", f"apache-{CURRENT}"),
        ("ours", f"apache-{CURRENT}", "ours"),
        (f"apache-{OLD_SERVER}", "ours", f"apache-{CURRENT}"),
    ],
    ids=" ".join,
)
def test_a_store_changes_hands(brokers: tuple[str, str, str], how: str, peers: Peers) -> None:
    """Three brokers in a row on one directory, the first of them ended in the given way."""
    first, second, third = brokers
    folder = peers.work / f"takeover-{'-'.join(brokers)}-{how}-{time.time_ns()}"
    settings = WITH_MORE if how == "stop" else SETTINGS
    with Home(folder, settings) as home, closing(Mqadmin(peers.runtime)) as admin:
        home.begin(first)
        cast = assemble(home, peers, admin, is_old=OLD_SERVER in first)
        write_and_read_half(cast)
        home.end(how)
        home.begin(second)
        wait_until(lambda: is_routed(cast), 60, "the second broker has registered")
        finish_reading(cast)
        write_more(cast)
        home.end("stop")
        home.begin(third)
        wait_until(lambda: is_routed(cast), 60, "the third broker has registered")
        read_everything(cast)


def is_routed(cast: Cast) -> bool:
    """Return True if clients find all topics; brokers register a while after they are up."""
    mixture = cast.mixture
    return all(
        cast.peer.knows(topic, BATCH_QUEUES if topic == mixture.batched else QUEUES)
        for topic in mixture.acknowledged
    )


def assemble(home: Home, peers: Peers, admin: Mqadmin, *, is_old: bool) -> Cast:
    """Create topics and groups; an old server has an old client and no queues of batches."""
    version = "4.9.8" if is_old else CURRENT
    peer = Peer(home.namesrv_address, peers.driver(version), version)
    topics = [peer.topic("taken", QUEUES) for _ in range(TOPICS)]
    batched = None
    if not is_old:
        batched = peer.name("batched")
        make_batched(admin, peer, batched, home.broker_address, BATCH_QUEUES)
    mixture = Mixture(topics, batched, seed=MESSAGES)
    reader = Reader(peer, peer.name("readers"), mixture)
    pushed = Pushed(peer, peer.name("pushed"), mixture)
    return Cast(home, peer, admin, mixture, reader, pushed, peer.name("retried"), peer.topic("retried", 1))


def write_and_read_half(cast: Cast) -> None:
    """Write two thirds, of which both groups read half; some messages are left for a retry."""
    mixture, home = cast.mixture, cast.home
    with cast.peer.producer() as producer:
        mixture.send(producer, MESSAGES // 3)
        cast.reader.read_on({})
        cast.pushed.read_on({})
        producer.send([message(cast.retry_topic, f"again-{i}") for i in range(RETRIED)])
        with cast.peer.push(cast.retry_group, {cast.retry_topic: "*"}, failFirst=1) as consumer:
            assert len(consumer.collect(RETRIED)) == RETRIED
        wait_until(
            lambda: home.offsets(cast.reader.group) == cast.reader.committed, 60, "offsets are on disk"
        )
        wait_until(
            lambda: home.offsets(cast.retry_group).get((cast.retry_topic, 0)) == RETRIED,
            60,
            "offsets are on disk",
        )
        mixture.send(producer, MESSAGES // 3)
    cast.peer.close()


def finish_reading(cast: Cast) -> None:
    """Resume both groups, and receive the retries."""
    reader, pushed = cast.reader, cast.pushed
    reader.read_on(cast.home.offsets(reader.group))
    pushed.read_on(cast.home.offsets(pushed.group))
    with cast.peer.push(cast.retry_group, {cast.retry_topic: "*"}) as consumer:
        again = consumer.collect(RETRIED)
    assert {(one.body, one.reconsume_times) for one in again} == {(f"again-{i}", 1) for i in range(RETRIED)}


def write_more(cast: Cast) -> None:
    """Write the last third; messages of the first server are found by their keys."""
    check_queries(cast)
    with cast.peer.producer() as producer:
        cast.mixture.send(producer, MESSAGES // 3)
    cast.peer.close()


def check_queries(cast: Cast) -> None:
    """Check that messages are found by key."""
    with cast.peer.producer() as producer:
        for name, topic, key in cast.mixture.samples(8):
            found = patiently(producer.query, topic, key, 0, cast.mixture.last_sent + 60_000)
            assert name in {name_in(one.body) for one in found}, f"{key} of {topic}"


def read_everything(cast: Cast) -> None:
    """Check that every message is stored whole, without gaps in the offsets, and that groups resume."""
    mixture, reader = cast.mixture, cast.reader
    reader.read_on(cast.home.offsets(reader.group))
    with cast.peer.pull(cast.peer.name("auditors")) as consumer:
        for topic, names in mixture.acknowledged.items():
            found = Counter(
                name_in(body)
                for queue in patiently(consumer.queues, topic)
                for body in read_queue(consumer, queue)
            )
            assert set(found) == names
            assert {name for name, count in found.items() if count > 1} <= mixture.delayed
    check_queries(cast)
    command = ("queryMsgByKey", "-n", cast.home.namesrv_address)
    for _, topic, key in mixture.samples(2):
        # The tool's time limit for name servers is three seconds, which may be too short on a busy machine.
        wait_until(partial(lists_messages, cast.admin, *command, "-t", topic, "-k", key), 30, key)
    cast.peer.close()


def lists_messages(admin: Mqadmin, *command: str) -> bool:
    """Return True if the tool prints a line of a message."""
    return re.search(r"^[0-9A-F]{32,} +\d+ +\d+", admin.run(*command).out, re.MULTILINE) is not None


def read_queue(consumer: PullConsumer, queue: Queue) -> Iterator[str]:
    """Yield the bodies of a whole queue."""
    offset, end = patiently(consumer.min_offset, queue), patiently(consumer.max_offset, queue)
    while offset < end:
        pulled = patiently(consumer.pull, queue, offset)
        assert [one.queue_offset for one in pulled.messages] == list(range(offset, pulled.next_offset))
        yield from (one.body for one in pulled.messages)
        offset = pulled.next_offset
