"""All slaves of a master, and the sends that wait for them.

A send waits until a number of logs have it, including the master's: `inSyncReplicas`, or with
`allAckInSyncStateSet` every slave that keeps up. With `enableAutoInSyncReplicas` it waits for no more logs
than are in sync, but for at least `minInSyncReplicas`. If fewer than that, or than required, are in sync,
nothing is stored. A slave keeps up if its lag is less than `haMaxGapNotInSync` bytes, and for
`allAckInSyncStateSet` if it was caught up within `haMaxTimeSlaveNotCatchup` too.

Logs count, not connections: a slave that reconnected while its old connection hangs would count twice. So of
connections from one address the older ones count only if data arrived on them after the newest was opened; a
hanging connection never has any.

RocketMQ: `CommitLog.calcNeedAckNums`, `handleHA`, `GroupTransferService`.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from mqgateway.engine.ha.feed import Feed, LogEnds
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.store.message_store import PutStatus

log = logging.getLogger(__name__)

Done = Callable[[PutStatus], None]


class _Waiter(NamedTuple):
    end: int
    deadline: int
    done: Done


class Replicas:
    """The slaves of a master, each with its `Feed`, and the waiting sends. Times in ms."""

    def __init__(self, options: StoreOptions, ends: LogEnds) -> None:
        self._options = options
        self._log = ends
        self.feeds: list[Feed] = []
        self.alive: int | None = None
        """Number of live members reported by name servers, with this one; an upper limit of those in sync.

        None if they are not queried; they are where slaves may act for their master.
        """
        self._connected_at: dict[Feed, int] = {}
        self._waiting: dict[int, deque[_Waiter]] = {}

    @property
    def waiting(self) -> int:
        """Number of waiting sends."""
        return sum(map(len, self._waiting.values()))

    @property
    def wanted(self) -> int:
        """Number of replicas that must hold a send, by the settings."""
        return max(self._options.in_sync_replicas, self._options.min_in_sync_replicas)

    @property
    def patience(self) -> int:
        """Timeout of a waiting send, in ms."""
        return self._options.slave_timeout

    def add(self, feed: Feed, now: int) -> None:
        """Add a connected slave."""
        self.feeds.append(feed)
        self._connected_at[feed] = now

    def remove(self, feed: Feed) -> None:
        """Remove a disconnected slave."""
        self.feeds.remove(feed)
        del self._connected_at[feed]

    def in_sync(self) -> int:
        """Return the number of logs that keep up, including ours.

        RocketMQ: `inSyncReplicasNums`, `getAliveReplicaNumInGroup`.
        """
        keeping_up = 1 + sum(feed.is_in_sync() for feed in self._counted())
        return keeping_up if self.alive is None else min(keeping_up, self.alive)

    def need(self, now: int) -> int | None:
        """Return the number of logs that must hold a send now; None if too few keep up to store it."""
        options = self._options
        least = options.min_in_sync_replicas
        wanted = options.in_sync_replicas
        if options.all_ack_in_sync_state_set:
            limit = now - options.ha_max_time_slave_not_catchup
            wanted = 1 + sum(feed.is_in_sync() and feed.caught_up >= limit for feed in self._counted())
        elif options.enable_auto_in_sync_replicas:
            wanted = max(min(wanted, self.in_sync()), least)
            return None if wanted > self.in_sync() else wanted
        need = max(wanted, least)
        # Where slaves may act for their master, no send waits for more logs than there are.
        lacking = need if self.alive is not None else least
        return None if lacking > 1 and self.in_sync() < lacking else need

    def high_water_mark(self, need: int) -> int:
        """Return the offset that at least `need` logs have, including ours."""
        if need <= 1:
            return self._log.position
        acks = sorted((feed.ack_offset for feed in self._counted()), reverse=True)
        return acks[need - 2] if len(acks) >= need - 1 else 0

    def wait(self, end: int, now: int, need: int, done: Done) -> None:
        """Call `done` once `need` logs have everything before `end`, or after `slaveTimeout`."""
        if need <= 1 or self.high_water_mark(need) >= end:
            done(PutStatus.PUT_OK)
            return
        waiter = _Waiter(end, now + self.patience, done)
        self._waiting.setdefault(need, deque()).append(waiter)

    def acknowledged(self) -> None:
        """Answer the waiting sends after an acknowledgement of a slave."""
        for need, waiting in list(self._waiting.items()):
            mark = self.high_water_mark(need)
            while waiting and waiting[0].end <= mark:
                waiting.popleft().done(PutStatus.PUT_OK)
            if not waiting:
                self._waiting.pop(need, None)

    def expire(self, now: int) -> None:
        """Answer sends whose deadline has passed."""
        for need, waiting in list(self._waiting.items()):
            late = 0
            while waiting and waiting[0].deadline <= now:
                waiting.popleft().done(PutStatus.FLUSH_SLAVE_TIMEOUT)
                late += 1
            if late:
                log.warning("%d messages were not replicated to %d logs in time", late, need)
            if not waiting:
                self._waiting.pop(need, None)

    def release(self) -> None:
        """Answer all sends with a timeout: the role has changed, and their result is unknown."""
        waiting, self._waiting = self._waiting, {}
        for waiters in waiting.values():
            for waiter in waiters:
                waiter.done(PutStatus.FLUSH_SLAVE_TIMEOUT)

    def give_up(self) -> None:
        """Answer all sends, as the broker stops."""
        self.acknowledged()
        self.expire(max((one.deadline for waiting in self._waiting.values() for one in waiting), default=0))

    def _counted(self) -> list[Feed]:
        """Return the connections that stand for different logs, by the heuristic above."""
        newest: dict[str, int] = {}
        for feed in self.feeds:
            newest[_host(feed)] = max(newest.get(_host(feed), 0), self._connected_at[feed])
        return [
            feed
            for feed in self.feeds
            if self._connected_at[feed] == newest[_host(feed)] or feed.heard > newest[_host(feed)]
        ]


def _host(feed: Feed) -> str:
    return feed.address.rpartition(":")[0]
