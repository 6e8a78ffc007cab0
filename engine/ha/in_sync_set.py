"""Replicas in sync with a master: the controller's set, and the changes that the master requests.

Only a replica in sync may be elected, so a message is safe once all of them have it. While a change is
requested, or its result is unknown, all replicas in the set or in a requested change count: whichever set the
controller keeps, no member lacks anything. RocketMQ removes a disconnected replica before the controller has
agreed, and can lose what it acknowledges then. RocketMQ: `AutoSwitchHAService`, `SyncStateSet`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from mqgateway.engine.options import StoreOptions


class ConnectedReplica(Protocol):
    """State of a replica connected since `since`. Times in ms, offsets of the log."""

    replica_id: int
    ack_offset: int
    caught_up: int
    since: int

    def is_silent(self, patience: int, now: int) -> bool:
        """Return True if a prompt replica was silent for longer than `patience`."""
        ...

    @property
    def is_learner(self) -> bool:
        """True if the replica must not count as in sync, or has not identified itself."""
        ...


class InSyncSet:
    """The set `ids` in its `epoch`, as last sent by the controller; `own_id` is the master's."""

    def __init__(self, own_id: int) -> None:
        self.own_id = own_id
        self.ids = frozenset([own_id])
        self.epoch = 0
        self.members = self.ids
        """All replicas that may be in the set now, or will be requested."""
        self._requested: frozenset[int] = frozenset()
        self._is_open = False

    def begin(self, own_id: int, ids: Iterable[int], epoch: int) -> None:
        """Adopt the set as new master; earlier requests are void."""
        self.own_id = own_id
        self.ids, self.epoch = frozenset(ids) | {own_id}, epoch
        self._requested, self._is_open = frozenset(), False
        self.members = self.ids

    def take(self, ids: Iterable[int], epoch: int) -> bool:
        """Adopt the controller's set; return True if it is newer.

        A newer one settles all requests, as the controller changes a set only once per epoch.
        """
        if epoch <= self.epoch:
            return False
        self.begin(self.own_id, ids, epoch)
        return True

    @property
    def size(self) -> int:
        """Number of replicas in sync; the larger one while a change is requested. RocketMQ does the same."""
        return max(len(self.ids), len(self._requested))

    def ask(self, wanted: frozenset[int]) -> None:
        """Note a request for another set."""
        self._requested |= wanted
        self.members |= wanted

    def refused(self) -> None:
        """Note that the controller refused a change.

        It is settled only if no earlier request is unanswered.
        """
        if not self._is_open:
            self._requested = frozenset()
            self.members = self.ids

    def unanswered(self) -> None:
        """Note that the result of the last request is unknown: it may still be applied."""
        self._is_open = True

    def consider(
        self,
        followers: Iterable[ConnectedReplica],
        place: int,
        now: int,
        patience: int,
        options: StoreOptions,
    ) -> frozenset[int] | None:
        """Return the set to request; None if it is right.

        A member is removed if it is not connected, was silent for longer than `patience`, or was not caught
        up for `haMaxTimeSlaveNotCatchup`. A replica is added if it keeps up and has everything before
        `place`. Sends wait from now on for a replica that keeps up but lacks something before `place`: under
        load a replica that no send waits for never quite catches up.
        """
        limit = now - options.ha_max_time_slave_not_catchup
        wanted, waited_for = {self.own_id}, set[int]()
        for one in followers:
            if one.is_silent(patience, now):
                continue
            if one.replica_id in self.ids:
                if max(one.caught_up, one.since) >= limit:
                    wanted.add(one.replica_id)
            elif one.caught_up >= limit and not one.is_learner:
                (wanted if one.ack_offset >= place else waited_for).add(one.replica_id)
        self.members = self.ids | self._requested | waited_for
        return None if wanted == self.ids else frozenset(wanted)
