"""Storage of broker sets, and leadership: the interface.

A single controller stores them itself (`engine.controller.local_state`). Several have a shared store, which
determines the leader (`engine.controller.shared_state`). Agreed changes are never taken back, and no request
is answered before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from mqgateway.engine.controller.broker_set import BrokerSet
from mqgateway.engine.controller.events import Event
from mqgateway.engine.errors import EngineError

OnAgreed = Callable[[Exception | None], None]


class NotLeading(EngineError):
    """This controller does not lead: it may neither change nor report the sets."""


class Leader(NamedTuple):
    """The leading controller: its id among the peers, and `host:port`."""

    peer_id: str
    address: str


class ControllerState(Protocol):
    """The agreed broker sets."""

    @property
    def sets(self) -> Mapping[str, BrokerSet]:
        """The sets by name; valid only while `is_leader`."""

    @property
    def is_leader(self) -> bool:
        """True if this controller leads, and has all earlier changes."""

    @property
    def leader(self) -> Leader | None:
        """The leader; None if there is none, or it is unknown."""

    @property
    def term(self) -> int:
        """The number of this leadership; each has a greater one."""

    def propose(self, event: Event, on_agreed: OnAgreed) -> None:
        """Apply an event once it is agreed, then call back with None; else with the reason.

        After an error it may still be agreed. One at a time.
        """

    def confirm(self, on_agreed: OnAgreed) -> None:
        """Call back with None if this controller leads, and `sets` are agreed, at some moment from now on.

        Else calls back with the reason why that is unknown. Not while an event is proposed.
        """

    def start(self, leads: Callable[[], None]) -> None:
        """Take part; `leads` is called each time that this controller becomes leader."""

    def tick(self) -> None:
        """Run periodic work; to be called each second."""

    def close(self, on_closed: Callable[[], None]) -> None:
        """Stop taking part, then call back."""
