"""Messages of another broker group, whose check points came here: a slave acts there for its master.

Who needs one asks again until it has come, or is known not to; `ask` is told what to fetch, and tells how
that ended. Standard: `EscapeBridge.getMessageFromRemote`.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from typing import NamedTuple

from mqgateway.engine.message import StoredMessage


class MessageLocation(NamedTuple):
    """Where a message lies: the broker's name, topic, queue and offset."""

    broker_name: str
    topic: str
    queue_id: int
    offset: int


class Missing(Enum):
    """Why there is no message."""

    UNDER_WAY = auto()
    """It may come yet."""
    GONE = auto()
    """Its broker does not have it."""
    FAILED = auto()
    """Its broker could not be asked."""


Found = StoredMessage | Missing
Ended = Callable[[Found], None]
"""Told the message, or why there is none."""


class ForeignMessages:
    """One that was found is given once. At most `limit` are under way, or have come and were not taken."""

    def __init__(self, ask: Callable[[MessageLocation, Ended], None], limit: int) -> None:
        self._ask = ask
        self._limit = limit
        self._found: dict[MessageLocation, Found] = {}

    def __len__(self) -> int:
        return len(self._found)

    def find(self, place: MessageLocation) -> Found:
        """The message, or why there is none yet."""
        if place not in self._found:
            if len(self._found) >= self._limit:
                return Missing.UNDER_WAY
            self._found[place] = Missing.UNDER_WAY
            self._ask(place, lambda found: self._found.update({place: found}))
        found = self._found[place]
        if found is not Missing.UNDER_WAY:
            del self._found[place]
        return found
