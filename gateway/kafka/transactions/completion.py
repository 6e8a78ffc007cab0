"""The markers of prepared transactions, which are written until every partition has one.

Kafka: `TransactionMarkerChannelManager`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Final, Protocol

from twisted.internet.defer import Deferred, DeferredList
from twisted.python.failure import Failure

from mqgateway.engine.steps import PART, Steps, in_parts, run
from mqgateway.gateway.kafka.coordinator.commits import Runner
from mqgateway.gateway.kafka.transactions.status import ProducerEpoch, TopicPartition
from mqgateway.gateway.kafka.transactions.table import TxnEntry

log = logging.getLogger(__name__)

AT_ONCE: Final = 16
"""Partitions whose markers are written without yielding."""


class MarkerWriter(Protocol):
    """Writes the markers of transactions."""

    def write(self, partition: TopicPartition, producer: ProducerEpoch, is_commit: bool) -> Deferred[None]:
        """Write a marker, once or more than once; the outcome fires once it is as durable as the settings
        demand. It fails if it has to be tried again. A partition that is gone needs none."""
        ...


class _Ending:
    """A prepared transaction: the partitions that have no marker yet."""

    __slots__ = ("entry", "has_warned", "is_running", "left")

    def __init__(self, entry: TxnEntry, left: set[TopicPartition]) -> None:
        self.entry = entry
        self.left = left
        self.is_running = False
        self.has_warned = False


class TxnCompletion:
    """Prepared transactions of one coordinator. `finish` ends one whose markers are all written; what fails
    is tried again by `retry`."""

    def __init__(
        self,
        markers: MarkerWriter,
        run_steps: Runner[None],
        finish: Callable[[TxnEntry], Deferred[None]],
    ) -> None:
        self._markers = markers
        self._run_steps = run_steps
        self._finish = finish
        self._endings: dict[str, _Ending] = {}

    def __len__(self) -> int:
        return len(self._endings)

    def start(self, entry: TxnEntry) -> None:
        """Write the markers of a prepared transaction, and finish it."""
        assert entry.status is not None
        ending = self._endings[entry.id] = _Ending(entry, set(entry.status.partitions))
        self._run(ending)

    def retry(self) -> None:
        """Try again what has failed."""
        for ending in tuple(self._endings.values()):
            if not ending.is_running:
                self._run(ending)

    def clear(self) -> None:
        """Forget the transactions; markers that are on their way are written all the same."""
        self._endings.clear()

    def _run(self, ending: _Ending) -> None:
        ending.is_running = True
        is_short = len(ending.left) <= AT_ONCE
        written = run(self._writing(ending)) if is_short else self._run_steps(self._writing(ending))
        written.addCallback(lambda _: self._finish(ending.entry) if self._is_current(ending) else None)
        written.addCallbacks(self._finished, self._failed, callbackArgs=(ending,), errbackArgs=(ending,))

    def _writing(self, ending: _Ending) -> Steps[Deferred[None]]:
        """Write the markers that are missing, some at a time."""
        assert ending.entry.status is not None
        producer, is_commit = ending.entry.status.producer, ending.entry.status.is_commit
        writes: list[Deferred[None]] = []
        for part in in_parts(tuple(ending.left), PART):
            for partition in part:
                written = self._markers.write(partition, producer, is_commit)
                writes.append(written.addCallback(self._written, ending, partition))
            yield
        return DeferredList(writes, consumeErrors=True).addCallback(_first_failure)

    def _written(self, _: None, ending: _Ending, partition: TopicPartition) -> None:
        ending.left.discard(partition)

    def _is_current(self, ending: _Ending) -> bool:
        return self._endings.get(ending.entry.id) is ending

    def _finished(self, _: None, ending: _Ending) -> None:
        if self._is_current(ending):
            del self._endings[ending.entry.id]

    def _failed(self, failure: Failure, ending: _Ending) -> None:
        ending.is_running = False
        if self._is_current(ending) and not ending.has_warned:
            ending.has_warned = True
            log.warning(
                "the transaction of %r is not complete, %d partitions lack their marker: %s; "
                "this is tried again and again",
                ending.entry.id,
                len(ending.left),
                failure.getErrorMessage(),
            )


def _first_failure(outcomes: Iterable[tuple[bool, object]]) -> Failure | None:
    """Return the first failure of writes that have all ended, None if there is none."""
    return next((outcome for _, outcome in outcomes if isinstance(outcome, Failure)), None)
