"""Delay levels, and messages with one: rewritten for the schedule topic, and restored for delivery.

A message with DELAY = level is stored in queue level - 1 of the schedule topic until `engine.delays` delivers
it. Standard: `HookUtils.handleScheduleMessage`, `ScheduleMessageService.messageTimeUp`.
"""

import re

from mqgateway.engine.errors import ConfigError, MessageIllegal
from mqgateway.engine.message import (
    PROPERTY_DELAY_TIME_LEVEL,
    PROPERTY_REAL_QUEUE_ID,
    PROPERTY_REAL_TOPIC,
    PROPERTY_RETRY_TOPIC,
    PROPERTY_TIMER_DELAY_MS,
    PROPERTY_TIMER_DELAY_SEC,
    PROPERTY_TIMER_DELIVER_MS,
    SCHEDULE_TOPIC,
    TRANS_HALF_TOPIC,
    Message,
    StoredMessage,
    SysFlag,
)
from mqgateway.engine.store.dispatch_request import parse_delay_levels

UNKNOWN_LEVEL_MILLIS = 1000
"""The delay of a level that has none. Standard: `computeDeliverTimestamp`."""

_NUMBER = re.compile(r"[+-]?[0-9]{1,10}")
_TIMER_PROPERTIES = (PROPERTY_TIMER_DELIVER_MS, PROPERTY_TIMER_DELAY_SEC, PROPERTY_TIMER_DELAY_MS)


class DelayLevels:
    """The delay of each level, from text such as `1s 5s 10s 1m 2h`. Raises `ConfigError` for other text."""

    def __init__(self, text: str) -> None:
        self._delays = parse_delay_levels(text)
        if not self._delays:
            raise ConfigError("messageDelayLevel is empty; write delays such as 1s 5s 10s")

    @property
    def max_level(self) -> int:
        """The highest level; the lowest is 1."""
        return len(self._delays)

    def delay(self, level: int) -> int:
        """Return the delay of the level, in ms."""
        return self._delays[level - 1] if 1 <= level <= len(self._delays) else UNKNOWN_LEVEL_MILLIS

    def rewrite(self, message: Message) -> bool:
        """Turn a message with DELAY > 0 into one of the schedule topic; return False if it has none.

        A level above the highest counts as the highest. Raises `MessageIllegal` when DELAY is no number.
        """
        text = message.properties.get(PROPERTY_DELAY_TIME_LEVEL)
        if text is None:
            return False
        if not _NUMBER.fullmatch(text):
            raise MessageIllegal(
                f"{PROPERTY_DELAY_TIME_LEVEL}={text!r} is not a delay level; write a whole number"
            )
        level = min(int(text), len(self._delays))
        kind = message.sys_flag & SysFlag.TRANSACTION_MASK
        if level <= 0 or kind not in (SysFlag.TRANSACTION_NOT_TYPE, SysFlag.TRANSACTION_COMMIT):
            return False
        properties = message.properties
        for name in _TIMER_PROPERTIES:
            properties.pop(name, None)
        properties[PROPERTY_DELAY_TIME_LEVEL] = str(level)
        properties[PROPERTY_REAL_TOPIC] = message.topic
        properties[PROPERTY_REAL_QUEUE_ID] = str(message.queue_id)
        message.topic = SCHEDULE_TOPIC
        message.queue_id = level - 1
        return True


def restored(stored: StoredMessage) -> Message:
    """Return a scheduled message as it is delivered: its own topic and queue, all else unchanged, DELAY too.

    Raises `MessageIllegal` if its properties name no topic and queue.
    """
    properties = dict(stored.properties)
    topic = properties.get(PROPERTY_REAL_TOPIC, "")
    queue_id = properties.get(PROPERTY_REAL_QUEUE_ID, "")
    if not topic or topic in (TRANS_HALF_TOPIC, SCHEDULE_TOPIC) or not _NUMBER.fullmatch(queue_id):
        raise MessageIllegal(f"a delayed message cannot go to queue {queue_id!r} of topic {topic!r}")
    return stored.copy_to(topic, int(queue_id), properties)


def topics_of(message: Message) -> tuple[str, ...]:
    """Return the topics that a message belongs to: its own, and of a retry the one it was first sent to."""
    first = message.properties.get(PROPERTY_RETRY_TOPIC)
    return (message.topic,) if first is None else (message.topic, first)
