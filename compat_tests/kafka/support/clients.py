"""Kafka's clients as Python objects: programs that drive them, spoken to in JSON lines.

All programs serve the same operations, so that one scenario runs with every client. What a client lacks is
named in `CLIENTS`.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from compat_tests.kafka.support.builds import (
    CLIENT_VERSIONS,
    JAVA,
    PROGRAMS,
    go_driver,
    java_program,
    node_driver,
    python_of_the_clients,
    rust_driver,
)
from compat_tests.support.artifacts import SMALL_JVM
from compat_tests.support.driver import Driver
from compat_tests.support.processes import Process, wait_until
from compat_tests.support.runtime import LocalRuntime, Runtime

PATIENCE_SECONDS = 90.0
ANSWER_SECONDS = 180.0
"""Longer than an operation takes on a loaded machine, be it about a thousand partitions."""
SESSION_MILLIS = 6000
"""The least session timeout that a broker accepts by default."""
QUIET_SECONDS = 1.5
"""Time for which a scenario listens for records that must not come."""

Header = tuple[str, str | None]


@dataclass(frozen=True)
class Client:
    """A client program.

    Attributes:
        start: Starts the program, given the runtime for those that need nothing but Java or a Linux, and
            the runtime of this machine.
        compressions: The codecs it has.
        lacks: Features that it does not have: `cooperative`, `static`, `null_headers`, `consumer_protocol`.
            Scenarios marked with `needs` are left out.
    """

    start: Callable[[Runtime, Runtime], Process]
    compressions: tuple[str, ...] = ("none", "gzip", "snappy", "lz4", "zstd")
    lacks: frozenset[str] = frozenset()


def _java(version: str) -> Callable[[Runtime, Runtime], Process]:
    def start(contained: Runtime, local: Runtime) -> Process:
        path = java_program(JAVA / "driver", "client", version)
        quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
        return contained.java([*SMALL_JVM, quiet, "-cp", path, "compat.kafka.Driver"])

    return start


def _python(module: str) -> Callable[[Runtime, Runtime], Process]:
    def start(contained: Runtime, local: Runtime) -> Process:
        program = PROGRAMS / "python" / f"{module}.py"
        return local.run([str(python_of_the_clients()), "-u", str(program)])

    return start


def _go(name: str) -> Callable[[Runtime, Runtime], Process]:
    return lambda contained, local: contained.run([str(go_driver()), name])


def _node(contained: Runtime, local: Runtime) -> Process:
    return local.run(["node", str(node_driver())])


def _rust(contained: Runtime, local: Runtime) -> Process:
    return local.run([str(rust_driver())])


CLASSIC_ONLY = frozenset({"consumer_protocol"})
"""Features lacking in clients that have classic groups only, or the consumer protocol as a preview."""

CLIENTS: Mapping[str, Client] = {
    **{
        f"java-{version}": Client(_java(version), lacks=frozenset() if version[0] == "4" else CLASSIC_ONLY)
        for version in CLIENT_VERSIONS
    },
    "librdkafka": Client(_python("librdkafka_driver")),
    "kafka-python": Client(_python("kafka_python_driver"), lacks=CLASSIC_ONLY | {"null_headers"}),
    "aiokafka": Client(_python("aiokafka_driver"), lacks=CLASSIC_ONLY | {"cooperative"}),
    "franz-go": Client(_go("franz-go"), lacks=CLASSIC_ONLY),
    "sarama": Client(_go("sarama"), lacks=CLASSIC_ONLY | {"cooperative"}),
    "kafkajs": Client(_node, lacks=CLASSIC_ONLY | {"cooperative", "static", "null_headers"}),
    "rdkafka-rust": Client(_rust),
}


class Placed(NamedTuple):
    """Partition and offset of a written record; the offset is -1 if the client does not know it."""

    partition: int
    offset: int


class Received(NamedTuple):
    """A record as the client hands it to its user."""

    partition: int
    offset: int
    key: str | None
    value: str | None
    headers: tuple[Header, ...]
    timestamp: int


class Program(Driver):
    """One process with a client in it."""

    def __init__(self, client: str, contained: Runtime, local: Runtime) -> None:
        self._runtimes = contained, local
        super().__init__(contained, client)

    def _start(self, runtime: Runtime, properties: Mapping[str, str]) -> Process:
        return CLIENTS[self.version].start(*self._runtimes)

    def kill(self) -> None:
        """Kill the process."""
        self._process.kill()


class KafkaClient:
    """A client program beside one server."""

    def __init__(self, name: str, program: Program, address: str) -> None:
        self.name = name
        self.program = program
        self.address = address

    @property
    def compressions(self) -> tuple[str, ...]:
        """The codecs that the client has."""
        return CLIENTS[self.name].compressions

    def produce(
        self,
        topic: str,
        records: Sequence[Mapping[str, Any]],
        *,
        acks: str = "all",
        compression: str = "none",
        idempotent: bool = False,
    ) -> list[Placed]:
        """Send records; each has a value and perhaps key, headers, partition and timestamp."""
        options = {"acks": acks, "compression": compression, "idempotent": idempotent}
        shapes = self._ask("produce", topic=topic, records=list(records), **options)
        return [Placed(shape["partition"], shape["offset"]) for shape in shapes]

    def consume(
        self,
        topic: str,
        count: int,
        starts: Mapping[int, int] | None = None,
        seconds: float = PATIENCE_SECONDS,
    ) -> list[Received]:
        """Read partitions from given offsets (partition 0 from the first) until `count` records came."""
        asked = [list(start) for start in (starts or {0: 0}).items()]
        shapes = self._ask("consume", topic=topic, starts=asked, count=count, millis=int(seconds * 1000))
        return [received_of(shape) for shape in shapes]

    def offset_of(self, topic: str, timestamp: int, partition: int = 0) -> int:
        """Return the offset of the first record of that time or a later one."""
        return int(self._ask("offset", topic=topic, partition=partition, timestamp=timestamp))

    def join(self, group: str, topic: str, **options: Any) -> Member:
        """Return a new member of a group; see `Member`."""
        return Member(self, group, topic, **options)

    def _ask(self, op: str, **arguments: Any) -> Any:
        return self.program.ask(op, ANSWER_SECONDS, bootstrap=self.address, **arguments)


class Member:
    """A member of a group, which reads one topic until it is closed.

    Args:
        assignor: `range`, `roundrobin` or `cooperative`; with the consumer protocol `uniform` or `range`.
        protocol: `classic`, or `consumer` for KIP-848.
        instance: The name of a static member.
        start: Where a new group begins: `earliest` or `latest`.
    """

    _names: ClassVar[Iterator[int]] = itertools.count(1)

    def __init__(
        self,
        client: KafkaClient,
        group: str,
        topic: str,
        *,
        assignor: str = "range",
        instance: str | None = None,
        start: str = "earliest",
        protocol: str = "classic",
    ) -> None:
        self._client = client
        self.name = f"member-{next(self._names)}"
        self.records: list[Received] = []
        self.revoked = 0
        self._assignment: list[int] = []
        self._is_open = True
        options = {"assignor": assignor, "instance": instance, "from": start, "session": SESSION_MILLIS}
        options["protocol"] = protocol
        self._ask("join", bootstrap=client.address, group=group, topic=topic, **options)

    def poll(self) -> Member:
        """Take what came since the last time; returns itself."""
        if self._is_open:
            shape = self._ask("taken")
            self._assignment = sorted(shape["assignment"])
            self.revoked = shape["revoked"]
            self.records += [received_of(one) for one in shape["records"]]
        return self

    @property
    def assignment(self) -> list[int]:
        """The partitions that the member has now."""
        return self.poll()._assignment

    @property
    def values(self) -> list[str | None]:
        """The values received so far."""
        return [record.value for record in self.poll().records]

    def commit(self) -> None:
        """Commit what was received."""
        self._ask("commit")

    def close(self) -> None:
        """Leave the group."""
        if self._is_open:
            self.poll()
            self._is_open = False
            self._ask("leave")

    def _ask(self, op: str, **arguments: Any) -> Any:
        return self._client.program.ask(op, name=self.name, **arguments)

    def __enter__(self) -> Member:
        return self

    def __exit__(self, *failure: object) -> None:
        if not self._client.program.has_ended:
            self.close()


def wait_for_values(members: Collection[Member], values: Collection[str], *, exactly: bool = True) -> None:
    """Wait until these values came, each once unless told otherwise, and nothing else."""

    def received() -> list[str | None]:
        return [value for member in members for value in member.values]

    wait_until(lambda: set(values) <= set(received()), PATIENCE_SECONDS, f"{len(values)} values")
    time.sleep(QUIET_SECONDS if exactly else 0)
    assert not exactly or sorted(map(str, received())) == sorted(values)


def wait_for_assignment(
    members: Sequence[Member], partitions: int, seconds: float = PATIENCE_SECONDS
) -> None:
    """Wait until members have all partitions among them, each about as many."""
    fair = partitions // len(members)

    def is_fair() -> bool:
        assigned = [member.assignment for member in members]
        every = sorted(one for some in assigned for one in some)
        return every == list(range(partitions)) and all(len(some) >= fair for some in assigned)

    wait_until(is_fair, seconds, f"{len(members)} members share {partitions} partitions")


def received_of(shape: Mapping[str, Any]) -> Received:
    """Return a record of a program's answer."""
    headers = tuple((name, value) for name, value in shape["headers"])
    return Received(**{**shape, "headers": headers})


class Programs:
    """The client programs of a run: one JVM at a time, the others stay."""

    def __init__(self, contained: Runtime, local: LocalRuntime) -> None:
        self._runtimes = contained, local
        self._programs: dict[str, Program] = {}

    def get(self, name: str) -> Program:
        """Return the program of a client; it is started if it does not run."""
        if name not in self._programs or self._programs[name].has_ended:
            for other in list(self._programs):
                if other != name:
                    self._programs.pop(other).close()
            self._programs[name] = self.start(name)
        return self._programs[name]

    def start(self, name: str) -> Program:
        """Return one more process of a client; its user ends it."""
        return Program(name, *self._runtimes)

    def close(self) -> None:
        """End all programs."""
        for program in self._programs.values():
            program.close()
        self._programs.clear()
