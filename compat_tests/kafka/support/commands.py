"""Kafka's own commands as a Python object, one JVM for command after command; and how outputs compare."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from compat_tests.kafka.support.builds import JAVA, java_program
from compat_tests.support.artifacts import SMALL_JVM
from compat_tests.support.processes import Process
from compat_tests.support.runtime import Runtime

COMMAND_SECONDS = 90
TOOLS = "org.apache.kafka.tools"
MAINS: Mapping[str, str] = {
    "topics": f"{TOOLS}.TopicCommand",
    "console-producer": f"{TOOLS}.ConsoleProducer",
    "console-consumer": f"{TOOLS}.consumer.ConsoleConsumer",
    "consumer-groups": f"{TOOLS}.consumer.group.ConsumerGroupCommand",
    "configs": "org.apache.kafka.tools.ConfigCommand",
    "get-offsets": f"{TOOLS}.GetOffsetShell",
    "delete-records": f"{TOOLS}.DeleteRecordsCommand",
    "log-dirs": f"{TOOLS}.LogDirsCommand",
    "producer-perf-test": f"{TOOLS}.ProducerPerformance",
    "consumer-perf-test": f"{TOOLS}.ConsumerPerformance",
    "verifiable-producer": f"{TOOLS}.VerifiableProducer",
    "verifiable-consumer": f"{TOOLS}.VerifiableConsumer",
    "client-metrics": f"{TOOLS}.ClientMetricsCommand",
    "features": f"{TOOLS}.FeatureCommand",
    "leader-election": f"{TOOLS}.LeaderElectionCommand",
    "metadata-quorum": f"{TOOLS}.MetadataQuorumCommand",
    "reassign-partitions": f"{TOOLS}.reassign.ReassignPartitionsCommand",
    "transactions": f"{TOOLS}.TransactionsCommand",
    "broker-api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
}
"""The classes that the scripts of these names start."""


class Output(NamedTuple):
    """Output of a command, and the status with which it ended."""

    out: str
    err: str
    exit: int


class Commands:
    """One JVM with Kafka's commands in it."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._java = [*SMALL_JVM, "-Dorg.slf4j.simpleLogger.defaultLogLevel=off", "-cp"]
        self._java.append(java_program(JAVA / "commands", "server"))
        self._process: Process = runtime.java([*self._java, "compat.kafka.CommandShell"])

    def run(self, address: str, command: str, *arguments: str, text: str = "") -> Output:
        """Run `kafka-<command>` against a server; `text` is its standard input."""
        request = {
            "main": MAINS[command],
            "arguments": ["--bootstrap-server", address, *arguments],
            "input": text,
        }
        stdin, stdout = self._process.popen.stdin, self._process.popen.stdout
        assert stdin is not None
        assert stdout is not None
        guard = threading.Timer(COMMAND_SECONDS, self._process.kill)
        guard.start()
        try:
            stdin.write(json.dumps(request).encode() + b"\n")
            stdin.flush()
            line = stdout.readline()
        finally:
            guard.cancel()
        if not line:
            raise RuntimeError(f"the commands ended during: {command} {' '.join(arguments)}")
        return Output(**json.loads(line))

    def run_apart(self, address: str, command: str, *arguments: str) -> str:
        """Run a command that prints from several threads, in a JVM of its own; returns what it printed."""
        process = self._runtime.java([*self._java, MAINS[command], "--bootstrap-server", address, *arguments])
        try:
            return process.popen.communicate(timeout=COMMAND_SECONDS)[0].decode()
        finally:
            process.kill()

    def close(self) -> None:
        """End the JVM."""
        if self._process.popen.stdin is not None:
            self._process.popen.stdin.close()
        self._process.kill()


PATTERNS = (
    (r"\n\tat [^\n]*", ""),
    (r"\b127\.0\.0\.1:\d+", "ADDRESS"),
    (r"/127\.0\.0\.1\b", "HOST"),
    (r"\b[A-Za-z0-9_-]+-[0-9a-f]{8}-[0-9a-f-]{27}\b", "MEMBER"),
    (r"(?<=TopicId: )\S+", "ID"),
    (r"\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[.,:]?\d*", "TIME"),
    (r"\b1\d{12}\b", "MILLIS"),
    (r'(?<="logDir":")[^"]+', "FOLDER"),
    (r'(?<="size":)\d+', "SIZE"),
    (r'(?<=Bytes":)-?\d+', "BYTES"),
    (r"(?<=id: )\d+(?= rack)", "NODE"),
    (r"(?<=[Ll]eader: )\d+", "NODE"),
    (r"(?<=Replicas: )\d+", "NODE"),
    (r"(?<=Isr: )\d+", "NODE"),
    (r'(?<="broker":)\d+', "NODE"),
    (r"ADDRESS \(\d+\)", "ADDRESS (NODE)"),
    (r"brokers? \d+\b", "broker NODE"),
    (r"[ \t]+", " "),
    (r" +(?=\n)", ""),
)
"""Text that may differ between two runs that print the same: addresses, ids, times, sizes, lines of
Java's stacks, and column widths."""


def normalised(text: str) -> str:
    """Return a command's output with what may differ replaced by its kind."""
    for pattern, replacement in PATTERNS:
        text = re.sub(pattern, replacement, text)
    return text.strip()


EXPECTED = Path(__file__).parents[1] / "outputs"
"""Outputs of the commands of a scenario on Apache's server, a file for each scenario."""


def check_printed(scenario: str, name: str, printed: Sequence[str], *, writes: bool) -> None:
    """Compare what commands printed with what they printed on Apache's server, or write that down."""
    text = "\n".join(printed).replace(name, "NAME") + "\n"
    path = EXPECTED / f"{scenario}.txt"
    if writes:
        EXPECTED.mkdir(exist_ok=True)
        path.write_text(text)
    assert text.splitlines() == path.read_text().splitlines()
