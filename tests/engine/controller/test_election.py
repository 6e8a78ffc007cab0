"""Choice of the master."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from mqgateway.engine.controller.election import elect
from mqgateway.engine.controller.liveness import ReplicaHeartbeat


def winner(
    in_sync: Collection[int],
    alive: Collection[int],
    others: Collection[int] = (),
    old: int | None = None,
    designated: int | None = None,
    **said: ReplicaHeartbeat,
) -> int | None:
    """Return the winner; the heartbeat of 2 is `b2`."""
    return elect(
        in_sync,
        others,
        old=old,
        designated=designated,
        is_alive=set(alive).__contains__,
        said=lambda number: said.get(f"b{number}", ReplicaHeartbeat()),
    )


def test_only_who_is_in_sync_and_there_can_win() -> None:
    assert winner({1, 2}, {2, 3}) == 2
    assert winner({1}, {2, 3}) is None
    assert winner((), {1}) is None


def test_an_old_master_that_is_there_stays() -> None:
    assert winner({1, 2}, {1, 2}, old=2, b1=ReplicaHeartbeat(epoch=9)) == 2
    assert winner({1, 2}, {1}, old=2) == 1


def test_designated_replica_wins_or_none() -> None:
    assert winner({1, 2}, {1, 2}, old=1, designated=2) == 2
    assert winner({1, 2}, {1, 2}, old=1, designated=1) == 1
    assert winner({1, 2}, {1}, old=1, designated=2) is None
    assert winner({1}, {1, 2}, old=1, designated=2) is None


@pytest.mark.parametrize(
    ("first", "second", "wins"),
    [
        (ReplicaHeartbeat(epoch=2, max_offset=5), ReplicaHeartbeat(epoch=1, max_offset=500), 1),
        (ReplicaHeartbeat(epoch=2, max_offset=5), ReplicaHeartbeat(epoch=2, max_offset=6), 2),
        (
            ReplicaHeartbeat(epoch=2, max_offset=5, priority=2),
            ReplicaHeartbeat(epoch=2, max_offset=5, priority=1),
            2,
        ),
        (ReplicaHeartbeat(epoch=2, max_offset=5), ReplicaHeartbeat(epoch=2, max_offset=5), 1),
        (ReplicaHeartbeat(), ReplicaHeartbeat(epoch=0, max_offset=0), 2),
    ],
)
def test_epoch_then_offset_then_priority_decide(
    first: ReplicaHeartbeat, second: ReplicaHeartbeat, wins: int
) -> None:
    assert winner({1, 2}, {1, 2}, b1=first, b2=second) == wins


@pytest.mark.parametrize("ahead", [1, 2**31 - 1, 2**31, 2**32, 2**33 + 1, 2**62])
def test_offsets_are_compared_in_full(ahead: int) -> None:
    """In 32 bits, a lead of 2 GiB counts as a lag, and of 4 GiB as nothing."""
    assert (
        winner(
            {1, 2}, {1, 2}, b1=ReplicaHeartbeat(max_offset=100), b2=ReplicaHeartbeat(max_offset=100 + ahead)
        )
        == 2
    )
    assert (
        winner(
            {1, 2}, {1, 2}, b1=ReplicaHeartbeat(max_offset=100 + ahead), b2=ReplicaHeartbeat(max_offset=100)
        )
        == 1
    )


def test_others_win_only_without_candidate_in_sync() -> None:
    assert winner({1, 2}, {2, 3}, others={1, 2, 3}, b3=ReplicaHeartbeat(epoch=9)) == 2
    assert winner({1}, {2, 3}, others={1, 2, 3}, b3=ReplicaHeartbeat(epoch=9)) == 3
    assert winner({1}, {1, 3}, others={1, 3}, old=1, designated=3) == 3
