"""Kafka's own exactly-once programs while the broker is killed, paused and restarted every few seconds.

`MQGATEWAY_DISTURBED_SECONDS` is the length of a scenario. The programs need more time after it to finish.
"""

from __future__ import annotations

import itertools
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests.kafka.support import builds
from compat_tests.kafka.support.clients import KafkaClient, Programs
from compat_tests.kafka.support.disturbance import Disturbance
from compat_tests.kafka.support.frameworks import Framework, java_program
from compat_tests.kafka.support.servers import KafkaServer
from compat_tests.kafka.support.wire import create_topic, wait_for_coordinator

SECONDS = int(os.environ.get("MQGATEWAY_DISTURBED_SECONDS", "120"))
FINISH_SECONDS = 420.0
READ_SECONDS = 60
SEED = 932
PARTITIONS = 2
FLIGHT = 500
TRANSACTION = 50

pytestmark = [pytest.mark.long, pytest.mark.timeout(SECONDS + 2 * FINISH_SECONDS)]


@pytest.fixture
def own_server(kind: str, work: Path) -> Iterator[KafkaServer]:
    """A server that no other scenario uses."""
    with KafkaServer(kind, work) as server:
        wait_for_coordinator(server.address)
        yield server


@pytest.fixture
def our_server(work: Path) -> Iterator[KafkaServer]:
    """This server. On one node of Apache Kafka the smoke test did not pass while it was disturbed."""
    with KafkaServer("ours", work) as server:
        wait_for_coordinator(server.address)
        yield server


def test_smoke_test_of_streams_passes(our_server: KafkaServer, work: Path) -> None:
    """Kafka's StreamsSmokeTest with exactly_once_v2: windows, joins, suppressed tables, repartitioning."""
    settings = work / "smoke.properties"
    state = work / "smoke"
    chosen = {
        "bootstrap.servers": our_server.address,
        "processing.guarantee": "exactly_once_v2",
        "state.dir": str(state),
        "replication.factor": "1",
        "producer.transaction.timeout.ms": "60000",
    }
    settings.write_text("".join(f"{key}={value}\n" for key, value in chosen.items()))
    path = java_program("smoke")
    arguments = [our_server.address, str(SECONDS)]
    with Framework(work, path, "compat.kafka.SmokeDriver", arguments) as driver:
        driver.wait_for(lambda lines: "topics created" in lines, 60, "topics")
        main = "org.apache.kafka.streams.tests.StreamsSmokeTest"
        with Framework(work, path, main, [str(settings), "process"]) as application:
            with Disturbance(our_server, SEED) as disturbance:
                driver.wait_for(lambda lines: "input written" in lines, SECONDS * 2 + 120, "the input")
            assert not disturbance.failures
            assert disturbance.done
            driver.wait_for(
                lambda lines: {"verified", "wrong output"} & {*lines}, FINISH_SECONDS, "a verdict"
            )
            print("\n".join([*driver.lines[-20:], f"disturbed: {Counter(disturbance.done)}"]))
            assert "verified" in driver.lines
            assert not [line for line in application.lines if "SMOKE-TEST-CLIENT-EXCEPTION" in line]


class Feeder(threading.Thread):
    """Sends numbered values to all partitions in flights until it is stopped."""

    def __init__(self, client: KafkaClient, topic: str) -> None:
        super().__init__(daemon=True)
        self._client = client
        self._topic = topic
        self._ends = threading.Event()
        self.sent: list[str] = []
        self.failures: list[Exception] = []

    def run(self) -> None:
        """Send."""
        numbers = itertools.count()
        while not self._ends.wait(0.2):
            values = [f"{next(numbers):08}" for _ in range(FLIGHT)]
            records = [{"value": value, "partition": n % PARTITIONS} for n, value in enumerate(values)]
            try:
                self._client.produce(self._topic, records, idempotent=True)
            except Exception as failure:
                self.failures.append(failure)
                return
            self.sent += values

    def stop(self) -> None:
        """End after the current flight."""
        self._ends.set()
        self.join(FINISH_SECONDS)
        assert not self.is_alive()
        assert not self.failures


class Copier:
    """Kafka's TransactionalMessageCopier, started again and again; some turns are killed."""

    def __init__(self, work: Path, address: str, source: str, target: str) -> None:
        self._work = work
        self._chance = random.Random(SEED)
        options = {
            "broker-list": address,
            "input-topic": source,
            "input-partition": "-1",
            "output-topic": target,
            "consumer-group": f"{target}-group",
            "transactional-id": f"{target}-copier",
            "transaction-size": str(TRANSACTION),
            "transaction-timeout": "30000",
        }
        flags = ["--group-mode", "--use-group-metadata", "--enable-random-aborts"]
        self._arguments = [*(part for key, value in options.items() for part in (f"--{key}", value)), *flags]
        self.turns: Counter[str] = Counter()

    def copy(self, kill_after: float | None = None) -> None:
        """Copy what the source has now; a turn that is to be killed is not waited for."""
        main = "org.apache.kafka.tools.TransactionalMessageCopier"
        path = builds.class_path("server")
        with Framework(self._work, path, main, self._arguments) as running:
            if kill_after is not None and not running.ends(kill_after):
                self.turns["killed"] += 1
                return
            assert running.ends(FINISH_SECONDS), running.lines[-5:]
            assert running.end() == 0, running.lines[-5:]
            self.turns["finished"] += 1

    def copy_for(self, seconds: float) -> None:
        """Copy for this long; a third of the turns are killed."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            is_killed = self._chance.random() < 1 / 3
            self.copy(self._chance.uniform(3, 10) if is_killed else None)


def test_copies_have_each_record_once(
    work: Path, programs: Programs, own_server: KafkaServer, name: str
) -> None:
    """Kafka's TransactionalMessageCopier, which aborts at random: nothing lost, nothing twice, in order."""
    source, target = f"{name}-source", f"{name}-target"
    for topic in (source, target):
        create_topic(own_server.address, topic, PARTITIONS)
    client = KafkaClient("librdkafka", programs.start("librdkafka"), own_server.address)
    feeder = Feeder(client, source)
    copier = Copier(work, own_server.address, source, target)
    feeder.start()
    with Disturbance(own_server, SEED) as disturbance:
        copier.copy_for(SECONDS)
        feeder.stop()
    assert not disturbance.failures
    assert disturbance.done
    copier.copy()
    assert copier.turns["finished"] > 1
    copied = copied_values(client, target, len(feeder.sent))
    client.program.close()
    print(f"{len(feeder.sent)} records; copier: {copier.turns}; disturbed: {Counter(disturbance.done)}")
    for partition in range(PARTITIONS):
        assert copied[partition] == feeder.sent[partition::PARTITIONS], f"partition {partition}"


def copied_values(client: KafkaClient, topic: str, count: int) -> dict[int, list[str]]:
    """Return the committed values of each partition. It waits for one more than `count`."""
    copied: dict[int, list[str]] = {partition: [] for partition in range(PARTITIONS)}
    for one in client.consume(topic, count + 1, dict.fromkeys(range(PARTITIONS), 0), READ_SECONDS):
        copied[one.partition].append(str(one.value))
    return copied
