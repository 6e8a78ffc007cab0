"""Kafka Streams: counts, joins, and state that comes back from its changelog topics."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from pathlib import Path

import pytest

from compat_tests.kafka.support.clients import KafkaClient, Programs
from compat_tests.kafka.support.frameworks import Framework, java_program
from compat_tests.kafka.support.servers import KafkaServer
from compat_tests.kafka.support.wire import create_topic, end_offset
from compat_tests.support.processes import wait_until

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]

PARTITIONS = 2
WORDS = ("broker", "topic", "offset", "record", "segment")
RUNNING_SECONDS = 90.0
OUTPUT_SECONDS = 60.0
QUIET_SECONDS = 2.0
GUARANTEES = ("at_least_once", "exactly_once_v2")


class Application:
    """An application of `StreamsApplication`, with its topics, on one server."""

    def __init__(self, client: KafkaClient, name: str, topology: str, guarantee: str, work: Path) -> None:
        self._work = work
        self._client = client
        self._name = name
        self.state = work / f"state-{name}"
        self._arguments = [client.address, name, str(self.state), guarantee, topology, name]

    def start(self) -> Framework:
        """Start the application, and wait until it processes records."""
        path = java_program("streams")
        application = Framework(self._work, path, "compat.kafka.StreamsApplication", self._arguments)
        try:
            application.wait_for(lambda lines: "state RUNNING" in lines, RUNNING_SECONDS, "it runs")
        except BaseException:
            application.kill()
            raise
        return application

    def send(self, what: str, values: list[str], *, timestamp: int | None = None) -> None:
        """Send values to an input topic; the key is the text before a colon."""
        now = int(time.time() * 1000) if timestamp is None else timestamp
        rows = [{"key": one.partition(":")[0], "value": one, "timestamp": now} for one in values]
        records = [{**row, "partition": partition_of(str(row["key"]))} for row in rows]
        self._client.produce(f"{self._name}-{what}", records)

    def output(self) -> list[str]:
        """Return the committed values of the output topic."""
        topic = f"{self._name}-output"
        ends = {
            partition: end_offset(self._client.address, topic, partition) for partition in range(PARTITIONS)
        }
        starts = dict.fromkeys((one for one, end in ends.items() if end), 0)
        if not starts:
            return []
        return [
            str(one.value) for one in self._client.consume(topic, sum(ends.values()), starts, QUIET_SECONDS)
        ]


def partition_of(key: str) -> int:
    """Return the partition of a key, the same in all topics of an application."""
    return sum(key.encode()) % PARTITIONS


@pytest.fixture(params=GUARANTEES)
def guarantee(request: pytest.FixtureRequest) -> str:
    """The processing guarantee of the application."""
    return str(request.param)


@pytest.fixture
def librdkafka(programs: Programs, server: KafkaServer) -> KafkaClient:
    """A client that sends input and reads output; its readers see committed records only."""
    return KafkaClient("librdkafka", programs.get("librdkafka"), server.address)


def new_application(client: KafkaClient, name: str, topology: str, guarantee: str, work: Path) -> Application:
    """Return an application with topics of its own."""
    for what in ("lines", "output") if topology == "count" else ("left", "right", "output"):
        create_topic(client.address, f"{name}-{what}", PARTITIONS)
    return Application(client, name, topology, guarantee, work)


def lines_of(first: int, count: int) -> list[str]:
    """Return numbered lines, each with two words after its key."""
    return [f"{n}: {WORDS[n % len(WORDS)]} {WORDS[n % 3]}" for n in range(first, first + count)]


def counts_of(lines: list[str]) -> list[str]:
    """Return the counts that an application writes for these lines if it counts each word once."""
    numbers = Counter(word for line in lines for word in line.split(" "))
    return sorted(f"{word}={n}" for word, number in numbers.items() for n in range(1, number + 1))


def wait_for_output(application: Application, expected: list[str]) -> None:
    """Wait until the output has all expected values, each exactly once, in any order."""
    wait_until(lambda: len(application.output()) >= len(expected), OUTPUT_SECONDS, f"{len(expected)} records")
    assert sorted(application.output()) == sorted(expected)


def restored(running: Framework) -> int:
    """Return the number of records that stores were restored from."""
    return sum(int(line.split()[-1]) for line in running.lines if line.startswith("restored "))


def check_has_no_failures(running: Framework) -> None:
    """Check that no thread of an application failed."""
    assert not [line for line in running.lines if line.startswith("failure ")]


def test_counts_continue_after_a_kill_and_the_loss_of_the_state_directory(
    librdkafka: KafkaClient, name: str, guarantee: str, work: Path
) -> None:
    application = new_application(librdkafka, name, "count", guarantee, work)
    sent = lines_of(0, 200)
    application.send("lines", sent)
    with application.start() as running:
        wait_for_output(application, counts_of(sent))
        time.sleep(QUIET_SECONDS)  # its last commit
        check_has_no_failures(running)
    shutil.rmtree(application.state)
    more = lines_of(200, 200)
    with application.start() as running:
        assert restored(running) >= len(WORDS)
        application.send("lines", more)
        wait_for_output(application, counts_of(sent + more))
        check_has_no_failures(running)
        assert running.end() == 0


def test_exactly_once_counts_survive_a_kill_in_the_middle_of_work(
    librdkafka: KafkaClient, name: str, work: Path
) -> None:
    application = new_application(librdkafka, name, "count", "exactly_once_v2", work)
    sent: list[str] = []
    for _ in range(3):
        more = lines_of(len(sent), 4000)
        sent += more
        before = len(application.output())
        with application.start():
            application.send("lines", more)
            wait_until(lambda: len(application.output()) > before, OUTPUT_SECONDS, "output", 0)  # noqa: B023
        shutil.rmtree(application.state)
    with application.start() as running:
        wait_for_output(application, counts_of(sent))
        check_has_no_failures(running)


def test_windowed_join_finds_partners_in_restored_windows(
    librdkafka: KafkaClient, name: str, guarantee: str, work: Path
) -> None:
    application = new_application(librdkafka, name, "join", guarantee, work)
    base = int(time.time() * 1000)
    keys = [f"k{n}" for n in range(20)]
    with application.start() as running:
        application.send("left", [f"{key}:left" for key in keys], timestamp=base)
        application.send("right", [f"{key}:right" for key in keys[:10]], timestamp=base + 60_000)
        expected = [f"{key}:left+{key}:right" for key in keys[:10]]
        wait_for_output(application, expected)
        time.sleep(QUIET_SECONDS)  # its last commit
        check_has_no_failures(running)
    shutil.rmtree(application.state)
    with application.start() as running:
        assert restored(running) >= len(keys)
        application.send("right", [f"{key}:right" for key in keys[10:]], timestamp=base + 120_000)
        application.send("right", [f"{key}:late" for key in keys], timestamp=base + 600_000)
        expected += [f"{key}:left+{key}:right" for key in keys[10:]]
        wait_for_output(application, expected)
        check_has_no_failures(running)
