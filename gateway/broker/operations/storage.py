"""The store of a broker: its folders, its log and the files of it, and the bytes that queues have in it.

None of it shows a message, so only `sizes`, which is long, takes a permit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

from twisted.internet.defer import Deferred

from mqgateway.engine.steps import Steps
from mqgateway.engine.store.administration import Positions
from mqgateway.engine.store.cold import ColdRead
from mqgateway.engine.store.cold_reading import read_in_steps
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.cold import brought
from mqgateway.gateway.broker.operations.gate import Gate, Permit, Runner
from mqgateway.gateway.broker.operations.uses import Use

T = TypeVar("T")

LANE: Final = "sizes"
"""Sizes are added up one request after another, except while units are loaded from the disk."""


class StoreState(NamedTuple):
    """The state of a store.

    `folders` are those of the log and of the consume queues. `oldest` is the store time of the oldest message
    in ms, -1 for none. `refusal` says why no message is accepted, empty if messages are. `damaged` are the
    records that readers found damaged since the start, by their offset in the log.
    """

    positions: Positions
    segment_count: int
    segment_size: int
    queue_count: int
    lmq_count: int
    folders: tuple[str, str]
    oldest: int
    was_clean: bool
    refusal: str
    damaged: Mapping[int, str]


class LogSegment(NamedTuple):
    """A file of the log: its first offset, its bytes in use, and when it was written last (ms).

    `written` is None if the file is gone. The last file `is_last`; all bytes in use of a file are durable
    (`is_flushed`), and in queues and index (`is_dispatched`).
    """

    start: int
    used: int
    written: int | None
    is_last: bool
    is_flushed: bool
    is_dispatched: bool


class StorageOperations:
    """The store of one broker as administrators see it."""

    def __init__(self, broker: Broker, gate: Gate, runner: Runner) -> None:
        self._broker = broker
        self._gate = gate
        self._runner = runner

    @property
    def folder(self) -> str:
        """The folder of the store."""
        return self._broker.store.root

    def usage(self, folder: str = "") -> tuple[int, int]:
        """Return the bytes of a file system that can be used, and those that are free.

        It is the one that has a folder of `state().folders`, by default the folder of the store.
        """
        return self._broker.environment.disk.usage(folder or self._broker.store.root)

    @property
    def sickness(self) -> str:
        """The fault for which the store accepts no messages, empty if there is none."""
        return self._broker.store.sickness

    def state(self) -> StoreState:
        """Return the state of the store."""
        store = self._broker.store
        admin = store.admin
        return StoreState(
            admin.positions(),
            len(admin.segments()),
            admin.segment_size,
            admin.queue_count,
            admin.lmq_count,
            admin.folders,
            store.earliest_store_time(),
            store.was_clean,
            store.refusal,
            dict(store.damaged),
        )

    def segments(self) -> list[int]:
        """Return the first offset of each file of the log, ascending."""
        return self._broker.store.admin.segments()

    def segment(self, start: int) -> LogSegment:
        """Return the state of the file of the log that starts at an offset."""
        admin = self._broker.store.admin
        positions, end = admin.positions(), start + admin.segment_size
        used_to = min(end, positions.end)
        return LogSegment(
            start,
            max(0, used_to - max(start, positions.first)),
            admin.segment_written(start),
            is_last=end > positions.end,
            is_flushed=positions.flushed >= used_to,
            is_dispatched=positions.dispatched >= used_to,
        )

    def sizes(self, permit: Permit, queues: Sequence[tuple[str, int]]) -> Deferred[list[int]]:
        """Return the bytes of the records that each queue has."""
        self._gate.enter(permit, Use.QUERY)
        return _Sizes(self._broker, self._runner, queues).run()


class _Sizes:
    """A sum of record sizes for each of some queues.

    It is resumed where it was once a worker has loaded the units that it reads next.
    """

    def __init__(self, broker: Broker, runner: Runner, queues: Sequence[tuple[str, int]]) -> None:
        self._broker = broker
        self._runner = runner
        self._task = self._count(queues)
        self._loading: Deferred[None] | None = None

    def run(self) -> Deferred[list[int]]:
        """Begin to count, or resume it."""
        return self._runner.run(LANE, self._steps())

    def _steps(self) -> Steps[list[int] | Deferred[list[int]]]:
        """Count up to the end, or until units must be loaded."""
        while self._loading is None:
            try:
                next(self._task)
            except StopIteration as end:
                sizes: list[int] = end.value
                return sizes
            yield
        loading, self._loading = self._loading, None
        return loading.addCallback(lambda _: self.run())

    def _count(self, queues: Sequence[tuple[str, int]]) -> Steps[list[int]]:
        found: list[int] = []
        for topic, queue_id in queues:
            found.append((yield from self._broker.store.sizes.size(topic, queue_id, self._reading)))
        return found

    def _reading(self, attempt: Callable[[bool], T]) -> Steps[T]:
        """Return the outcome of `attempt(may_wait)`, once what it needs is in memory."""
        return read_in_steps(attempt, self._load)

    def _load(self, cold: ColdRead) -> None:
        self._loading = brought(self._broker, cold)
