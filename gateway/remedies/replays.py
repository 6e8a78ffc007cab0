"""Copies of dead letters, sent to their group or to their topic of origin; pure.

A copy is a new message. It has the dead letter's body and those of its properties that do not describe
earlier deliveries. Properties are texts by name, as messages have them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from mqgateway.engine import message

DELIVERY_PROPERTIES: Final = frozenset(
    {
        message.PROPERTY_CLUSTER,
        message.PROPERTY_CONSUME_START_TIMESTAMP,
        message.PROPERTY_CRC32,
        message.PROPERTY_DELAY_TIME_LEVEL,
        message.PROPERTY_DLQ_ORIGIN_MESSAGE_ID,
        message.PROPERTY_DLQ_ORIGIN_TOPIC,
        message.PROPERTY_FIRST_POP_TIME,
        message.PROPERTY_MAX_OFFSET,
        message.PROPERTY_MAX_RECONSUME_TIMES,
        message.PROPERTY_MIN_OFFSET,
        message.PROPERTY_MSG_REGION,
        message.PROPERTY_ORIGIN_GROUP,
        message.PROPERTY_ORIGIN_MESSAGE_ID,
        message.PROPERTY_POP_CK,
        message.PROPERTY_REAL_QUEUE_ID,
        message.PROPERTY_REAL_TOPIC,
        message.PROPERTY_RECONSUME_TIME,
        message.PROPERTY_RETRY_TOPIC,
        message.PROPERTY_TIMER_DELAY_MS,
        message.PROPERTY_TIMER_DELAY_SEC,
        message.PROPERTY_TIMER_DELIVER_MS,
        message.PROPERTY_TIMER_DEL_UNIQKEY,
        message.PROPERTY_TIMER_DEQUEUE_MS,
        message.PROPERTY_TIMER_ENQUEUE_MS,
        message.PROPERTY_TIMER_OUT_MS,
        message.PROPERTY_TIMER_ROLL_TIMES,
        message.PROPERTY_TRACE_SWITCH,
        message.PROPERTY_TRANSACTION_PREPARED,
        message.PROPERTY_UNIQ_KEY,
        message.PROPERTY_WAIT_STORE_MSG_OK,
    }
)
"""Properties that servers and clients set for one delivery of a message; a copy gets its own."""

PROPERTY_REPLAY_OF: Final = "REPLAY_OF"
"""Ours: the id of the message, mostly a dead letter, that a message is a copy of."""


class ReplayRefused(Exception):
    """Copies for this target are not delivered."""


def check_target(target: str, group: str, consumes_in_order: Callable[[str], bool]) -> None:
    """Check that consumers get the copies of a group's dead letters from the topic `target`.

    An ordered group has no retries. `consumes_in_order` is called only for the group's retry topic, as its
    answer may take requests. Raises `ReplayRefused`.
    """
    if target == message.RETRY_PREFIX + group and consumes_in_order(group):
        raise ReplayRefused(f"{group} consumes in order, without retries: send them to their topic")


def origin_of(properties: Mapping[str, str]) -> str | None:
    """Return the topic from which a dead letter came; None if its properties do not name it."""
    return (
        properties.get(message.PROPERTY_RETRY_TOPIC)
        or properties.get(message.PROPERTY_DLQ_ORIGIN_TOPIC)
        or None
    )


def copied_properties(properties: Mapping[str, str], target: str, message_id: str) -> dict[str, str]:
    """Return the properties of a copy, for the topic `target`, of the message with this id.

    In a retry topic the copy names its topic of origin, under which consumers get it.
    """
    copied = {name: value for name, value in properties.items() if name not in DELIVERY_PROPERTIES}
    if target.startswith(message.RETRY_PREFIX) and (origin := origin_of(properties)) is not None:
        copied[message.PROPERTY_RETRY_TOPIC] = origin
    copied[PROPERTY_REPLAY_OF] = message_id
    return copied
