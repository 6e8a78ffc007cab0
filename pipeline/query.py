"""A query on the driver's side: begin, end, and ranges.

All offsets are fixed here, once for a batch and once for each micro-batch of a stream, and Spark records
them: a repeated batch reads the same ranges. A stream continues at the end of its last batch. Queues that
appear later begin at 0; those that disappear keep their offset.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from mqgateway.gateway.codec.bodies import MessageQueue
from mqgateway.pipeline.brokers import Brokers
from mqgateway.pipeline.errors import PipelineError
from mqgateway.pipeline.offsets import EARLIEST, LATEST, Offsets, Position, PositionKind
from mqgateway.pipeline.planning import Bounds, Range, carried, limited, ranges, resolved, split
from mqgateway.pipeline.pushdown import Narrowing
from mqgateway.pipeline.request import ReadRequest, needs_all_queues

log = logging.getLogger(__name__)


class Query:
    """The requests of a driver."""

    def __init__(self, request: ReadRequest, brokers: Brokers) -> None:
        self._request = request
        self._brokers = brokers
        self._frozen: Offsets | None = None

    def queues(self) -> list[MessageQueue]:
        """Return the current queues. Raises `PipelineError` if a named topic has none."""
        request = self._request
        if request.pattern is not None:
            return self._brokers.queues(self._brokers.topics(request.has))
        found = self._brokers.queues(request.topics)
        missing = set(request.topics) - {queue.topic for queue in found}
        if missing:
            listed = ", ".join(sorted(missing))
            raise PipelineError(f"no broker has the topic {listed}; create it, or correct the option topic")
        return found

    def batch(self, narrowing: Narrowing) -> list[Range]:
        """Return the ranges that the tasks of a batch read."""
        request, options = self._request, self._request.options
        queues = self.queues()
        needs_all_queues(request.start, "startingOffsets", queues)
        needs_all_queues(request.end, "endingOffsets", queues)
        queues = [queue for queue in queues if narrowing.has(queue)]
        bounds = self._brokers.bounds(queues)
        start = self._offsets(request.start, queues, bounds)
        end = self._offsets(request.end, queues, bounds)
        if request.start.kind in (PositionKind.TIME, PositionKind.TIMES):
            # With no message of that time or later before the given end, there is nothing to read.
            start = {queue: min(offset, end[queue]) for queue, offset in start.items()}
        found = ranges(start, end, bounds, options.fail_on_data_loss)
        found = narrowing.narrowed(found, self._brokers)
        return split(found, options.min_partitions, options.max_partitions_per_queue)

    def initial(self) -> Offsets:
        """Return the offsets at which a stream without a checkpoint begins."""
        queues = self.queues()
        needs_all_queues(self._request.start, "startingOffsets", queues)
        return self._offsets(self._request.start, queues, self._brokers.bounds(queues))

    def freeze(self) -> None:
        """End the stream at the current end of the queues."""
        self._frozen = self.newest()

    def newest(self) -> Offsets:
        """Return the current end of the queues."""
        return self._brokers.max_offsets(self._present())

    def next_end(self, start: Offsets, limit: int) -> Offsets:
        """Return the end of the next micro-batch: `limit` messages further (0: no limit), not beyond the
        frozen end."""
        end = carried(start, self.newest() if self._frozen is None else self._frozen)
        return limited(start, end, limit) if limit else end

    def stream(self, start: Offsets, end: Offsets) -> list[Range]:
        """Return the ranges that the tasks of a micro-batch read."""
        options = self._request.options
        moved = {queue: offset for queue, offset in end.items() if offset != start.get(queue, 0)}
        present = set(self._present())
        bounds = self._brokers.bounds(sorted(set(moved) & present))
        found = ranges(start, moved, bounds, options.fail_on_data_loss)
        return split(found, options.min_partitions, options.max_partitions_per_queue)

    def _present(self) -> list[MessageQueue]:
        """Return the current queues of the current topics."""
        request = self._request
        topics = request.topics or self._brokers.topics(request.has)
        return self._brokers.queues(topics)

    def _offsets(
        self, position: Position, queues: Iterable[MessageQueue], bounds: dict[MessageQueue, Bounds]
    ) -> Offsets:
        if position.kind is PositionKind.TIME:
            return self._brokers.offsets_by_time(dict.fromkeys(queues, position.time))
        if position.kind is PositionKind.TIMES:
            return self._brokers.offsets_by_time({queue: position.offsets[queue] for queue in queues})
        if position.kind is PositionKind.OFFSETS:
            return resolved({queue: position.offsets[queue] for queue in queues}, bounds)
        word = EARLIEST if position.kind is PositionKind.EARLIEST else LATEST
        return resolved(dict.fromkeys(queues, word), bounds)
