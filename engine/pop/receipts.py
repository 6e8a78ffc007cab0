"""Receipts of popped messages, which clients return: texts of fields separated by blanks.

    receipt             start pop-time invisible-time revive-queue kind broker queue [offset [log-offset]]
    start offsets       kind queue offset          joined by ;
    message offsets     kind queue offset,offset   joined by ;
    order counts        kind queue count           joined by ;
                        kind qo{queue}%{offset} count, of one message

`kind` is 0 for the topic itself, 1 and 2 for its retry topics. A receipt is the property POP_CK of a message;
clients assemble it from the response to the pop. RocketMQ: `ExtraInfoUtil`.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple, Self

from mqgateway.engine.pop.names import ORDER_REVIVE_QUEUE, kind_of

_LONG = re.compile(r"[+-]?[0-9]{1,18}")
_NAME = re.compile(r"[^\x00-\x1f\ud800-\udfff]{1,255}")
"""Valid values in the properties of a message."""
_FIELDS_MIN = 6


class Receipt(NamedTuple):
    """The receipt with which a popped message is acknowledged. Times in ms."""

    start_offset: int
    """Start offset of the message's checkpoint."""
    pop_time: int
    invisible_time: int
    revive_queue_id: int
    kind: str
    broker_name: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a receipt; fields after the broker's name are ignored. Raises `ValueError`."""
        fields = text.split(" ")
        if len(fields) < _FIELDS_MIN:
            raise ValueError(f"a receipt has {_FIELDS_MIN} fields, not {len(fields)}")
        if not all(map(_LONG.fullmatch, fields[:4])):
            raise ValueError("a receipt starts with four numbers")
        if not _NAME.fullmatch(fields[5]):
            raise ValueError("a receipt names a broker")
        start, pop_time, invisible_time, revive_queue_id = map(int, fields[:4])
        return cls(start, pop_time, invisible_time, revive_queue_id, fields[4], fields[5])

    @property
    def revive_time(self) -> int:
        """Time at which the message is visible again."""
        return self.pop_time + self.invisible_time

    @property
    def is_ordered(self) -> bool:
        """True for an ordered pop."""
        return self.revive_queue_id == ORDER_REVIVE_QUEUE

    def of_message(self, queue_id: int, offset: int) -> str:
        """Return the text for one message."""
        return " ".join(map(str, (*self, queue_id, offset)))


def start_offset_info(topic: str, queue_id: int, offset: int) -> str:
    """Return the start offset info of one queue."""
    return f"{kind_of(topic)} {queue_id} {offset}"


def message_offset_info(topic: str, queue_id: int, offsets: Iterable[int]) -> str:
    """Return the message offsets info of one queue."""
    return f"{kind_of(topic)} {queue_id} {','.join(map(str, offsets))}"


def order_count_info(topic: str, queue_id: int, count: int) -> str:
    """Return the minimum number of earlier deliveries of a queue's messages, as order count info."""
    return f"{kind_of(topic)} {queue_id} {count}"


def message_count_info(topic: str, queue_id: int, offset: int, count: int) -> str:
    """Return the number of earlier deliveries of one message, as order count info."""
    return f"{kind_of(topic)} qo{queue_id}%{offset} {count}"
