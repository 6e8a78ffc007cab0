"""A broker's group as reported by name servers: the smallest id, and whether a slave acts for the master.

While the master is down, the slave with the smallest id acts in its place: consumers read from it, and it
continues the master's background work (delayed messages, timers, transactions, popped messages). It learns
this from name servers, by notification (905) or by querying the members of its group. A slave with a live
stream from its master does none of it, whatever name servers report: the master does, and only they cannot
reach it. Nor does it after a returning master has announced itself (906), for as long as that may take to
become known. RocketMQ: `BrokerController.updateMinBroker`, `onMinBrokerChange`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

MASTER_ID = 0
QUIET_MILLIS = 30_000
"""Time for which a slave does not act after the master has announced itself."""


class MinIdChange(NamedTuple):
    """A change of the smallest id:

    `master` is the address of a returned master, `ha_address` that of its log, or "".
    """

    master: str = ""
    ha_address: str = ""


class MemberGroup:
    """View of its group by one member, `own_id`. Times in ms."""

    def __init__(self, own_id: int) -> None:
        self.own_id = own_id
        self.min_id = MASTER_ID
        self.min_address = ""
        self.alive = 1
        """Number of live members, including this one."""
        self._quiet_until = 0

    @property
    def acts(self) -> bool:
        """True if this slave stands in for its master."""
        return self.own_id != MASTER_ID and self.min_id == self.own_id

    def serves(self, now: int, *, follows: bool) -> bool:
        """Return True if this slave does the master's background work at `now`.

        `follows` is True while the stream from the master is alive.
        """
        return self.acts and not follows and now >= self._quiet_until

    def update(self, members: Mapping[int, str]) -> MinIdChange | None:
        """Process the members reported by a name server, by id; return the change, or None."""
        if not members:
            return None
        self.alive = len(members.keys() | {self.own_id})
        first = min(members)
        return self.noticed(first, members[first], "")

    def noticed(self, min_id: int, address: str, ha_address: str) -> MinIdChange | None:
        """Process the member with the smallest id; return the change, or None."""
        before, self.min_id, self.min_address = self.min_id, min_id, address
        if self.own_id == MASTER_ID or before == min_id:
            return None
        return MinIdChange(address, ha_address) if min_id == MASTER_ID else MinIdChange()

    def announced(self, now: int) -> None:
        """Note that the master returns: it continues with all its work."""
        self._quiet_until = now + QUIET_MILLIS
