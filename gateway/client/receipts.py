"""Receipts that acknowledge popped messages; no I/O.

The answer to a pop contains the start of the checkpoint of each queue. The receipt of a message is derived
from it and kept in the message's property POP_CK. Redelivered messages already have one.
RocketMQ: `ExtraInfoUtil`, `MQClientAPIImpl.processPopResponse`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from mqgateway.engine.message import PROPERTY_FIRST_POP_TIME, PROPERTY_POP_CK
from mqgateway.engine.pop.names import kind_of, real_topic
from mqgateway.engine.pop.receipts import Receipt
from mqgateway.gateway.client.message import ReceivedMessage
from mqgateway.gateway.codec.headers import ChangeInvisibleTimeResponseHeader, PopMessageResponseHeader

DELAY_SECONDS = (10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200)
"""Back-off before redelivery after the first rejection, the second, and so on."""
_FIELDS = 8


class ReceiptContent(NamedTuple):
    """Content of a receipt; `topic` is the topic in which the message is stored."""

    topic: str
    broker_name: str
    queue_id: int
    offset: int
    invisible_time: int
    """Time, in ms, for which no other consumer gets the message."""
    text: str


def stamp(
    messages: Iterable[ReceivedMessage], topic: str, broker: str, header: PopMessageResponseHeader
) -> None:
    """Set the receipts of popped messages, and their topic to the requested one."""
    starts = dict(_starts(header.start_offset_info or ""))
    counts = _counts(header.order_count_info or "")
    firsts: dict[tuple[str, int], int] = {}
    for message in messages:
        properties, queue = message.properties, message.queue
        if PROPERTY_POP_CK not in properties:
            key = (kind_of(queue.topic), queue.queue_id)
            start = starts.get(key, firsts.setdefault(key, message.queue_offset))
            receipt = Receipt(
                start, header.pop_time, header.invisible_time, header.revive_qid, key[0], broker
            )
            properties[PROPERTY_POP_CK] = receipt.of_message(queue.queue_id, message.queue_offset)
        properties.setdefault(PROPERTY_FIRST_POP_TIME, str(header.pop_time))
        if counts:
            kind, number = kind_of(queue.topic), queue.queue_id
            own = counts.get((kind, f"qo{number}%{message.queue_offset}"))
            message.reconsume_times = counts.get((kind, str(number)), 0) if own is None else own
        message.topic = topic


def given(message: ReceivedMessage, topic: str, group: str) -> ReceiptContent:
    """Return the receipt of a message popped from a topic. Raises `ValueError` for an invalid one."""
    text = message.properties.get(PROPERTY_POP_CK, "")
    receipt, fields = Receipt.parse(text), text.split(" ")
    if len(fields) < _FIELDS:
        raise ValueError("a receipt names a queue and an offset")
    topic = real_topic(topic, group, receipt.kind)
    return ReceiptContent(
        topic, receipt.broker_name, int(fields[6]), int(fields[7]), receipt.invisible_time, text
    )


def restamp(
    message: ReceivedMessage, content: ReceiptContent, answer: ChangeInvisibleTimeResponseHeader
) -> None:
    """Set the receipt for a changed invisible time; the previous one becomes invalid.

    RocketMQ: `MQClientAPIImpl.changeInvisibleTimeAsync`.
    """
    receipt = Receipt(
        content.offset,
        answer.pop_time,
        answer.invisible_time,
        answer.revive_qid,
        kind_of(content.topic),
        content.broker_name,
    )
    message.properties[PROPERTY_POP_CK] = receipt.of_message(content.queue_id, content.offset)


def pause(message: ReceivedMessage, level: int, times_max: int, now: int) -> int | None:
    """Return how long a rejected message stays invisible, in seconds; None to give it up.

    `level` is the delay level that the listener set, 0 for a growing delay. A message that was rejected too
    often is given up when it is old. Until then its delay grows with its age.
    """
    if message.reconsume_times >= times_max:
        age = (now - message.born_timestamp) / 1000
        if age > 2 * DELAY_SECONDS[-1]:
            return None
        level = sum(seconds <= age for seconds in DELAY_SECONDS)
    elif level <= 0:
        level = message.reconsume_times
    return DELAY_SECONDS[min(level, len(DELAY_SECONDS) - 1)]


def _starts(text: str) -> Iterable[tuple[tuple[str, int], int]]:
    for one in text.split(";"):
        fields = one.split(" ")
        if len(fields) == 3:  # kind, queue, offset
            yield (fields[0], int(fields[1])), int(fields[2])


def _counts(text: str) -> dict[tuple[str, str], int]:
    """Return the delivery counts of an ordered pop by queue, and by `qo{queue}%{offset}`."""
    several = (one.split(" ") for one in text.split(";"))
    return {(fields[0], fields[1]): int(fields[2]) for fields in several if len(fields) == 3}
