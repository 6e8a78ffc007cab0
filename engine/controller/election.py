"""Choice of the master: first among the replicas in sync, then, if allowed, among all live ones.

In each group the old master stays if it is live and no other is designated. A designated replica wins, or
none does. Otherwise the newest epoch wins, then the greatest offset, then the lowest priority value. RocketMQ
compares offsets in 32 bits, so that a lead of 2 GiB may count as a lag; here they are compared correctly, and
complete ties go to the smallest id.

RocketMQ: `DefaultElectPolicy`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from mqgateway.engine.controller.liveness import ReplicaHeartbeat

IsAlive = Callable[[int], bool]
Said = Callable[[int], ReplicaHeartbeat]


def elect(
    in_sync: Collection[int],
    others: Collection[int],
    *,
    old: int | None,
    designated: int | None,
    is_alive: IsAlive,
    said: Said,
) -> int | None:
    """Return the id of the new master, or None. `others` can win only if no replica in sync can."""
    for ids in (in_sync, others):
        alive = [number for number in ids if is_alive(number)]
        winner = _elect_among(alive, old, designated, said)
        if winner is not None:
            return winner
    return None


def _elect_among(alive: list[int], old: int | None, designated: int | None, said: Said) -> int | None:
    if designated is not None:
        return designated if designated in alive else None
    if old in alive:
        return old

    def rank(number: int) -> tuple[int, int, int, int]:
        heartbeat = said(number)
        return -heartbeat.epoch, -heartbeat.max_offset, heartbeat.priority, number

    return min(alive, key=rank, default=None)
