"""A coordinator of transactions in memory, with a log and markers that can be held up or refused."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count

from twisted.internet.defer import Deferred, fail, succeed
from twisted.python.failure import Failure

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.steps import Steps, run
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.coordinator.records_log import MemoryRecordsLog, NotWritten, Records
from mqgateway.gateway.kafka.transactions.coordinator import TxnCoordinator
from mqgateway.gateway.kafka.transactions.rules import EPOCH_BUMPS_SINCE, EndRequest, TxnRefused
from mqgateway.gateway.kafka.transactions.settings import DAY, TxnSettings
from mqgateway.gateway.kafka.transactions.status import ProducerEpoch, TopicPartition, TxnState
from tests.support.gateway.kafka.groups import end_with

Outcome = ProducerEpoch | ErrorCode | None


class HeldLog(MemoryRecordsLog):
    """A log that keeps its answers while `held` is a list, and refuses records while `refused` is set.

    A refused record is in the log all the same if `keeps_refused` is set.
    """

    def __init__(self) -> None:
        super().__init__()
        self.held: list[tuple[Deferred[int], int]] | None = None
        self.refused: NotWritten | None = None
        self.keeps_refused = False

    def append(self, records: Records) -> Deferred[int]:
        """See `RecordsLog`."""
        if self.refused is not None:
            if self.keeps_refused:
                super().append(records)
            return fail(self.refused)
        first = self.end
        done = super().append(records)
        if self.held is None:
            return done
        waiting: Deferred[int] = Deferred()
        self.held.append((waiting, first))
        return waiting

    def resume(self) -> None:
        """Answer what was kept, and what comes of it."""
        assert self.held is not None
        while self.held:
            waiting, first = self.held.pop(0)
            waiting.callback(first)


class MarkersInMemory:
    """Markers by partition, in their order; `broken` are partitions that refuse theirs."""

    def __init__(self) -> None:
        self.written: list[tuple[TopicPartition, ProducerEpoch, bool]] = []
        self.broken: set[TopicPartition] = set()
        self.held: list[Deferred[None]] | None = None

    def write(self, partition: TopicPartition, producer: ProducerEpoch, is_commit: bool) -> Deferred[None]:
        """See `MarkerWriter`."""
        if partition in self.broken:
            return fail(NotWritten(ErrorCode.KAFKA_STORAGE_ERROR, f"{partition} is broken"))
        self.written.append((partition, producer, is_commit))
        if self.held is None:
            return succeed(None)
        waiting: Deferred[None] = Deferred()
        self.held.append(waiting)
        return waiting

    def of(self, partition: TopicPartition) -> list[tuple[ProducerEpoch, bool]]:
        """Return the markers of a partition."""
        return [(producer, is_commit) for place, producer, is_commit in self.written if place == partition]


class TxnScene:
    """A coordinator with a clock that is moved by hand. Ids of producers are numbered from 100."""

    def __init__(
        self,
        settings: TxnSettings | None = None,
        *,
        log: HeldLog | None = None,
        markers: MarkersInMemory | None = None,
        clock: ManualClock | None = None,
        first_id: int = 100,
    ) -> None:
        self.settings = settings or TxnSettings()
        self.clock = clock or ManualClock()
        self.log = log or HeldLog()
        self.markers = markers or MarkersInMemory()
        self.ids = count(first_id)
        self.coordinator = TxnCoordinator(
            self.settings,
            self.clock,
            self.log,
            self.markers,
            new_id=lambda: next(self.ids),
            retention=lambda: 3 * DAY,
            run_steps=self._run_steps,
        )
        for _ in self.coordinator.load():
            pass

    def _run_steps(self, steps: Steps[Deferred[None] | None]) -> Deferred[None]:
        done: Deferred[None] = Deferred()
        end_with(run(steps), done)
        return done

    def restarted(self) -> TxnScene:
        """Return a coordinator of the same log and markers."""
        self.log.held = None
        return TxnScene(
            self.settings,
            log=self.log,
            markers=self.markers,
            clock=self.clock,
            first_id=next(self.ids) + 1000,
        )

    def pass_time(self, millis: int, step: int = 1000) -> None:
        """Let time pass, with its ticks."""
        for _ in range(0, millis, step):
            self.clock.advance(step)
            self.log.time = self.clock.millis()
            self.coordinator.tick()

    def init(
        self, name: str = "t", timeout: int = 60_000, expected: ProducerEpoch | None = None
    ) -> list[Outcome]:
        """Ask for a producer; return the list that the outcome comes to."""
        return outcome_of(self.coordinator.init(name, timeout, expected))

    def begun(self, name: str = "t", timeout: int = 60_000) -> ProducerEpoch:
        """Return the producer of a new client."""
        [producer] = self.init(name, timeout)
        assert isinstance(producer, ProducerEpoch), producer
        return producer

    def add(
        self, producer: ProducerEpoch, *partitions: TopicPartition, name: str = "t", version: int = 0
    ) -> list[Outcome]:
        """Add partitions."""
        return outcome_of(self.coordinator.add_partitions(name, producer, frozenset(partitions), version))

    def end(
        self,
        producer: ProducerEpoch,
        commit: bool = True,
        *,
        name: str = "t",
        version: int = EPOCH_BUMPS_SINCE,
    ) -> list[Outcome]:
        """End the transaction."""
        return outcome_of(self.coordinator.end(name, EndRequest(producer, commit, version)))

    def state(self, name: str = "t") -> TxnState | None:
        """Return the state of an id, None for an unknown one."""
        entry = self.coordinator.table.get(name)
        return None if entry is None or entry.status is None else entry.status.state


def outcome_of(done: Deferred[ProducerEpoch] | Deferred[None]) -> list[Outcome]:
    """Return the list that the value or the code of a request comes to."""
    outcomes: list[Outcome] = []

    def refused(failure: Failure) -> None:
        assert isinstance(failure.value, TxnRefused), failure
        outcomes.append(failure.value.code)

    done.addCallbacks(outcomes.append, refused)
    return outcomes


def places(topic: str, numbers: Iterable[int]) -> list[TopicPartition]:
    """Return partitions of a topic."""
    return [TopicPartition(topic, number) for number in numbers]
