"""Messages of another broker group, whose checkpoints were written here by a slave acting for its master.

A caller repeats `find` until the message has arrived, or is known to be missing. `ask` fetches one, and
reports the result. RocketMQ: `EscapeBridge.getMessageFromRemote`.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from typing import NamedTuple

from mqgateway.engine.message import StoredMessage


class MessageLocation(NamedTuple):
    """Location of a message: the broker's name, topic, queue and offset."""

    broker_name: str
    topic: str
    queue_id: int
    offset: int


class Missing(Enum):
    """Reason why there is no message."""

    IN_FLIGHT = auto()
    """The fetch is in flight."""
    GONE = auto()
    """Its broker does not have it."""
    FAILED = auto()
    """Its broker could not be reached."""


Found = StoredMessage | Missing
Ended = Callable[[Found], None]
"""Called with the message, or the reason why there is none."""


class ForeignMessages:
    """Fetches messages; each one is returned once.

    At most `limit` are in flight, or arrived and not taken.
    """

    def __init__(self, ask: Callable[[MessageLocation, Ended], None], limit: int) -> None:
        self._ask = ask
        self._limit = limit
        self._found: dict[MessageLocation, Found] = {}

    def __len__(self) -> int:
        return len(self._found)

    def find(self, place: MessageLocation) -> Found:
        """Return the message, or the reason why there is none yet."""
        if place not in self._found:
            if len(self._found) >= self._limit:
                return Missing.IN_FLIGHT
            self._found[place] = Missing.IN_FLIGHT
            self._ask(place, lambda found: self._found.update({place: found}))
        found = self._found[place]
        if found is not Missing.IN_FLIGHT:
            del self._found[place]
        return found
