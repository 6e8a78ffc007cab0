"""Which queue a message goes to when its sender has a say: a selector is given the queues, the message and
the sender's argument, and picks one. Queues come in the order in which they are sent to.

Messages with one argument keep their order as long as the number of queues stays the same.
Standard: `MessageQueueSelector`, `SelectMessageQueueByHash`, `SelectMessageQueueByRandom`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import choice
from typing import Any

from mqgateway.engine.message import java_hash
from mqgateway.gateway.client.errors import BadArgument
from mqgateway.gateway.client.message import Message
from mqgateway.gateway.codec.bodies import MessageQueue

Selector = Callable[[Sequence[MessageQueue], Message, Any], MessageQueue]


def by_hash(queues: Sequence[MessageQueue], message: Message, argument: Any) -> MessageQueue:
    """Return the queue that Java clients choose for the same text or number."""
    number = _java_hash_of(argument)
    # Java's remainder has the sign of the dividend; the standard takes its magnitude.
    return queues[abs(number) % len(queues)]


def by_random(queues: Sequence[MessageQueue], message: Message, argument: Any) -> MessageQueue:
    """Any queue."""
    return choice(queues)


def _java_hash_of(argument: Any) -> int:
    if isinstance(argument, str):
        return java_hash(argument)
    if isinstance(argument, bool):
        return 1231 if argument else 1237
    if isinstance(argument, int):
        if -(1 << 31) <= argument < 1 << 31:
            return argument  # as an Integer
        folded = (argument ^ argument >> 32) & 0xFFFFFFFF  # as a Long
        return folded - (1 << 32) if folded & 0x80000000 else folded
    raise BadArgument(f"a queue cannot be chosen by {type(argument).__name__}: give a text or a whole number")
