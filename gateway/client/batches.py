"""Several messages in one request: which may go together, how they are written, where a batch is full.

Standard: `MessageBatch`, `MessageDecoder.encodeMessages`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from mqgateway.engine.extension import native
from mqgateway.engine.message import (
    PROPERTY_DELAY_TIME_LEVEL,
    PROPERTY_UNIQ_KEY,
    PROPERTY_WAIT_STORE_MSG_OK,
    RETRY_PREFIX,
    properties_text,
)
from mqgateway.engine.store.client_elements import ELEMENT_SIZE_MIN
from mqgateway.engine.store.client_elements import encode_element as encode_fields
from mqgateway.engine.store.record import PROPERTIES_LENGTH_MAX
from mqgateway.gateway.client.errors import BadArgument
from mqgateway.gateway.client.message import Message

BATCH_MESSAGES_MAX: Final = 32_000
"""Messages of one batch, however small: brokers of either kind take so many that have unique keys."""
_KEY_ROOM: Final = len(PROPERTY_UNIQ_KEY) + 58
"""Bytes that the unique key of a message will take, which is given when it is sent."""


def check_batch(messages: Sequence[Message]) -> None:
    """Refuse what cannot go in one batch. Raises `BadArgument`."""
    if not messages:
        raise BadArgument("a batch without messages")
    topic, waits = messages[0].topic, messages[0].waits_for_store
    if topic.startswith(RETRY_PREFIX):
        raise BadArgument("messages to a retry topic go by themselves, not in a batch")
    wait = messages[0].properties.get(PROPERTY_WAIT_STORE_MSG_OK)
    for message in messages:
        properties = message.properties
        if PROPERTY_DELAY_TIME_LEVEL in properties and message.delay_level > 0:
            raise BadArgument("a message with a delay level goes by itself, not in a batch")
        if message.topic != topic:
            raise BadArgument(f"a batch has one topic, not {topic} and {message.topic}")
        if properties.get(PROPERTY_WAIT_STORE_MSG_OK) != wait and message.waits_for_store != waits:
            raise BadArgument("all messages of a batch wait for the store, or none does")


def split_by_size(messages: Sequence[Message], size_max: int) -> Iterator[tuple[list[Message], bytes]]:
    """Yield the messages in order, in as few batches as have at most `size_max` bytes and
    `BATCH_MESSAGES_MAX` messages each; and their bodies.

    A message that is larger by itself is a batch of one. Raises `BadArgument` when properties are too long.
    """
    given = list(messages)
    begin = 0
    while begin < len(given):
        body, count = batch_from(given, begin, size_max)
        yield given[begin : begin + count], body
        begin += count


def batch_from(messages: list[Message], begin: int, size_max: int) -> tuple[bytes, int]:
    """Return the body of a batch of the messages from this one on, and how many these are; see
    `split_by_size`."""
    if native is not None:
        made = native.batch_from(messages, begin, size_max, BATCH_MESSAGES_MAX)
        if made is not None:
            return made
    elements: list[bytes] = []
    size = 0
    for at in range(begin, min(len(messages), begin + BATCH_MESSAGES_MAX)):
        element = encode_element(messages[at])
        if elements and size + len(element) > size_max:
            break
        elements.append(element)
        size += len(element)
    return b"".join(elements), len(elements)


def element_size(message: Message) -> int:
    """Bytes that a message takes in a batch, with room for its unique key if it has none yet."""
    properties = len(properties_text(message.properties))
    key = 0 if message.unique_key else _KEY_ROOM
    return ELEMENT_SIZE_MIN + len(message.body) + properties + key


def encode_element(message: Message) -> bytes:
    """Return a message in the body of a batch. Raises `BadArgument` when its properties are too long."""
    properties = properties_text(message.properties)
    if len(properties) > PROPERTIES_LENGTH_MAX:
        raise BadArgument(
            f"the properties of a message take {len(properties)} bytes, more than {PROPERTIES_LENGTH_MAX}"
        )
    return encode_fields(message.body, message.flag, properties)
