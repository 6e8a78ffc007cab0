"""Which segments of a tier have expired, by the limits of the topics in them.

A segment has expired if all of it has: its messages are older than their topics keep, or their queue has
enough newer ones, or their topic was deleted. The entry of a queue in a range expires as a whole, by its
newest message. A segment that has expired gets a mark, as `removal` says.

The head of a range is read when it may have something expired, or when limits have changed since.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from mqgateway.engine.errors import CorruptFile
from mqgateway.engine.tier.directory import Key, read_head
from mqgateway.engine.tier.format.index import RangeHead
from mqgateway.engine.tier.format.names import TierNames
from mqgateway.engine.tier.object_store import ObjectMissing, ObjectStore
from mqgateway.engine.tier.ranges import RangeKey
from mqgateway.engine.tier.retention_classes import LimitsOf, TopicLimits
from mqgateway.engine.tier.survey import Survey

log = logging.getLogger(__name__)

_NEVER: Final = 1 << 62


class Judgement(NamedTuple):
    """Expired segments of a range, by their numbers; the time in ms at which further ones expire; and the
    bytes of each queue whose topic has a limit of bytes."""

    expired: frozenset[int]
    due: int
    sizes: dict[Key, int]


def judge(head: RangeHead, limits_of: LimitsOf, now: int, newer: Mapping[Key, int]) -> Judgement:
    """Return what has expired of a range at a time in ms. `newer` are bytes of queues in later ranges."""
    kept = set[int]()
    due = _NEVER
    sizes = Counter[Key]()
    for queue in reversed(head.queues):
        limits, key = limits_of(queue.topic), (queue.topic, queue.queue_id)
        if limits is None:
            continue
        later = newer.get(key, 0) + sizes[key]
        kept_millis, kept_size = limits
        if kept_size is not None:
            sizes[key] += sum(block.raw_size for block in queue.blocks)
            if later >= kept_size:
                continue
        if kept_millis is not None:
            if queue.last_time + kept_millis < now:
                continue
            due = min(due, queue.last_time + kept_millis + 1)
        kept.update(block.segment for block in queue.blocks)
    return Judgement(frozenset(entry.number for entry in head.segments) - kept, due, dict(+sizes))


@dataclass(slots=True)
class _Known:
    """The last judgement of a range, and the queues that had enough newer bytes then."""

    judgement: Judgement
    over: frozenset[Key] = frozenset()


class Expiry:
    """The ranges of one tier, judged again and again."""

    def __init__(self, store: ObjectStore, names: TierNames) -> None:
        self._store = store
        self._names = names
        self._limits: TopicLimits | None = None
        self._known: dict[RangeKey, _Known] = {}

    def look(self, found: Survey, limits: TopicLimits, now: int) -> Iterator[tuple[RangeKey, frozenset[int]]]:
        """Yield ranges with segments that have expired at a time in ms, and have no mark yet.

        Raises `ObjectStoreUnavailable`. A range whose index is damaged is left alone.
        """
        if limits != self._limits:
            self._known.clear()
            self._limits = limits
        self._known = {key: self._known[key] for key in found.ranges if key in self._known}
        newer = Counter[Key]()
        for key in reversed(found.ranges):
            known = self._known.get(key)
            if known is None or now >= known.judgement.due or _over(known, limits, newer) != known.over:
                known = self._known[key] = self._judged(found, key, limits, now, newer)
            if unmarked := known.judgement.expired - found.expired_in(key).keys():
                yield key, unmarked
            newer.update(known.judgement.sizes)

    def _judged(
        self, found: Survey, key: RangeKey, limits: TopicLimits, now: int, newer: Mapping[Key, int]
    ) -> _Known:
        name = self._names.range(*key)
        try:
            _, head = read_head(self._store, name, found.all_ranges[key])
        except (CorruptFile, ObjectMissing) as error:
            log.error("nothing of a range of the tier expires, since its index cannot be read: %s", error)
            return _Known(Judgement(frozenset(), _NEVER, {}))
        known = _Known(judge(head, limits.of, now, newer))
        known.over = _over(known, limits, newer)
        return known


def _over(known: _Known, limits: TopicLimits, newer: Mapping[Key, int]) -> frozenset[Key]:
    """Return the queues of a range whose later ranges have as many bytes as they keep."""
    return frozenset(
        key
        for key in known.judgement.sizes
        if (of := limits.of(key[0])) is not None and of.size is not None and newer.get(key, 0) >= of.size
    )
