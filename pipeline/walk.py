"""The reading of a range, pull by pull; pure.

An answer has its messages and the offset to continue from. Offsets may have gaps (records of other kinds,
damaged ones, filtered ones): the walk continues at the broker's offset, and ends at the end of its range.
Only three things mean that messages are lost: the queue begins after the requested offset, it ends before the
range does, or the requested offset is not in it. The queue of a static topic also has a gap wherever it
moved.

Pulls are prefetched, each beginning where the one before it will end if it is full; if it is not, the pulls
at wrong offsets are dropped.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from mqgateway.gateway.client.message import PullStatus
from mqgateway.pipeline.errors import DataLoss, PipelineError
from mqgateway.pipeline.planning import Range, report_loss, shown
from mqgateway.pipeline.static_topics import is_static

STALLS_MAX = 5
"""Number of consecutive answers without messages and progress after which a range is given up."""


class Answer(NamedTuple):
    """A broker's answer to a pull."""

    status: PullStatus
    next_offset: int
    min_offset: int
    max_offset: int
    body: bytes
    offset_delta: int = 0
    """Number to be added to offsets in the records, for queues of static topics."""


class RangeWalk:
    """The reading of one range. `ask` returns the next pulls, `take` follows an answer, until `is_done`."""

    def __init__(
        self, range_: Range, count: int, *, ahead: int, fail_on_data_loss: bool, is_filtered: bool
    ) -> None:
        self._range = range_
        self._count = count
        self._ahead = 1 if is_filtered else ahead
        self._fails = fail_on_data_loss
        self._is_static = is_static(range_.queue)
        self._stalls = 0
        self._step = count
        self._requested: deque[int] = deque()
        self.offset = range_.start
        self.epoch = 0
        """Incremented when pulls in flight become useless."""

    @property
    def is_done(self) -> bool:
        """True if the end is reached."""
        return self.offset >= self._range.end

    @property
    def needs_rest(self) -> bool:
        """True if the last answer made no progress, so that a delay before the next pull is better."""
        return self._stalls > 0

    def ask(self) -> list[tuple[int, int]]:
        """Return the pulls to send now, as offset and number of messages; they count as in flight from here
        on."""
        found = []
        following = self._requested[-1] + self._step if self._requested else self.offset
        while len(self._requested) < self._ahead and following < self._range.end:
            found.append((following, min(self._count, self._range.end - following)))
            self._requested.append(following)
            following += self._step
        return found

    def take(self, requested: int, answer: Answer) -> bool:
        """Follow an answer; return True if its body belongs to the walk. Raises `DataLoss`,
        `PipelineError`."""
        if not self._requested or requested != self._requested[0]:
            raise PipelineError(f"an answer for offset {requested} out of turn")
        self._requested.popleft()
        if answer.min_offset > requested and not self._is_between_items(answer):
            self._lost_before(requested, answer.min_offset)
            if answer.status is not PullStatus.FOUND:
                self._go(max(answer.min_offset, answer.next_offset))
                return False
        if answer.status is PullStatus.FOUND:
            self._stalls = 0
            step = answer.next_offset - requested
            if step <= 0:
                raise PipelineError(
                    f"{shown(self._range.queue)} gave messages at {requested} but leads to none"
                )
            self._step = min(step, self._count)
            self._go(answer.next_offset)
            return True
        if answer.next_offset > requested and answer.status is not PullStatus.OFFSET_ILLEGAL:
            self._stalls = 0
            self._go(answer.next_offset)
            return False
        self._stall(requested, answer)
        return False

    def forget_requested(self) -> None:
        """Forget all pulls in flight after a failure, so that they are sent again."""
        self._requested.clear()
        self.epoch += 1

    def _go(self, offset: int) -> None:
        self.offset = min(offset, self._range.end)
        if self._requested and self._requested[0] != self.offset:
            # Replies are not as full as before: wrong guesses cost more than they save.
            self._ahead = 1
            self.forget_requested()

    def _is_between_items(self, answer: Answer) -> bool:
        """Return True if the gap is one between two mapping items of a static topic's queue: a later one
        begins higher than the one before it ends. A lost offset is recognized only in the first item."""
        return self._is_static and answer.status is not PullStatus.OFFSET_ILLEGAL

    def _lost_before(self, requested: int, low: int) -> None:
        report_loss(
            f"{shown(self._range.queue)} begins at offset {low}, but {requested} is to be read", self._fails
        )

    def _stall(self, requested: int, answer: Answer) -> None:
        """Handle an answer without messages and progress: at the end of the queue, or a temporary one."""
        self.forget_requested()
        self._stalls += 1
        if self._stalls < STALLS_MAX:
            return
        queue, end = shown(self._range.queue), self._range.end
        if answer.max_offset >= end and self._fails:
            raise DataLoss(
                f"{queue} has no message at offset {requested}, though it ends at {answer.max_offset}"
            )
        report_loss(f"{queue} ends at offset {answer.max_offset}, but {end} is to be read", self._fails)
        self.offset = end
