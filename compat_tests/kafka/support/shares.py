"""Members of share groups of the Java client as Python objects: a program in a JVM, given JSON lines."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple

from compat_tests.kafka.support.builds import java_program
from compat_tests.support.artifacts import SMALL_JVM
from compat_tests.support.driver import Driver
from compat_tests.support.processes import Process
from compat_tests.support.runtime import Runtime

PROGRAM = Path(__file__).parents[1] / "sharing" / "java"
ANSWER_SECONDS = 120.0
PATIENCE_SECONDS = 40.0
QUIET_MILLIS = 1500
"""Time for which a scenario listens for records that must not come."""


class Shared(NamedTuple):
    """A record as a member of a share group receives it, with the number of its deliveries."""

    partition: int
    offset: int
    value: str
    deliveries: int


class ShareProgram(Driver):
    """One process with members of share groups in it."""

    def __init__(self, runtime: Runtime) -> None:
        super().__init__(runtime, "share")

    def _start(self, runtime: Runtime, properties: Mapping[str, str]) -> Process:
        quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
        path = java_program(PROGRAM, "client")
        return runtime.java([*SMALL_JVM, quiet, "-cp", path, "compat.kafka.ShareDriver"])

    def kill(self) -> None:
        """Kill the process."""
        self._process.kill()

    def produce(
        self,
        address: str,
        topic: str,
        values: Sequence[str],
        *,
        apart: bool = False,
        transaction: str | None = None,
        aborts: bool = False,
    ) -> None:
        """Send values to partition 0, in few batches or one in each, in a transaction if it has an id."""
        options = {"apart": apart, "transaction": transaction, "aborts": aborts}
        self.ask("produce", ANSWER_SECONDS, bootstrap=address, topic=topic, values=list(values), **options)

    def configure(self, address: str, group: str, **settings: str) -> None:
        """Change settings of a group, whose dots are underscores."""
        dotted = {name.replace("_", "."): value for name, value in settings.items()}
        self.ask("configure", ANSWER_SECONDS, bootstrap=address, group=group, settings=dotted)


class ShareMember:
    """A member of a share group, which reads one topic until it is closed.

    `settings` are the client's, whose dots are underscores.
    """

    _names: ClassVar[Iterator[int]] = itertools.count(1)

    def __init__(self, program: ShareProgram, address: str, group: str, topic: str, **settings: str) -> None:
        self._program = program
        self.name = f"member-{next(self._names)}"
        dotted = {name.replace("_", "."): value for name, value in settings.items()}
        places = {"bootstrap": address, "group": group, "topic": topic}
        program.ask("join", ANSWER_SECONDS, member=self.name, settings=dotted, **places)

    def poll(self, millis: int = 500) -> list[Shared]:
        """Return the next records; those before count as accepted unless the client acknowledges itself."""
        shapes = self._program.ask("poll", ANSWER_SECONDS, member=self.name, millis=millis)
        return [Shared(one["partition"], one["offset"], one["value"], one["count"]) for one in shapes]

    def receive(self, count: int, seconds: float = PATIENCE_SECONDS) -> list[Shared]:
        """Return at least so many records, which may take several polls."""
        found: list[Shared] = []
        end = time.monotonic() + seconds
        while len(found) < count:
            assert time.monotonic() < end, f"{len(found)} of {count} records came: {found}"
            found += self.poll()
        return found

    def acknowledge(self, record: Shared, kind: str) -> None:
        """Choose the outcome of a record: ACCEPT, RELEASE, REJECT or RENEW."""
        place = {"partition": record.partition, "offset": record.offset, "type": kind}
        self._program.ask("acknowledge", ANSWER_SECONDS, member=self.name, **place)

    def commit(self) -> list[str]:
        """Send acknowledgements; return the names of the errors of partitions."""
        errors: list[str] = self._program.ask("commit", ANSWER_SECONDS, member=self.name)
        return errors

    def close(self) -> None:
        """Leave the group."""
        self._program.ask("close", ANSWER_SECONDS, member=self.name)
