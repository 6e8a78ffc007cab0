"""Light queues: consume queues beside the one of a message's own topic and queue.

A message names them in INNER_MULTI_DISPATCH; the store answers in INNER_MULTI_QUEUE_OFFSET, name by name,
with the offset that the message has there, and nothing for what is no light queue. Each has one queue, with
id 0, whose units point to the record in the log, which is stored once. Recovery finds both in the record.
Standard: `LmqDispatch`, `MultiDispatchUtils`, `HookUtils.handleLmqQuota`.
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
"""Bytes of a light queue's name: it is the name of a folder."""
_OFFSET_MAX = 1 << 48
"""No queue gets so long; what says so was not written by a store."""


def enters_lmqs(topic: str) -> bool:
    """Whether a message of a topic may enter light queues. Ours: half messages do not, they may be rolled
    back. Standard: `MixAll.topicAllowsLMQ`."""
    return not topic.startswith((RETRY_PREFIX, DLQ_PREFIX)) and not is_system_topic(topic)


def lmq_offsets(topic: str, properties: Mapping[str, str]) -> list[tuple[str, int]]:
    """Names and offsets that the properties of a stored message tell. Standard: `multiDispatchLmqQueue`."""
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
    """Whether messages enter light queues. The standard has them enter with both settings only, too."""
    return options.enable_lmq and options.enable_multi_dispatch


class QuotaExceeded(Exception):
    """A message names a light queue that would be one too many."""


class LmqQueues:
    """Gives messages their places in light queues, where the settings say that there are any."""

    def __init__(self, options: StoreOptions, queues: ConsumeQueues) -> None:
        self._options = options
        self._queues = queues
        self.is_on = has_lmq(options)

    def note(self, message: Message) -> list[AnyQueue]:
        """Write into the properties where the message will be; gives the queues, whose next offsets it has
        not taken yet.

        Raises `MessageIllegal` for a name that cannot be a queue's, and `QuotaExceeded`.
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
            raise QuotaExceeded
        return self._queues.open(name, LMQ_QUEUE_ID)
