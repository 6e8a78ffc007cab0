"""Queue locks: the client of a group that may consume a queue in order.

The time is passed in (ms of the monotonic clock). A lock lives 60 seconds from its last renewal and is
released at once when its client leaves the group. When the connection of its client breaks, the client may
still process messages, but for at most 30 seconds after it renewed the lock: official clients stop by
themselves then. After that another client may lock the queue; in RocketMQ it waits for the whole 60 seconds.

RocketMQ: `RebalanceLockManager`.
"""

from __future__ import annotations

from collections.abc import Iterable

from mqgateway.engine.options import BrokerOptions
from mqgateway.gateway.codec.bodies.message_queue import MessageQueue

LOCK_LIFE_MILLIS = 60_000
ORPHAN_LIFE_MILLIS = 30_000
"""Time a client itself relies on a lock. RocketMQ: `ProcessQueue.REBALANCE_LOCK_MAX_LIVE_TIME`."""


class Lock:
    """Owner of a queue, and the time of its last renewal (ms); `is_orphan` once its connection is lost."""

    __slots__ = ("client_id", "is_orphan", "renewed")

    def __init__(self, client_id: str, renewed: int) -> None:
        self.client_id = client_id
        self.renewed = renewed
        self.is_orphan = False

    def lives(self, now: int) -> bool:
        """Return True if the lock still excludes other clients."""
        return now - self.renewed <= (ORPHAN_LIFE_MILLIS if self.is_orphan else LOCK_LIFE_MILLIS)


class QueueLocks:
    """Locks of all groups, limited by `maxQueueLocksPerGroup` and `maxGroupsOnline`."""

    def __init__(self, options: BrokerOptions) -> None:
        self._options = options
        self._groups: dict[str, dict[MessageQueue, Lock]] = {}

    def lock(
        self, group: str, client_id: str, queues: Iterable[MessageQueue], now: int
    ) -> list[MessageQueue]:
        """Take or renew the locks of `queues`; return those that the client now holds."""
        locks = self._groups.get(group)
        if locks is None:
            if len(self._groups) >= self._options.max_groups_online:
                return []
            locks = self._groups[group] = {}
        held = [queue for queue in queues if self._lock_one(locks, queue, client_id, now)]
        if not locks:
            del self._groups[group]
        return held

    def _lock_one(
        self, locks: dict[MessageQueue, Lock], queue: MessageQueue, client_id: str, now: int
    ) -> bool:
        lock = locks.get(queue)
        if lock is None:
            if len(locks) >= self._options.max_queue_locks_per_group:
                return False
            locks[queue] = Lock(client_id, now)
            return True
        if lock.client_id != client_id and lock.lives(now):
            return False
        lock.client_id = client_id
        lock.renewed = now
        lock.is_orphan = False
        return True

    def unlock(self, group: str, client_id: str, queues: Iterable[MessageQueue]) -> None:
        """Release those of `queues` that the client holds."""
        locks = self._groups.get(group, {})
        self._remove(group, [q for q in set(queues) if q in locks and locks[q].client_id == client_id])

    def release_client(self, group: str, client_id: str) -> None:
        """Release all locks of a client that has left a group."""
        locks = self._groups.get(group, {})
        self._remove(group, [queue for queue, lock in locks.items() if lock.client_id == client_id])

    def orphan(self, group: str, client_id: str) -> None:
        """Mark the locks of a client whose connection is lost: unless renewed, they expire sooner."""
        for lock in self._groups.get(group, {}).values():
            if lock.client_id == client_id:
                lock.is_orphan = True

    def any_live(self, group: str, now: int) -> bool:
        """Return True if the group consumes any queue in order now."""
        return any(lock.lives(now) for lock in self._groups.get(group, {}).values())

    def expire(self, now: int) -> None:
        """Remove expired locks; they exclude no client, but cost memory."""
        for group, locks in list(self._groups.items()):
            self._remove(group, [queue for queue, lock in locks.items() if not lock.lives(now)])

    def _remove(self, group: str, queues: list[MessageQueue]) -> None:
        locks = self._groups.get(group)
        if locks is None:
            return
        for queue in queues:
            del locks[queue]
        if not locks:
            del self._groups[group]
