"""From offsets to the ranges of tasks; pure.

A batch is a begin and an end for every queue. `ranges` makes ranges of them and applies the rule for lost
data; `split` divides ranges so that there are enough tasks; `limited` ends a micro-batch early; `carried`
keeps queues that no broker reports at the moment, so that none of their messages is skipped when they return.

The rule of `failOnDataLoss`: messages that retention removed before they were read, or offsets that went
back, fail the query. With false the query continues at the oldest message, or at the queue's new end.
RocketMQ: rocketmq-spark's `RocketMQSource.getBatch`, `rateLimit`.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import NamedTuple

from mqgateway.gateway.codec.bodies import MessageQueue
from mqgateway.pipeline.errors import DataLoss
from mqgateway.pipeline.offsets import EARLIEST, LATEST, Offsets

log = logging.getLogger(__name__)


class Bounds(NamedTuple):
    """The offsets of a queue's oldest message and of its next one."""

    low: int
    high: int


class Range(NamedTuple):
    """Offsets [start, end) of a queue, read by one task."""

    queue: MessageQueue
    start: int
    end: int

    @property
    def size(self) -> int:
        """The number of offsets; there are at most as many messages."""
        return self.end - self.start


def resolved(offsets: Mapping[MessageQueue, int], bounds: Mapping[MessageQueue, Bounds]) -> Offsets:
    """Return the offsets with the current numbers for the earliest and the latest."""
    found = {}
    for queue, offset in offsets.items():
        if offset == EARLIEST:
            offset = bounds[queue].low
        elif offset == LATEST:
            offset = bounds[queue].high
        found[queue] = offset
    return found


def carried(start: Mapping[MessageQueue, int], latest: Mapping[MessageQueue, int]) -> Offsets:
    """Return the newest offsets, and the old ones of queues that no broker reports now."""
    missing = set(start) - set(latest)
    if missing:
        log.warning("no broker has %s: waiting", ", ".join(map(shown, sorted(missing))))
    return {**start, **latest}


def limited(start: Mapping[MessageQueue, int], end: Mapping[MessageQueue, int], limit: int) -> Offsets:
    """Return an earlier end with about `limit` messages, shared among queues in proportion to their messages.

    New queues begin at 0. Less than one message is rounded up, so that no queue starves.
    """
    sizes = {queue: max(0, high - start.get(queue, 0)) for queue, high in end.items()}
    total = sum(sizes.values())
    if total <= limit:
        return dict(end)
    found = {}
    for queue, high in end.items():
        if not sizes[queue]:
            found[queue] = high
            continue
        share = limit * sizes[queue] / total
        count = math.ceil(share) if share < 1 else math.floor(share)
        found[queue] = min(high, start.get(queue, 0) + count)
    return found


def ranges(
    start: Mapping[MessageQueue, int],
    end: Mapping[MessageQueue, int],
    bounds: Mapping[MessageQueue, Bounds],
    fail_on_data_loss: bool,
) -> list[Range]:
    """Return the ranges between two sets of offsets. Queues missing in `start` began at 0.

    `bounds` may lack queues that cannot be reached now; their ranges are used unchanged. Raises `DataLoss`.
    """
    found = []
    for queue in sorted(end):
        low, high = start.get(queue, 0), end[queue]
        if high < low:
            report_loss(
                f"{shown(queue)} ends at offset {high}, but was read up to {low} before", fail_on_data_loss
            )
            continue
        known = bounds.get(queue)
        if known is not None and low < known.low and low < high:
            gone = f"{shown(queue)} begins at offset {known.low}, but {low} is to be read"
            report_loss(gone, fail_on_data_loss)
            low = min(known.low, high)
        if known is not None and known.high < high:
            report_loss(
                f"{shown(queue)} ends at offset {known.high}, but {high} is to be read", fail_on_data_loss
            )
            high = max(low, known.high)
        if low < high:
            found.append(Range(queue, low, high))
    return found


def split(whole: Iterable[Range], tasks: int, per_queue_max: int) -> list[Range]:
    """Split ranges so that there are about `tasks` or more, the larger ones into more parts."""
    whole = list(whole)
    total = sum(one.size for one in whole)
    if tasks <= len(whole) or not total:
        return whole
    parts = []
    for one in whole:
        count = min(max(1, round(one.size / total * tasks)), one.size, per_queue_max)
        cuts = [one.start + one.size * number // count for number in range(count + 1)]
        parts += [Range(one.queue, low, high) for low, high in pairwise(cuts)]
    return parts


def report_loss(what: str, fails: bool) -> None:
    """Report lost messages: raise `DataLoss`, or log a warning."""
    if fails:
        raise DataLoss(what)
    log.warning("%s; continuing without it", what)


def shown(queue: MessageQueue) -> str:
    """Return the name of a queue for errors."""
    return f"queue {queue.queue_id} of {queue.topic} on {queue.broker_name}"
