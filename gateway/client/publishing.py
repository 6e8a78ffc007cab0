"""The queues of a topic that a producer sends to, in turn; pure. Standard: `TopicPublishInfo`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mqgateway.gateway.codec.bodies import MessageQueue

Condition = Callable[[MessageQueue], bool]


class PublishInfo:
    """Queues, and whose turn it is. `start` is where the turns begin: producers should not begin alike."""

    def __init__(self, queues: Sequence[MessageQueue], start: int) -> None:
        self.queues = tuple(queues)
        self._turn = start

    def choose(self, *conditions: Condition) -> MessageQueue | None:
        """The next queue in turn that meets all conditions; None when none does."""
        queues = self.queues
        for _ in range(len(queues)):
            self._turn += 1
            queue = queues[self._turn % len(queues)]
            if not conditions or all(condition(queue) for condition in conditions):
                return queue
        return None

    def restart(self, turn: int) -> None:
        """Go on somewhere else."""
        self._turn = turn

    @property
    def turn(self) -> int:
        """Where the turns are; a new `PublishInfo` of the same topic begins there."""
        return self._turn
