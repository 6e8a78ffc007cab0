"""Mapping items of static topics: which broker has which range of a queue.

A queue of a static topic has a number and offsets of its own; its messages are stored in queues of brokers,
one after the other. A `MappingItem` maps the offsets from `logic_offset` on to a queue of a broker, from
its offset `start_offset` on, up to `end_offset`. That is -1 in the last mapping item, the one that is written
to. Its broker leads the queue. The logic offset is -1 until it has been decided. Standard:
`LogicQueueMappingItem`, `TopicQueueMappingUtils`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from mqgateway.engine import json_members
from mqgateway.engine.errors import ConfigError, EngineError

LONG_BITS = json_members.LONG_BITS
LONG_MAX = 2**63 - 1


class MappingRefused(EngineError):
    """A mapping that makes no sense, or does not follow on the one before."""


@dataclass(slots=True)
class MappingItem:
    """One mapping item. Offsets as in the head of the file; times in ms, or -1."""

    gen: int
    queue_id: int
    broker_name: str
    logic_offset: int
    start_offset: int = 0
    end_offset: int = -1
    time_of_start: int = -1
    time_of_end: int = -1

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Raises `ConfigError`."""
        if not isinstance(value, Mapping):
            raise ConfigError("a mapping item of a queue is not an object")
        return cls(
            json_members.read(value, "gen", 0),
            json_members.read(value, "queueId", 0),
            json_members.read_name(value, "bname"),
            json_members.read(value, "logicOffset", 0, LONG_BITS),
            json_members.read(value, "startOffset", 0, LONG_BITS),
            json_members.read(value, "endOffset", -1, LONG_BITS),
            json_members.read(value, "timeOfStart", -1, LONG_BITS),
            json_members.read(value, "timeOfEnd", -1, LONG_BITS),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the members by RocketMQ's names."""
        return {
            "bname": self.broker_name,
            "endOffset": self.end_offset,
            "gen": self.gen,
            "logicOffset": self.logic_offset,
            "queueId": self.queue_id,
            "startOffset": self.start_offset,
            "timeOfEnd": self.time_of_end,
            "timeOfStart": self.time_of_start,
        }

    @property
    def has_end(self) -> bool:
        """Return True if nothing is added to it any more."""
        return self.end_offset > self.start_offset

    def logical(self, physical: int) -> int:
        """Return the static queue's offset for one of the broker's queue."""
        return min(LONG_MAX, self.logic_offset + max(0, physical - self.start_offset))

    def logical_inside(self, physical: int) -> int:
        """Return `logical(physical)`, limited to the end; -1 if the logic offset is not known. Standard:
        `computeStaticQueueOffsetLoosely`.
        """
        if self.logic_offset < 0:
            return -1
        if self.start_offset <= self.end_offset < physical:
            physical = self.end_offset
        return self.logical(physical)

    def physical(self, logical: int) -> int:
        """Return the offset in the broker's queue for one of the static queue."""
        return max(-LONG_MAX, min(LONG_MAX, logical - self.logic_offset + self.start_offset))

    @property
    def logical_end(self) -> int:
        """Return the static queue's offset after the last message, as far as the mapping item knows it."""
        return self.logical(self.end_offset)


def item_at(items: Sequence[MappingItem], logical: int) -> MappingItem | None:
    """Return the mapping item that contains an offset; the first one for an offset before all.

    Only mapping items whose logic offset is known count. Standard: `findLogicQueueMappingItem`.
    """
    known = [item for item in items if item.logic_offset >= 0]
    for item in reversed(known):
        if logical >= item.logic_offset:
            return item
    return known[0] if known else None


def item_after(items: Sequence[MappingItem], current: MappingItem) -> MappingItem | None:
    """Return the next mapping item whose logic offset is known. Standard: `findNext`."""
    later = (item for item in items if item.gen > current.gen and item.logic_offset >= 0)
    return min(later, key=lambda item: item.gen, default=None)


def check(items: Sequence[MappingItem]) -> None:
    """Raise `MappingRefused` for mapping items that cannot follow one another. Standard:
    `checkLogicQueueMappingItemOffset`.
    """
    later: MappingItem | None = None
    for item in reversed(items):
        if min(item.start_offset, item.gen, item.queue_id) < 0:
            raise MappingRefused("The field is illegal, should not be negative")
        if later is not None and item.logic_offset < 0:
            raise MappingRefused("The non-latest item has negative logic offset")
        if later is not None and item.gen >= later.gen:
            raise MappingRefused("The gen does not increase monotonically")
        if item.end_offset != -1 and item.end_offset < item.start_offset:
            raise MappingRefused("The endOffset is smaller than the start offset")
        if later is not None and later.logic_offset != -1:
            if item.logic_offset >= later.logic_offset:
                raise MappingRefused("The base logic offset does not increase monotonically")
            if item.logical_end >= later.logic_offset:
                raise MappingRefused("The max logic offset does not increase monotonically")
        later = item


def check_follows(before: Sequence[MappingItem], after: Sequence[MappingItem], is_same_epoch: bool) -> None:
    """Raise `MappingRefused` if mapping items change that may not. Standard:
    `makeSureLogicQueueMappingItemImmutable`.
    """
    if not before:
        return
    if not after:
        raise MappingRefused("The new item list is null or empty")
    known = {item.gen: item for item in before}
    for item in after:
        old = known.get(item.gen)
        if old is None:
            continue
        same = (item.broker_name, item.queue_id, item.start_offset)
        if same != (old.broker_name, old.queue_id, old.start_offset) or (
            old.logic_offset not in (-1, item.logic_offset)
        ):
            raise MappingRefused(f"The item of gen {item.gen} can not be changed")
    last, new = before[-1], after[-1]
    where = (last.gen, last.broker_name, last.queue_id, last.start_offset)
    if is_same_epoch and where != (new.gen, new.broker_name, new.queue_id, new.start_offset):
        raise MappingRefused("The new leader is different but epoch equal")
