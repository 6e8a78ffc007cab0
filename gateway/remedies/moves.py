"""Moves of a consumer group to other offsets of a topic, and the moves that undo them; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple


class GroupPosition(NamedTuple):
    """The offset of a group in a queue that has messages from `begin` to before `end`.

    The offset is -1 if the group has consumed nothing of the queue.
    """

    broker: str
    queue_id: int
    begin: int
    end: int
    offset: int

    def move_to(self, offset: int) -> GroupMove:
        """Return the move to the offset of the queue that is closest to `offset`."""
        return GroupMove(self, min(max(offset, self.begin), self.end))

    def move_by(self, count: int) -> GroupMove:
        """Return the move by a number of messages; negative: backward."""
        return self.move_to(max(self.offset, self.begin) + count)


class GroupMove(NamedTuple):
    """A queue of which a group will consume `target` next."""

    position: GroupPosition
    target: int

    @property
    def is_change(self) -> bool:
        """True if the group does not have this offset yet."""
        return self.position.offset != self.target

    @property
    def distance(self) -> int:
        """The number of messages that the group skips; negative: that it consumes again."""
        return self.target - max(self.position.offset, 0)


def undoing(positions: Iterable[GroupPosition], before: Mapping[tuple[str, int], int]) -> list[GroupMove]:
    """Return the moves to the offsets before a move, by broker name and queue id. Other queues stay.

    A queue that has deleted messages since is moved to the oldest message that it has.
    """
    return [
        one.move_to(before[one.broker, one.queue_id])
        for one in positions
        if (one.broker, one.queue_id) in before
    ]
