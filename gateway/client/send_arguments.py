"""Arguments of a send beside the message: queues, selectors, recall handles; pure.

Standard: `RecallMessageHandle`.
"""

from __future__ import annotations

import base64
import binascii

from mqgateway.gateway.client import arguments
from mqgateway.gateway.client.errors import BadArgument
from mqgateway.gateway.client.message import Message
from mqgateway.gateway.client.namespaces import with_namespace
from mqgateway.gateway.client.selectors import Selector
from mqgateway.gateway.client.sending import PreparedSend
from mqgateway.gateway.codec.bodies import MessageQueue


def check_send(
    message: Message, queue: MessageQueue | None, selector: Selector | None, argument: object = None
) -> None:
    """Refuse what is no message, no queue or no selector. Raises `BadArgument`."""
    if not isinstance(message, Message):
        arguments.refuse("message", message, 'pass a Message, as Message("topic", "body")')
    if queue is not None and not isinstance(queue, MessageQueue):
        arguments.refuse("queue", queue, "pass one of queues(topic)")
    if selector is not None and not callable(selector):
        arguments.refuse("selector", selector, "pass a function, as mqgateway.selectors.by_hash")
    if queue is not None and selector is not None:
        arguments.refuse("selector", selector, "a queue is given already: pass one of them")
    if selector is None and argument is not None:
        arguments.refuse("argument", argument, "pass a selector with it, as mqgateway.selectors.by_hash")


def own_queue(queue: MessageQueue, message: Message, prepared: PreparedSend, namespace: str) -> MessageQueue:
    """Return a queue that was given, as brokers call it. Raises `BadArgument` when the message has another
    topic."""
    if not isinstance(queue, MessageQueue):
        raise BadArgument(
            f"the selector returned {queue!r}: it must return one of the queues that it is given"
        )
    if with_namespace(namespace, queue.topic) != prepared.topic:
        raise BadArgument(f"a message of {message.topic} cannot go to a queue of {queue.topic}")
    return MessageQueue(prepared.topic, queue.broker_name, queue.queue_id)


def handle_parts(handle: str) -> tuple[str, str]:
    """Return the broker and the message's id in a recall handle: version, topic, broker, time and key. Raises
    `BadArgument`."""
    arguments.text("handle", handle)
    try:
        parts = base64.urlsafe_b64decode(handle.encode()).decode().split(" ")
    except (binascii.Error, ValueError):
        parts = []
    if len(parts) < 5 or parts[0] != "v1":
        raise BadArgument(f"handle={handle!r}: pass the recall_handle of a SendResult")
    return parts[2], parts[4]
