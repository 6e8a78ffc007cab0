"""LMQ (light message queues): consume queues in addition to that of a message's own topic and queue.

A message names them in INNER_MULTI_DISPATCH. The store returns the message's offsets in
INNER_MULTI_QUEUE_OFFSET, name by name, and nothing for names that are not LMQ queues. Each has one queue,
with id 0, whose units point to the record in the log, which is stored once. Recovery finds both in the
record. RocketMQ: `LmqDispatch`, `MultiDispatchUtils`, `HookUtils.handleLmqQuota`.
"""

from __future__ import annotations

from collections.abc import Mapping

from mqgateway.engine.errors import MessageIllegal
from mqgateway.engine.message import (
    DLQ_PREFIX,
    PROPERTY_INNER_MULTI_DISPATCH,
    PROPERTY_INNER_MULTI_QUEUE_OFFSET,
    RETRY_PREFIX,
    Message,
)
from mqgateway.engine.names import is_lmq, is_system_topic
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.store.consume_queue import AnyQueue, ConsumeQueues

LMQ_QUEUE_ID = 0
SEPARATOR = ","
NAME_MAX = 255
"""Maximum of bytes of an LMQ queue's name, which is a directory name."""
_OFFSET_MAX = 1 << 48
"""Limit of valid offsets: no queue gets so long, so a greater one was not written by a store."""


def enters_lmqs(topic: str) -> bool:
    """Return True if messages of a topic may enter LMQ queues. RocketMQ: `MixAll.topicAllowsLMQ`.

    Unlike there, half messages do not: they may be rolled back.
    """
    return not topic.startswith((RETRY_PREFIX, DLQ_PREFIX)) and not is_system_topic(topic)


def lmq_offsets(topic: str, properties: Mapping[str, str]) -> list[tuple[str, int]]:
    """Return names and offsets from the properties of a stored message. RocketMQ: `multiDispatchLmqQueue`."""
    if not enters_lmqs(topic):
        return []
    names = properties.get(PROPERTY_INNER_MULTI_DISPATCH, "").split(SEPARATOR)
    offsets = properties.get(PROPERTY_INNER_MULTI_QUEUE_OFFSET, "").split(SEPARATOR)
    if len(names) != len(offsets):
        return []
    return [
        (name, int(offset))
        for name, offset in dict(zip(names, offsets, strict=True)).items()
        if is_lmq(name) and offset.isascii() and offset.isdecimal() and int(offset) < _OFFSET_MAX
    ]


def has_lmq(options: StoreOptions) -> bool:
    """Return True if messages enter LMQ queues. As in RocketMQ, that needs both settings."""
    return options.enable_lmq and options.enable_multi_dispatch


class LmqQuotaExceeded(Exception):
    """A message names an LMQ queue that exceeds the quota."""


class LmqQueues:
    """Assigns offsets in LMQ queues to messages, if the settings enable them."""

    def __init__(self, options: StoreOptions, queues: ConsumeQueues) -> None:
        self._options = options
        self._queues = queues
        self.is_on = has_lmq(options)

    def note(self, message: Message) -> list[AnyQueue]:
        """Write the message's offsets into its properties; return the queues, not advanced yet.

        Raises `MessageIllegal` for a name that cannot be a queue's, and `LmqQuotaExceeded`.
        """
        if not self.is_on:
            return []
        properties = message.properties
        properties.pop(PROPERTY_INNER_MULTI_QUEUE_OFFSET, None)
        if not enters_lmqs(message.topic):
            return []
        names = properties[PROPERTY_INNER_MULTI_DISPATCH].split(SEPARATOR)
        queues = {name: self._open(name) for name in names if is_lmq(name) and "/" not in name}
        if queues:
            properties[PROPERTY_INNER_MULTI_QUEUE_OFFSET] = SEPARATOR.join(
                str(queues[name].next_offset) if name in queues else "" for name in names
            )
        return list(queues.values())

    def _open(self, name: str) -> AnyQueue:
        queue = self._queues.get(name, LMQ_QUEUE_ID)
        if queue is not None:
            return queue
        if len(name.encode()) > NAME_MAX:
            raise MessageIllegal(f"the name of an LMQ queue has {len(name.encode())} bytes")
        options = self._options
        if options.enable_lmq_quota and self._queues.lmq_count >= options.max_lmq_consume_queue_num:
            raise LmqQuotaExceeded
        return self._queues.open(name, LMQ_QUEUE_ID)
