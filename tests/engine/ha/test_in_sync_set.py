"""The in-sync set: additions, removals, and the members that count while a request is unanswered."""

from __future__ import annotations

from dataclasses import dataclass

from mqgateway.engine.ha.in_sync_set import InSyncSet
from tests.support.engine.ha.logs import options


@dataclass
class Replica:
    replica_id: int
    ack_offset: int = 100
    caught_up: int = 0
    since: int = 0
    is_learner: bool = False
    heard: int = 1000

    def is_silent(self, patience: int, now: int) -> bool:
        return now - self.heard > patience


def consider(one: InSyncSet, *replicas: Replica, place: int = 100, now: int = 1000) -> frozenset[int] | None:
    return one.consider(replicas, place, now, 2500, options())


def pair() -> InSyncSet:
    """Return a set with master 1, and 2 in sync with it."""
    one = InSyncSet(1)
    one.begin(1, {1, 2}, 5)
    return one


def test_caught_up_replica_is_added() -> None:
    one = InSyncSet(1)
    assert consider(one, Replica(2)) == {1, 2}
    assert one.members == {1}
    one.ask(frozenset({1, 2}))
    assert (one.members, one.ids, one.size) == ({1, 2}, {1}, 2)
    assert one.take({1, 2}, 1)
    assert (one.members, one.ids, one.size) == ({1, 2}, {1, 2}, 2)
    assert consider(one, Replica(2)) is None


def test_sends_wait_for_nearly_caught_up_replica() -> None:
    """Then nothing is confirmed without it, and its next report has everything."""
    one = InSyncSet(1)
    assert consider(one, Replica(2, ack_offset=90)) is None
    assert one.members == {1, 2}
    assert one.size == 1
    assert consider(one) is None
    assert one.members == {1}


def test_a_learner_and_who_lags_stay_outside() -> None:
    one = InSyncSet(1)
    assert consider(one, Replica(2, is_learner=True), Replica(3, caught_up=-20_000)) is None
    assert one.members == {1}


def test_lost_or_lagging_replica_counts_until_it_is_removed() -> None:
    one = pair()
    assert consider(one) == {1}
    assert consider(one, Replica(2, caught_up=-15_000, since=-15_000)) == {1}
    assert consider(one, Replica(2, caught_up=-(2**62), since=900)) is None
    one.ask(frozenset({1}))
    assert (one.members, one.size) == ({1, 2}, 2)
    assert one.take({1}, 6)
    assert one.members == {1}


def test_silent_replica_is_removed() -> None:
    one = pair()
    assert consider(one, Replica(2, caught_up=3000), now=3500) is None
    assert consider(one, Replica(2, caught_up=3000), now=3501) == {1}


def test_refusal_settles_requests_unless_one_is_unanswered() -> None:
    one = InSyncSet(1)
    one.ask(frozenset({1, 2}))
    one.refused()
    assert one.members == {1}
    one.ask(frozenset({1, 2}))
    one.unanswered()
    one.ask(frozenset({1, 3}))
    one.refused()
    assert one.members == {1, 2, 3}
    assert not one.take({1}, 0)
    assert one.take({1, 3}, 1)
    assert one.members == {1, 3}


def test_new_master_starts_over() -> None:
    one = pair()
    one.ask(frozenset({1, 2, 3}))
    one.begin(2, {2}, 9)
    assert (one.own_id, one.members, one.epoch) == (2, {2}, 9)
