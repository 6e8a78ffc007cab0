"""A queue that a lite pull consumer reads, and messages that came from it together."""

from __future__ import annotations

from typing import NamedTuple

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


class Batch(NamedTuple):
    """Messages of one pull, and the round in which they were pulled."""

    assigned: Assigned
    round: int
    messages: list[ReceivedMessage]

    def is_current(self) -> bool:
        """Whether the queue is still ours, and was not read from elsewhere since."""
        return not self.assigned.process.dropped and self.round == self.assigned.round
