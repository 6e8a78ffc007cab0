"""Kafka Connect in distributed mode: file source and sink, restarts of the worker, offsets, exactly once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from compat_tests.kafka.support.clients import KafkaClient, Programs
from compat_tests.kafka.support.connect import Worker
from compat_tests.kafka.support.servers import KafkaServer
from compat_tests.kafka.support.wire import create_topic
from compat_tests.support.processes import wait_until

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]

SECONDS = 60.0
READ_SECONDS = 20.0
FLUSH_SECONDS = 3.0
"""Time in which a worker has stored the offsets of what it wrote."""
SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"


class Pipe:
    """A file that a source reads into a topic, and the file that a sink writes from it."""

    def __init__(self, worker: Worker, folder: Path, name: str) -> None:
        self.worker = worker
        self.name = name
        self._input = folder / f"{name}.in"
        self._output = folder / f"{name}.out"
        self._input.touch()
        self.sent: list[str] = []

    def configure(self) -> None:
        """Create both connectors."""
        self.worker.configure(
            f"{self.name}-source", connector_class=SOURCE, file=str(self._input), topic=self.name
        )
        self.worker.configure(
            f"{self.name}-sink", connector_class=SINK, file=str(self._output), topics=self.name
        )

    def append(self, count: int) -> None:
        """Append numbered lines to the input."""
        first = len(self.sent)
        lines = [f"line {number}" for number in range(first, first + count)]
        with self._input.open("a") as file:
            file.writelines(f"{line}\n" for line in lines)
        self.sent += lines

    def output(self) -> list[str]:
        """Return the lines of the output."""
        return self._output.read_text().splitlines() if self._output.exists() else []

    def wait_for_output(self) -> None:
        """Wait until every line is in the output."""
        wait_until(lambda: {*self.sent} <= {*self.output()}, SECONDS, "all lines")


@pytest.fixture
def new_pipe(server: KafkaServer, name: str, work: Path, tmp_path: Path) -> Iterator[Callable[..., Pipe]]:
    """A function that starts a worker and returns a pipe in it, with one partition so that order is kept."""
    workers: list[Worker] = []

    def make(**settings: str) -> Pipe:
        create_topic(server.address, name)
        chosen = {key.replace("_", "."): value for key, value in settings.items()}
        worker = Worker(work, server.address, f"{name}-connect", tmp_path, chosen)
        workers.append(worker)
        pipe = Pipe(worker.start(), tmp_path, name)
        pipe.configure()
        return pipe

    yield make
    for worker in workers:
        worker.kill()


def test_lines_go_from_file_to_file_and_a_restarted_worker_continues(new_pipe: Callable[..., Pipe]) -> None:
    pipe = new_pipe()
    pipe.append(200)
    pipe.wait_for_output()
    assert pipe.output() == pipe.sent
    pipe.worker.stop()
    pipe.append(200)
    pipe.worker.start()
    pipe.wait_for_output()
    assert pipe.output() == pipe.sent


def test_exactly_once_source_survives_a_kill_of_the_worker(
    new_pipe: Callable[..., Pipe], programs: Programs, server: KafkaServer
) -> None:
    pipe = new_pipe(exactly_once_source_support="enabled", consumer_isolation_level="read_committed")
    pipe.append(200)
    pipe.wait_for_output()
    pipe.append(2000)
    pipe.worker.kill()
    pipe.worker.start()
    pipe.wait_for_output()  # a file sink may write lines twice
    client = KafkaClient("librdkafka", programs.get("librdkafka"), server.address)
    records = client.consume(pipe.name, len(pipe.sent) + 1, seconds=READ_SECONDS)
    assert [record.value for record in records] == pipe.sent


def test_connectors_are_paused_reset_and_deleted(new_pipe: Callable[..., Pipe]) -> None:
    pipe = new_pipe()
    worker, source, sink = pipe.worker, f"{pipe.name}-source", f"{pipe.name}-sink"
    pipe.append(10)
    pipe.wait_for_output()
    time.sleep(FLUSH_SECONDS)
    (position,) = worker.offsets(source)
    assert position["offset"] == {"position": sum(len(line) + 1 for line in pipe.sent)}
    (position,) = worker.offsets(sink)
    assert position["offset"] == {"kafka_offset": 10}
    worker.ask("PUT", f"/connectors/{sink}/pause")
    worker.wait_for_tasks(sink, "PAUSED")
    worker.ask("PUT", f"/connectors/{sink}/resume")
    worker.wait_for_tasks(sink)
    worker.ask("PUT", f"/connectors/{sink}/stop")
    wait_until(lambda: not worker.ask("GET", f"/connectors/{sink}/status")["tasks"], SECONDS, "it stopped")
    worker.ask("DELETE", f"/connectors/{sink}/offsets")
    assert worker.offsets(sink) == []
    worker.ask("PUT", f"/connectors/{sink}/resume")
    worker.wait_for_tasks(sink)
    wait_until(lambda: pipe.output() == pipe.sent * 2, SECONDS, "the topic is read again")
    for connector in (source, sink):
        worker.ask("DELETE", f"/connectors/{connector}")
    wait_until(lambda: worker.ask("GET", "/connectors") == [], SECONDS, "no connectors")
