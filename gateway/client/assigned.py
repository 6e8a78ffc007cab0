"""A queue that a lite pull consumer reads, and messages that came from it together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mqgateway.gateway.client.iterating import Hand
from mqgateway.gateway.client.message import ReceivedMessage
from mqgateway.gateway.client.offsets import NONE
from mqgateway.gateway.client.process_queue import ProcessQueue
from mqgateway.gateway.codec.bodies import MessageQueue


class Assigned:
    """A queue that is read. `round` changes with every seek, so that answers to earlier pulls are known."""

    def __init__(self, queue: MessageQueue, process: ProcessQueue) -> None:
        self.queue = queue
        self.process = process
        self.is_paused = False
        self.pull_offset = NONE
        self.consumed = NONE
        self.round = 0


class PulledBatch(NamedTuple):
    """Messages of one pull, and the round in which they were pulled."""

    assigned: Assigned
    round: int
    messages: list[ReceivedMessage]

    def is_current(self) -> bool:
        """Return True if the queue is still assigned and was not read from another offset since."""
        return not self.assigned.process.dropped and self.round == self.assigned.round


class InHand:
    """The batch that a loop goes through, and how far the loop has come with it."""

    def __init__(self) -> None:
        self.hand = Hand((), lambda: False)
        self._batch: PulledBatch | None = None

    @property
    def batch(self) -> PulledBatch:
        """The batch; there is one when `newly_done` gives messages."""
        assert self._batch is not None
        return self._batch

    def begin(self, batch: PulledBatch) -> Hand:
        """Note that a loop goes through this batch now."""
        self._batch = batch
        self.hand = Hand(batch.messages, batch.is_current)
        return self.hand

    def newly_done(self) -> Sequence[ReceivedMessage]:
        """Messages that were handled since the last call; none of a queue that was read from elsewhere."""
        done, batch = self.hand.newly_done(), self._batch
        return done if batch is not None and batch.round == batch.assigned.round else ()

    def rest(self) -> PulledBatch | None:
        """Return the messages that the loop did not get, if any; the loop is over."""
        hand, batch = self.hand, self._batch
        self.hand, self._batch = Hand((), lambda: False), None
        if batch is None or hand.is_empty or not batch.is_current():
            return None
        return batch._replace(messages=list(hand.messages[hand.given :]))
