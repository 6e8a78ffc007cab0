"""Transactions of Kafka's clients: commit, abort, fencing, time-outs, offsets, and a killed broker."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests.kafka.support.builds import KAFKA
from compat_tests.kafka.support.servers import KafkaServer
from compat_tests.kafka.support.transactional import CLIENTS, TransactionalProgram
from compat_tests.kafka.support.wire import create_topic, wait_for_coordinator
from compat_tests.support.driver import ClientError
from compat_tests.support.peers import Peers
from compat_tests.support.processes import wait_until
from compat_tests.support.runtime import LocalRuntime
from compat_tests.support.selection import KAFKA_CLIENTS

FENCED = (22, 47, 48, 90, -144)
"""Codes with which clients say that a newer producer has their id; librdkafka has one of its own."""
UNCOMMITTED = "read_uncommitted"
ROUNDS = 5
TIMEOUT_SECONDS = 40


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=() if name in KAFKA_CLIENTS else pytest.mark.long) for name in CLIENTS],
)
def program(request: pytest.FixtureRequest, peers: Peers, work: Path) -> Iterator[TransactionalProgram]:
    """A client program."""
    program = TransactionalProgram(request.param, peers.runtime, LocalRuntime(work))
    yield program
    program.close()


@pytest.fixture
def topic(server: KafkaServer, name: str) -> str:
    """A topic of two partitions."""
    create_topic(server.address, name, 2)
    return name


def values(name: str, count: int = 10) -> list[str]:
    """Return numbered values."""
    return [f"{name}-{number}" for number in range(count)]


def test_readers_of_committed_records_see_whole_transactions_only(
    program: TransactionalProgram, server: KafkaServer, topic: str
) -> None:
    producer = program.producer(server.address, topic)
    producer.begin()
    producer.send(topic, values("open"), 2)
    assert program.read(server.address, topic) == ([], 0)
    seen, _ = program.read(server.address, topic, 0, UNCOMMITTED)
    assert seen == values("open")[::2]
    producer.commit()
    wait_until(lambda: program.read(server.address, topic)[1] == 6, 20, "the commit is seen")
    assert program.read(server.address, topic) == (values("open")[::2], 6)
    wait_until(lambda: program.read(server.address, topic, 1)[1] == 6, 20, "the commit is seen")
    assert program.read(server.address, topic, 1) == (values("open")[1::2], 6)
    producer.close()


def test_aborted_transactions_are_seen_by_readers_of_all_records_only(
    program: TransactionalProgram, server: KafkaServer, topic: str
) -> None:
    producer = program.producer(server.address, topic)
    for number in range(4):
        producer.transact(topic, values(f"t{number}", 3), commit=number % 2 == 1)
    wait_until(lambda: program.read(server.address, topic)[1] == 16, 20, "the last marker is written")
    assert program.read(server.address, topic)[0] == values("t1", 3) + values("t3", 3)
    everything = [value for number in range(4) for value in values(f"t{number}", 3)]
    assert program.read(server.address, topic, 0, UNCOMMITTED)[0] == everything
    producer.close()


def test_transaction_without_records_is_committed_and_aborted(
    program: TransactionalProgram, server: KafkaServer, topic: str
) -> None:
    producer = program.producer(server.address, topic)
    for commit in (True, False, True):
        producer.transact(topic, [], commit=commit)
    producer.transact(topic, ["one"])
    wait_until(lambda: program.read(server.address, topic)[0] == ["one"], 20, "the commit is seen")
    producer.close()


def test_new_producer_aborts_the_transaction_of_the_old_one_and_fences_it(
    program: TransactionalProgram, server: KafkaServer, topic: str
) -> None:
    old = program.producer(server.address, topic)
    old.begin()
    old.send(topic, ["old"])
    new = program.producer(server.address, topic)
    new.transact(topic, ["new"])
    with pytest.raises(ClientError) as failure:
        old.commit()
    assert failure.value.code is None or failure.value.code in FENCED
    wait_until(lambda: program.read(server.address, topic)[0] == ["new"], 20, "the commit is seen")
    new.close()


def test_transaction_that_nobody_ends_is_aborted_after_its_timeout(
    program: TransactionalProgram, server: KafkaServer, topic: str
) -> None:
    forgotten = program.producer(server.address, f"{topic}-forgotten", timeout=5000)
    forgotten.begin()
    forgotten.send(topic, ["forgotten"])
    other = program.producer(server.address, topic)
    other.transact(topic, ["kept"])
    assert program.read(server.address, topic)[0] == []
    wait_until(
        lambda: program.read(server.address, topic)[0] == ["kept"], TIMEOUT_SECONDS, "the timeout has passed"
    )
    with pytest.raises(ClientError):
        forgotten.commit()
    other.close()


def test_offsets_are_committed_with_the_records_that_were_written(
    program: TransactionalProgram, server: KafkaServer, topic: str
) -> None:
    target = f"{topic}-target"
    create_topic(server.address, target, 2)
    source = program.producer(server.address, f"{topic}-source")
    source.transact(topic, values("v", 20), partitions=2)
    member = program.join(server.address, topic, topic)
    producer = program.producer(server.address, topic)
    aborted = producer.copy(member, target, commit=False)
    assert aborted
    copied: list[str] = []
    while len(copied) < 20:
        received = producer.copy(member, target)
        assert received
        copied += received
    assert sorted(copied) == sorted(values("v", 20))
    program.leave(member)
    source.transact(topic, ["late"])
    member = program.join(server.address, topic, topic)
    assert producer.copy(member, target) == ["late"]
    program.leave(member)

    def written() -> list[str]:
        return [one for partition in range(2) for one in program.read(server.address, target, partition)[0]]

    wait_until(lambda: len(written()) == 21, 20, "the last commit is seen")
    assert sorted(written()) == sorted([*values("v", 20), "late"])
    producer.close()
    source.close()


@pytest.mark.parametrize("program", [f"java-{KAFKA}"], indirect=True)
def test_administrators_see_transactions(
    program: TransactionalProgram, server: KafkaServer, topic: str
) -> None:
    producer = program.producer(server.address, topic)
    empty = program.describe(server.address, topic)
    assert empty == {"listed": "Empty", "state": "Empty", "timeout": 60_000, "partitions": []}
    producer.begin()
    producer.send(topic, values("open"), 2)
    open_one = program.describe(server.address, topic)
    assert (open_one["listed"], open_one["state"]) == ("Ongoing", "Ongoing")
    assert open_one["partitions"] == [f"{topic}-0", f"{topic}-1"]
    producer.abort()

    def is_complete() -> bool:
        return bool(program.describe(server.address, topic)["state"] == "CompleteAbort")

    wait_until(is_complete, 20, "the abort is complete")
    producer.close()


def test_transactions_survive_a_server_that_is_killed(
    program: TransactionalProgram, kind: str, work: Path
) -> None:
    with KafkaServer(kind, work) as server:
        wait_for_coordinator(server.address)
        create_topic(server.address, "t", 2)
        producer = program.producer(server.address, "survivor", 120_000)
        committed: list[str] = []
        for number in range(ROUNDS):
            producer.transact("t", values(f"c{number}", 6), partitions=2)
            committed += values(f"c{number}", 6)
            producer.begin()
            producer.send("t", values(f"o{number}", 6), 2)
            server.kill9()
            server.start()
            wait_for_coordinator(server.address)
            if number % 2:
                producer.commit()
                committed += values(f"o{number}", 6)
            else:
                producer.abort()

        def seen() -> list[str]:
            return [one for partition in range(2) for one in program.read(server.address, "t", partition)[0]]

        end = time.monotonic() + 30
        while len(seen()) < len(committed) and time.monotonic() < end:
            time.sleep(0.5)
        assert sorted(seen()) == sorted(committed)
        producer.close()
