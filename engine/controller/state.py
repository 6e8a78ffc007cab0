"""Where broker sets are kept, and who may change them: what a place must be able to do.

One controller alone keeps them itself (`engine.controller.local_state`); several have a place in common,
which says who of them leads (`engine.controller.shared_state`). Nothing that was agreed is ever taken back,
and nobody is answered before that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from mqgateway.engine.controller.broker_set import BrokerSet
from mqgateway.engine.controller.events import Event
from mqgateway.engine.errors import EngineError

OnAgreed = Callable[[Exception | None], None]


class NotLeading(EngineError):
    """This controller does not lead: it may neither change nor tell what the sets are."""


class Leader(NamedTuple):
    """The controller that leads: its id among the peers, and `host:port`."""

    peer_id: str
    address: str


class State(Protocol):
    """The broker sets as agreed."""

    @property
    def sets(self) -> Mapping[str, BrokerSet]:
        """The sets by name; what they are only while `is_leader`."""

    @property
    def is_leader(self) -> bool:
        """Whether this controller leads, and has all that was agreed before."""

    @property
    def leader(self) -> Leader | None:
        """Who leads; None when nobody does, or it is not known."""

    @property
    def term(self) -> int:
        """Which leadership this is; each has a greater one."""

    def propose(self, event: Event, told: OnAgreed) -> None:
        """Apply an event once it is agreed, then call back with None; else with why it is not, which leaves
        open whether it will be. One at a time.
        """

    def confirm(self, told: OnAgreed) -> None:
        """Call back with None if this controller leads, and `sets` are what is agreed, at some moment from
        now on; else with why that is not known. Not while something is proposed.
        """

    def start(self, leads: Callable[[], None]) -> None:
        """Take part; `leads` is called each time that this controller begins to lead."""

    def beat(self) -> None:
        """Do what time asks for; to be called each second."""

    def close(self, told: Callable[[], None]) -> None:
        """Take part no more, then call back."""
