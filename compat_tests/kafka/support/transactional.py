"""Transactional producers and readers of Kafka's clients as Python objects."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from compat_tests.kafka.support.builds import KAFKA, java_program, python_of_the_clients
from compat_tests.support.artifacts import SMALL_JVM
from compat_tests.support.driver import Driver
from compat_tests.support.processes import Process
from compat_tests.support.runtime import LocalRuntime, Runtime

PROGRAMS = Path(__file__).parents[1] / "transactional"
ANSWER_SECONDS = 180.0
READ_SECONDS = 40.0


def _java(version: str) -> Callable[[Runtime, Runtime], Process]:
    def start(contained: Runtime, local: Runtime) -> Process:
        quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
        path = java_program(PROGRAMS / "java", "client", version)
        return contained.java([*SMALL_JVM, quiet, "-cp", path, "compat.kafka.TransactionalDriver"])

    return start


def _librdkafka(contained: Runtime, local: Runtime) -> Process:
    program = PROGRAMS / "python" / "librdkafka_transactions.py"
    return local.run([str(python_of_the_clients()), "-u", str(program)])


CLIENTS: Mapping[str, Callable[[Runtime, Runtime], Process]] = {
    f"java-{KAFKA}": _java(KAFKA),
    "java-3.9.1": _java("3.9.1"),
    "librdkafka": _librdkafka,
}
"""Clients: the first one speaks version 2 of transactions, the others version 1."""


class TransactionalProgram(Driver):
    """One process with a client in it."""

    _names: ClassVar = itertools.count(1)

    def __init__(self, client: str, contained: Runtime, local: LocalRuntime) -> None:
        self._runtimes = contained, local
        super().__init__(contained, client)

    def _start(self, runtime: Runtime, properties: Mapping[str, str]) -> Process:
        return CLIENTS[self.version](*self._runtimes)

    def producer(self, address: str, transactional_id: str, timeout: int = 60_000) -> TransactionalProducer:
        """Return a new producer of a transactional id, which fences earlier ones."""
        producer = TransactionalProducer(self, self.new_name("producer"))
        producer.ask("open", bootstrap=address, transactional=transactional_id, millis=timeout)
        return producer

    def read(
        self, address: str, topic: str, partition: int = 0, isolation: str = "read_committed"
    ) -> tuple[list[str], int]:
        """Return the values of a partition, and the end that readers of this isolation level see."""
        shape = self.ask(
            "read",
            ANSWER_SECONDS,
            bootstrap=address,
            topic=topic,
            partition=partition,
            isolation=isolation,
            millis=int(READ_SECONDS * 1000),
        )
        return shape["values"], shape["end"]

    def describe(self, address: str, transactional_id: str) -> dict[str, Any]:
        """Return what administrators see of a transactional id."""
        shape: dict[str, Any] = self.ask(
            "describe", ANSWER_SECONDS, bootstrap=address, transactional=transactional_id
        )
        return shape

    def join(self, address: str, group: str, topic: str) -> str:
        """Return the name of a new member of a group."""
        name = self.new_name("member")
        self.ask("join", ANSWER_SECONDS, name=name, bootstrap=address, group=group, topic=topic)
        return name

    def leave(self, member: str) -> None:
        """End a member."""
        self.ask("leave", ANSWER_SECONDS, name=member)


class TransactionalProducer:
    """A producer of a program."""

    def __init__(self, program: TransactionalProgram, name: str) -> None:
        self._program = program
        self._name = name

    def ask(self, op: str, **arguments: Any) -> Any:
        """Carry out an operation of the producer."""
        return self._program.ask(op, ANSWER_SECONDS, name=self._name, **arguments)

    def begin(self) -> None:
        """Begin a transaction."""
        self.ask("begin")

    def send(self, topic: str, values: Iterable[str], partitions: int = 1) -> list[int]:
        """Send values to partitions in turn; return their offsets."""
        offsets: list[int] = self.ask("send", topic=topic, values=list(values), partitions=partitions)
        return offsets

    def commit(self) -> None:
        """Commit the transaction."""
        self.ask("commit")

    def abort(self) -> None:
        """Abort the transaction."""
        self.ask("abort")

    def transact(
        self, topic: str, values: Iterable[str], *, commit: bool = True, partitions: int = 1
    ) -> None:
        """Send values in a transaction of their own."""
        self.begin()
        self.send(topic, values, partitions)
        self.commit() if commit else self.abort()

    def copy(self, member: str, target: str, *, commit: bool = True) -> list[str]:
        """Copy what a member reads to a topic with its offsets in one transaction; return the values."""
        millis = int(READ_SECONDS * 1000)
        values: list[str] = self.ask("copy", consumer=member, target=target, commit=commit, millis=millis)
        return values

    def close(self) -> None:
        """End the producer."""
        self.ask("close")
