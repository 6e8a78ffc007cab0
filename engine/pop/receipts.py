"""What clients are told of messages they popped, and bring back: texts of fields separated by blanks.

    receipt             start pop-time invisible-time revive-queue kind broker queue [offset [log-offset]]
    start offsets       kind queue offset          joined by ;
    message offsets     kind queue offset,offset   joined by ;
    order counts        kind queue count           joined by ;
                        kind qo{queue}%{offset} count, of one message

`kind` is 0 for the topic itself, 1 and 2 for its retry topics. A receipt is the property POP_CK of a message;
clients put it together from what the pop answered. Standard: `ExtraInfoUtil`.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple, Self

from mqgateway.engine.pop.names import ORDER_REVIVE_QUEUE, kind_of

_LONG = re.compile(r"[+-]?[0-9]{1,18}")
_NAME = re.compile(r"[^\x00-\x1f\ud800-\udfff]{1,255}")
"""What may stand in the properties of a message."""
_FIELDS_MIN = 6


class Receipt(NamedTuple):
    """What a popped message is acknowledged with. Times in ms."""

    start_offset: int
    """Where the check point of the message starts."""
    pop_time: int
    invisible_time: int
    revive_queue_id: int
    kind: str
    broker_name: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises `ValueError`; what follows the broker's name is not looked at."""
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
        """When the message is visible again."""
        return self.pop_time + self.invisible_time

    @property
    def is_ordered(self) -> bool:
        """Whether it was popped in order."""
        return self.revive_queue_id == ORDER_REVIVE_QUEUE

    def of_message(self, queue_id: int, offset: int) -> str:
        """The text for one message."""
        return " ".join(map(str, (*self, queue_id, offset)))


def start_offset_info(topic: str, queue_id: int, offset: int) -> str:
    """Where the messages of one queue start."""
    return f"{kind_of(topic)} {queue_id} {offset}"


def message_offset_info(topic: str, queue_id: int, offsets: Iterable[int]) -> str:
    """Which messages of one queue they are."""
    return f"{kind_of(topic)} {queue_id} {','.join(map(str, offsets))}"


def order_count_info(topic: str, queue_id: int, count: int) -> str:
    """How often all messages of one queue were given out before, at least."""
    return f"{kind_of(topic)} {queue_id} {count}"


def message_count_info(topic: str, queue_id: int, offset: int, count: int) -> str:
    """How often one message was given out before."""
    return f"{kind_of(topic)} qo{queue_id}%{offset} {count}"
