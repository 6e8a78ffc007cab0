"""The replicas of a master under a controller, and the sends that wait for them.

A send waits for everybody in sync with `allAckInSyncStateSet`, else for `inSyncReplicas` of them; nothing is
stored while fewer than `minInSyncReplicas` are in sync. With `allAckInSyncStateSet` the log is confirmed
up to where all of them have it, and that never goes back: who is in sync and not connected stops it.
Nobody is answered once the master's authority is over. Standard: `AutoSwitchHAService.computeConfirmOffset`,
`CommitLog.handleHA`, `GroupTransferService`.
"""

from __future__ import annotations

from collections.abc import Callable

from mqgateway.engine.ha.epoch_feed import EpochFeed
from mqgateway.engine.ha.feed import LogEnds
from mqgateway.engine.ha.in_sync_set import InSyncSet
from mqgateway.engine.ha.replicas import Done, Replicas
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.store.log import Agreement
from mqgateway.engine.store.results import PutStatus

EVERYBODY = 1 << 30
"""As many logs as are in sync."""


class AgreedReplicas(Replicas):
    """`in_sync` is who is in sync, `agreement` says how far the log is confirmed. `may_answer` says
    whether this broker is the master beyond doubt; `on_confirmed` is called when the log may be confirmed
    further, before those are answered who waited for that."""

    def __init__(self, options: StoreOptions, ends: LogEnds, agreement: Agreement) -> None:
        super().__init__(options, ends)
        self.in_sync_set = InSyncSet(0)
        self.agreement = agreement
        self.may_answer: Callable[[], bool] = lambda: True
        self.on_confirmed: Callable[[], None] = lambda: None

    @property
    def wanted(self) -> int:
        """How many logs a send is to be in by the settings."""
        return EVERYBODY if self._options.all_ack_in_sync_state_set else super().wanted

    @property
    def confirmed(self) -> int:
        """Up to where everybody who counts has the log."""
        limit = self.agreement.limit
        return self._log.position if limit is None else min(limit, self._log.position)

    def begin(self, own_id: int, ids: frozenset[int], epoch: int) -> None:
        """This broker is made master: its log is the log, once others in sync, if there are any, have it."""
        self.in_sync_set.begin(own_id, ids, epoch)
        self.confirm()

    def confirm(self) -> None:
        """Find out how far the log is confirmed: something was acknowledged, or who is in sync has
        changed."""
        agreement, members = self.agreement, self.in_sync_set.members
        if not self._options.all_ack_in_sync_state_set or len(members) == 1:
            agreement.limit = None
        elif agreement.limit is None:
            # Until now this log alone counted.
            agreement.limit = self._log.position
        else:
            agreement.limit = max(agreement.limit, self._common(members))
        self.on_confirmed()

    def _common(self, members: frozenset[int]) -> int:
        """Up to where all others who count have the log; -1 while one of them is not connected."""
        acks = dict.fromkeys(members - {self.in_sync_set.own_id}, -1)
        for feed in self.feeds:
            if feed.replica_id in acks:
                acks[feed.replica_id] = max(acks[feed.replica_id], feed.ack_offset)
        return min(acks.values())

    def followers(self) -> list[EpochFeed]:
        """The replicas that are connected and have said who they are, each once: its newest connection."""
        newest = {feed.replica_id: feed for feed in self.feeds if isinstance(feed, EpochFeed)}
        return [feed for number, feed in newest.items() if number > 0]

    def in_sync(self) -> int:
        """How many are in sync, this broker counted."""
        return self.in_sync_set.size

    def need(self, now: int) -> int | None:
        """How many logs a send of now must be in; None when too few are in sync, and nothing may be
        stored."""
        options, there = self._options, self.in_sync_set.size
        if there < options.min_in_sync_replicas:
            return None
        if options.all_ack_in_sync_state_set:
            return EVERYBODY
        if options.enable_auto_in_sync_replicas:
            return max(min(super().wanted, there), options.min_in_sync_replicas)
        return super().wanted

    def high_water_mark(self, need: int) -> int:
        """Up to where at least `need` logs agree, our own counted; only those of members count."""
        return self.confirmed if need >= EVERYBODY else super().high_water_mark(need)

    def wait(self, end: int, now: int, need: int, done: Done) -> None:
        """Call `done` once `need` logs have everything before `end`, or it has taken `slaveTimeout`."""
        if self.may_answer():
            super().wait(end, now, need, done)
        else:
            done(PutStatus.FLUSH_SLAVE_TIMEOUT)

    def acknowledged(self) -> None:
        """A replica has acknowledged more: answer those who waited for that."""
        if self.may_answer():
            self.confirm()
            super().acknowledged()

    def _counted(self) -> list[EpochFeed]:  # type: ignore[override]  # its feeds are of this kind
        return [feed for feed in self.followers() if feed.replica_id in self.in_sync_set.members]
