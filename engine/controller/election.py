"""Who becomes master: first among those that are in sync, then, if that is allowed, among all that are there.

In each of the two the old master stays if it is there and nobody else is asked for; who is asked for is
taken, or nobody; else the newest epoch wins, then the greatest offset, then the least priority. The standard
compares offsets in 32 bits, so that 2 GiB more may count as less; here they are compared as they are, and
complete ties go to the least id.
Standard: `DefaultElectPolicy`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from mqgateway.engine.controller.liveness import Beat

IsAlive = Callable[[int], bool]
Said = Callable[[int], Beat]


def elect(
    in_sync: Collection[int],
    others: Collection[int],
    *,
    old: int | None,
    designated: int | None,
    is_alive: IsAlive,
    said: Said,
) -> int | None:
    """The id of the master to be; None when there is none. `others` may win only when nobody in sync can."""
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
        beat = said(number)
        return -beat.epoch, -beat.max_offset, beat.priority, number

    return min(alive, key=rank, default=None)
