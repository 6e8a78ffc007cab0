"""Listeners of push consumers: their arguments and outcomes.

RocketMQ: `MessageListenerConcurrently`, `MessageListenerOrderly` and related classes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any

from twisted.internet.defer import Deferred, maybeDeferred

from mqgateway.gateway.client.message import ReceivedMessage
from mqgateway.gateway.codec.bodies import MessageQueue


class Consumed(StrEnum):
    """Outcome of a listener.

    SUCCESS: the messages are consumed. LATER: they are redelivered; an ordered queue is suspended before.
    COMMIT and ROLLBACK are for ordered consumers without automatic commit. LEAVE: the listener is about to
    stop and did not process the messages. They are neither acknowledged nor sent back, and the next owner of
    the queue gets them.
    """

    SUCCESS = "SUCCESS"
    LATER = "LATER"
    COMMIT = "COMMIT"
    ROLLBACK = "ROLLBACK"
    LEAVE = "LEAVE"


class Context:
    """Context of a listener call, with options that the listener can set.

    `acked`: with SUCCESS, only that many messages from the first are consumed; the others are redelivered.
    `delay_level`: delay of the redelivery; 0 for a growing delay, below 0 to dead-letter the messages.
    `auto_commit`: False leaves commits to COMMIT. `suspend_millis`: suspension of an ordered queue, -1 for
    the configured time.
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
"""Function called with messages. None or True mean SUCCESS; False and an exception mean LATER."""


def outcome_of(said: Any) -> Consumed:
    """Convert a listener's return value. Raises `ValueError` for an invalid one."""
    if said is None or said is True:
        return Consumed.SUCCESS
    if said is False:
        return Consumed.LATER
    return Consumed(said)


async def listened(listener: Listener, messages: Sequence[ReceivedMessage], context: Context) -> Consumed:
    """Call the listener and return its outcome; its exceptions are raised."""
    return outcome_of(await maybeDeferred(listener, messages, context))
