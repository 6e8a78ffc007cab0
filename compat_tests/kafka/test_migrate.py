"""`mqgateway migrate kafka`: a cluster is copied while it is used, verified, and left without loss."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from compat_tests.kafka.support.clients import KafkaClient, Programs, wait_for_values
from compat_tests.kafka.support.servers import KafkaServer
from compat_tests.kafka.support.wire import Connection, create_topic, wait_for_coordinator
from compat_tests.support.peers import KINDS
from compat_tests.support.processes import wait_until

COMMAND = [sys.executable, "-c", "from mqgateway.gateway.cli.main import main; main()", "migrate", "kafka"]
COMMAND_SECONDS = 240
PARTITIONS = 2
HALF = 100
"""Records before the cut-over, and after it."""


class Migration:
    """The commands of one migration, which share a plan."""

    def __init__(self, folder: Path, name: str) -> None:
        self._plan = folder / f"{name}.json"
        self._log = folder / f"{name}.log"

    def plan(self, source: KafkaServer, target: KafkaServer, topic: str) -> None:
        """Write the plan; remarks about what is not moved are no failure."""
        self._run("plan", ["--from", source.address, "--to", target.address, "--topic", topic], (0, 3))

    def start(self) -> subprocess.Popen[bytes]:
        """Start the copy, which follows the source until it is interrupted."""
        with self._log.open("wb") as log:
            return subprocess.Popen([*COMMAND, "run", str(self._plan)], stdout=log, stderr=log)

    def finish(self) -> None:
        """Copy what is left, and end the migration."""
        self._run("run", ["--finish"])

    def verify(self) -> None:
        """Compare the records of both clusters."""
        self._run("verify")

    def _run(self, command: str, options: Sequence[str] = (), expected: Sequence[int] = (0,)) -> None:
        done = subprocess.run(
            [*COMMAND, command, str(self._plan), *options],
            capture_output=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )
        assert done.returncode in expected, (done.stdout + done.stderr).decode()


def has_records(server: KafkaServer, topic: str, count: int) -> bool:
    """Return True if each partition of a topic, which may not exist yet, has so many records."""
    asked = [{"partition_index": partition, "timestamp": -1} for partition in range(PARTITIONS)]
    with Connection(server.address) as connection:
        answer = connection.ask(
            "ListOffsets", 1, replica_id=-1, topics=[{"name": topic, "partitions": asked}]
        )
    return [one["offset"] for one in answer["topics"][0]["partitions"]] == [count] * PARTITIONS


@pytest.mark.both_servers
@pytest.mark.parametrize("kind_of_source", KINDS)
def test_clients_continue_at_the_copy_without_loss_or_repeats(
    programs: Programs, work: Path, name: str, kind_of_source: str
) -> None:
    """A copy is interrupted and finished; the group reads the rest at the target, each record once."""
    program, group = programs.get("librdkafka"), f"{name}-readers"
    rows = [
        {"key": f"k{n}", "value": f"v{n}", "headers": [["n", str(n)]], "partition": n % PARTITIONS}
        for n in range(4 * HALF)
    ]
    values = [str(row["value"]) for row in rows]
    first, second, third, fourth = (slice(at, at + HALF) for at in range(0, 4 * HALF, HALF))
    with KafkaServer(kind_of_source, work) as source, KafkaServer("ours", work) as target:
        for one in (source, target):
            wait_for_coordinator(one.address)
        here, there = (KafkaClient("librdkafka", program, one.address) for one in (source, target))
        create_topic(source.address, name, PARTITIONS, retention_ms="7200000")
        here.produce(name, rows[first], compression="lz4")
        with here.join(group, name) as member:
            wait_for_values([member], values[first])
            member.commit()

        migration = Migration(work, name)
        migration.plan(source, target, name)
        copying = migration.start()
        try:
            wait_until(lambda: has_records(target, name, HALF // 2), 60, "the first records")
            here.produce(name, rows[second], idempotent=True)
            wait_until(lambda: has_records(target, name, HALF), 60, "records of the running source")
        finally:
            copying.send_signal(signal.SIGINT)
            copying.wait(COMMAND_SECONDS)
        here.produce(name, rows[third], compression="zstd")
        migration.finish()
        migration.verify()
        there.produce(name, rows[fourth], idempotent=True)

        with there.join(group, name) as member:
            wait_for_values([member], [*values[second], *values[third], *values[fourth]])
        starts = dict.fromkeys(range(PARTITIONS), 0)
        assert set(here.consume(name, 3 * HALF, starts)) <= set(there.consume(name, 4 * HALF, starts))
