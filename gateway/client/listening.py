"""What a push consumer's listener is given and gives back, and how many listeners work at once.

Standard: `MessageListenerConcurrently`, `MessageListenerOrderly` and what belongs to them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any

from twisted.internet.defer import Deferred, maybeDeferred

from mqgateway.gateway.client.message import ReceivedMessage
from mqgateway.gateway.codec.bodies import MessageQueue


class Consumed(StrEnum):
    """What became of messages.

    SUCCESS: they are done with. LATER: they are to come again; those of ordered queues after a rest of the
    whole queue. COMMIT and ROLLBACK are for ordered consumers that do not commit by themselves. LEAVE: the
    listener is about to stop and did nothing with them. They are neither acknowledged nor handed back, and
    the next owner of the queue gets them.
    """

    SUCCESS = "SUCCESS"
    LATER = "LATER"
    COMMIT = "COMMIT"
    ROLLBACK = "ROLLBACK"
    LEAVE = "LEAVE"


class Context:
    """What a listener may know and say about the messages it is given.

    `acked`: with SUCCESS only so many of the messages, from the first, are done with; the others come again.
    `delay_level`: when they come again; 0 after a time that grows, below 0 never: they are dead letters.
    `auto_commit`: false leaves it to COMMIT. `suspend_millis`: how long an ordered queue rests, -1 as
    configured.
    """

    __slots__ = ("acked", "auto_commit", "delay_level", "queue", "suspend_millis")

    def __init__(self, queue: MessageQueue) -> None:
        self.queue = queue
        self.acked = 2**31 - 1
        self.delay_level = 0
        self.auto_commit = True
        self.suspend_millis = -1


Outcome = Consumed | bool | None
Listener = Callable[[Sequence[ReceivedMessage], Context], "Outcome | Deferred[Outcome]"]
"""A listener may give nothing or true for SUCCESS, false for LATER; a failure is LATER too."""


def outcome_of(said: Any) -> Consumed:
    """What a listener said. Raises `ValueError` for what is none of it."""
    if said is None or said is True:
        return Consumed.SUCCESS
    if said is False:
        return Consumed.LATER
    return Consumed(said)


async def listened(listener: Listener, messages: Sequence[ReceivedMessage], context: Context) -> Consumed:
    """What the listener makes of messages; raises what it raises."""
    return outcome_of(await maybeDeferred(listener, messages, context))


class Slots:
    """Lets so many work at once; the others wait in the order they came.

    Once `is_closed` no work is begun: a caller that has entered leaves again.
    """

    def __init__(self, count: int) -> None:
        self._free = count
        self._waiting: deque[Deferred[None]] = deque()
        self._idle: list[Deferred[None]] = []
        self.busy = 0
        self.is_closed = False

    async def enter(self) -> None:
        """Wait for a slot; whoever has one must `leave`."""
        if self._free:
            self._free -= 1
        else:
            turn: Deferred[None] = Deferred()
            self._waiting.append(turn)
            await turn
        self.busy += 1

    def leave(self) -> None:
        """Give the slot to the next one."""
        self.busy -= 1
        if self._waiting:
            self._waiting.popleft().callback(None)
            return
        self._free += 1
        if not self.busy:
            idle, self._idle = self._idle, []
            for waiter in idle:
                waiter.callback(None)

    def idle(self) -> Deferred[None]:
        """Fires when nobody is at work."""
        waiter: Deferred[None] = Deferred()
        if self.busy:
            self._idle.append(waiter)
        else:
            waiter.callback(None)
        return waiter
