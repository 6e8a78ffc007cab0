"""Queues of a topic to send to, in round-robin order; no I/O. RocketMQ: `TopicPublishInfo`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mqgateway.gateway.codec.bodies import MessageQueue

Condition = Callable[[MessageQueue], bool]


class PublishInfo:
    """Queues in round-robin order from `start`, which should differ between producers."""

    def __init__(self, queues: Sequence[MessageQueue], start: int) -> None:
        self.queues = tuple(queues)
        self._turn = start

    def choose(self, *conditions: Condition) -> MessageQueue | None:
        """Return the next queue that meets all conditions; None if no queue does."""
        queues = self.queues
        for _ in range(len(queues)):
            self._turn += 1
            queue = queues[self._turn % len(queues)]
            if not conditions or all(condition(queue) for condition in conditions):
                return queue
        return None

    def restart(self, turn: int) -> None:
        """Continue the round-robin order elsewhere."""
        self._turn = turn

    @property
    def turn(self) -> int:
        """Position in the round-robin order; a new `PublishInfo` of the topic starts there."""
        return self._turn
