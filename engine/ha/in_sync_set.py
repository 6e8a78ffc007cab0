"""Who is in sync with a master: the set that the controller keeps, and the changes that the master asks for.

Only who is in sync may be elected, so a message is safe once all of them have it. What counts while a
change is asked for, and while nobody knows what became of one, is everybody who is in the set or in a
change: whichever of them the controller keeps, nobody in it lacks anything. The standard takes who lost
its connection out of the set before the controller has agreed, and can lose what it acknowledges then.
Standard: `AutoSwitchHAService`, `SyncStateSet`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from mqgateway.engine.options import StoreOptions


class Follower(Protocol):
    """What is known of a replica that is connected since `since`. Times in ms, offsets of the log."""

    replica_id: int
    ack_offset: int
    caught_up: int
    since: int

    def is_silent(self, patience: int, now: int) -> bool: ...

    @property
    def is_learner(self) -> bool: ...


class InSyncSet:
    """The set `ids` in its `epoch`, as the controller said last; `own_id` is the master's."""

    def __init__(self, own_id: int) -> None:
        self.own_id = own_id
        self.ids = frozenset([own_id])
        self.epoch = 0
        self.members = self.ids
        """Everybody who may be in the set by now, or is about to be asked for."""
        self._asked: frozenset[int] = frozenset()
        self._is_open = False

    def begin(self, own_id: int, ids: Iterable[int], epoch: int) -> None:
        """The controller has made this broker master: what was asked for before is over."""
        self.own_id = own_id
        self.ids, self.epoch = frozenset(ids) | {own_id}, epoch
        self._asked, self._is_open = frozenset(), False
        self.members = self.ids

    def take(self, ids: Iterable[int], epoch: int) -> bool:
        """The controller says what the set is; whether that was news. What was asked for is settled by a
        newer one, as the controller changes no set twice in one epoch of it."""
        if epoch <= self.epoch:
            return False
        self.begin(self.own_id, ids, epoch)
        return True

    @property
    def size(self) -> int:
        """How many are in sync; the larger number while a change is asked for. Standard: the same."""
        return max(len(self.ids), len(self._asked))

    def ask(self, wanted: frozenset[int]) -> None:
        """The controller is asked for another set."""
        self._asked |= wanted
        self.members |= wanted

    def refused(self) -> None:
        """The controller has said that it does not change the set. That settles it only if no earlier
        question is without an answer."""
        if not self._is_open:
            self._asked = frozenset()
            self.members = self.ids

    def unanswered(self) -> None:
        """Nobody knows what became of the last question: it may yet be agreed."""
        self._is_open = True

    def consider(
        self, followers: Iterable[Follower], place: int, now: int, patience: int, options: StoreOptions
    ) -> frozenset[int] | None:
        """The set as it should be, None where it is: without who is not connected, was silent for longer than
        `patience` or had not everything for `haMaxTimeSlaveNotCatchup`; with who keeps up and has
        everything before `place`.

        Who keeps up, but lacks something before `place`, is waited for from now on, so that it soon has all:
        under load a replica that nobody waits for is never quite there.
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
        self.members = self.ids | self._asked | waited_for
        return None if wanted == self.ids else frozenset(wanted)
