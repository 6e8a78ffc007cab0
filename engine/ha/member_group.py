"""A broker's group as the name servers tell of it: who has the smallest id, and who acts for a master.

While the master is gone, the slave with the smallest id acts in its place: readers come to it, and it goes on
with what a master does of its own accord (delayed messages, timers, transactions, popped messages). It learns
of it from name servers, by being told (905) or by asking for the members of its group. A slave whose stream
from the master is alive does none of it whatever name servers say: the master does, and cannot be reached by
them. Nor does it from the moment on when a master that comes back has announced itself (906), for as long as
that may take to become known. Standard: `BrokerController.updateMinBroker`, `onMinBrokerChange`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

MASTER_ID = 0
QUIET_MILLIS = 30_000
"""How long a slave does nothing in its master's place after the master has announced itself."""


class Change(NamedTuple):
    """Somebody else has the smallest id now: `master` is the address of a master that is there again, and
    `ha_address` where its log is, empty where that was not said."""

    master: str = ""
    ha_address: str = ""


class MemberGroup:
    """What one member, `own_id`, knows of its group. Times in ms."""

    def __init__(self, own_id: int) -> None:
        self.own_id = own_id
        self.min_id = MASTER_ID
        self.min_address = ""
        self.alive = 1
        """Members that are there, this one counted."""
        self._quiet_until = 0

    @property
    def acts(self) -> bool:
        """Whether this slave stands in for its master."""
        return self.own_id != MASTER_ID and self.min_id == self.own_id

    def serves(self, now: int, *, follows: bool) -> bool:
        """Whether this slave does at `now` what its master does of its own accord; `follows` says that the
        stream from the master is alive."""
        return self.acts and not follows and now >= self._quiet_until

    def update(self, members: Mapping[int, str]) -> Change | None:
        """A name server said who is there, by id; what has changed, None for nothing."""
        if not members:
            return None
        self.alive = len(members.keys() | {self.own_id})
        first = min(members)
        return self.noticed(first, members[first], "")

    def noticed(self, min_id: int, address: str, ha_address: str) -> Change | None:
        """The member with the smallest id is this one; what has changed, None for nothing."""
        before, self.min_id, self.min_address = self.min_id, min_id, address
        if self.own_id == MASTER_ID or before == min_id:
            return None
        return Change(address, ha_address) if min_id == MASTER_ID else Change()

    def announced(self, now: int) -> None:
        """The master has said that it comes back: it goes on with everything."""
        self._quiet_until = now + QUIET_MILLIS
