"""Replicas of a master under a controller, and the sends that wait for them.

With `allAckInSyncStateSet` a send waits for all replicas in sync, else for `inSyncReplicas` of them. Nothing
is stored while fewer than `minInSyncReplicas` are in sync. With `allAckInSyncStateSet` the confirm offset is
the minimum of all replicas in sync, and never decreases; a replica in sync that is not connected stops it. No
send is acknowledged after the master's lease has ended. RocketMQ: `AutoSwitchHAService.computeConfirmOffset`,
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

ALL_IN_SYNC = 1 << 30
"""Stands for the number of replicas in sync."""


class AgreedReplicas(Replicas):
    """Replicas with an in-sync set, `in_sync_set`, and an `agreement`, the confirm offset.

    `may_answer` returns True while this broker is certainly the master.
    """

    def __init__(
        self, options: StoreOptions, ends: LogEnds, agreement: Agreement, may_answer: Callable[[], bool]
    ) -> None:
        super().__init__(options, ends)
        self.in_sync_set = InSyncSet(0)
        self.agreement = agreement
        self._may_answer = may_answer
        self._confirm_watchers: list[Callable[[], None]] = []

    def watch_confirms(self, callback: Callable[[], None]) -> None:
        """Call back when the confirm offset may have moved, before sends that waited for it are answered."""
        self._confirm_watchers.append(callback)

    @property
    def wanted(self) -> int:
        """Number of replicas that must hold a send, by the settings."""
        return ALL_IN_SYNC if self._options.all_ack_in_sync_state_set else super().wanted

    @property
    def confirmed(self) -> int:
        """The offset up to which all replicas that count have the log."""
        limit = self.agreement.limit
        return self._log.position if limit is None else min(limit, self._log.position)

    def begin(self, own_id: int, ids: frozenset[int], epoch: int) -> None:
        """Become master: this log is the truth, once the others in sync, if any, have it."""
        self.in_sync_set.begin(own_id, ids, epoch)
        self.confirm()

    def confirm(self) -> None:
        """Update the confirm offset after an acknowledgement, or a change of the in-sync set."""
        agreement, members = self.agreement, self.in_sync_set.members
        if not self._options.all_ack_in_sync_state_set or len(members) == 1:
            agreement.limit = None
        elif agreement.limit is None:
            # Until now only this log counted.
            agreement.limit = self._log.position
        else:
            agreement.limit = max(agreement.limit, self._common(members))
        for callback in self._confirm_watchers:
            callback()

    def _common(self, members: frozenset[int]) -> int:
        """Return the minimum of the other members' acknowledged offsets; -1 if one is not connected."""
        acks = dict.fromkeys(members - {self.in_sync_set.own_id}, -1)
        for feed in self.feeds:
            if feed.replica_id in acks:
                acks[feed.replica_id] = max(acks[feed.replica_id], feed.ack_offset)
        return min(acks.values())

    def followers(self) -> list[EpochFeed]:
        """Return the connected replicas that are identified, each by its newest connection."""
        newest = {feed.replica_id: feed for feed in self.feeds if isinstance(feed, EpochFeed)}
        return [feed for number, feed in newest.items() if number > 0]

    def in_sync(self) -> int:
        """Return the number of replicas in sync, including this broker."""
        return self.in_sync_set.size

    def need(self, now: int) -> int | None:
        """Return the number of replicas that must hold a send; None if too few are in sync to store it."""
        options, there = self._options, self.in_sync_set.size
        if there < options.min_in_sync_replicas:
            return None
        if options.all_ack_in_sync_state_set:
            return ALL_IN_SYNC
        if options.enable_auto_in_sync_replicas:
            return max(min(super().wanted, there), options.min_in_sync_replicas)
        return super().wanted

    def high_water_mark(self, need: int) -> int:
        """Return the offset that at least `need` logs have, including this one; only members count."""
        return self.confirmed if need >= ALL_IN_SYNC else super().high_water_mark(need)

    def wait(self, end: int, now: int, need: int, done: Done) -> None:
        """Call `done` once `need` logs have everything before `end`, or after `slaveTimeout`."""
        if self._may_answer():
            super().wait(end, now, need, done)
        else:
            done(PutStatus.FLUSH_SLAVE_TIMEOUT)

    def acknowledged(self) -> None:
        """Answer the waiting sends after an acknowledgement of a replica."""
        if self._may_answer():
            self.confirm()
            super().acknowledged()

    def _counted(self) -> list[EpochFeed]:  # type: ignore[override]  # its feeds are of this type
        return [feed for feed in self.followers() if feed.replica_id in self.in_sync_set.members]
