"""Results of events on a broker set, and its stored form."""

from __future__ import annotations

import json

import pytest

from mqgateway.engine.controller.broker_set import BrokerSet, changed
from mqgateway.engine.controller.events import (
    AlterSyncStateSet,
    ApplyBrokerId,
    CleanBrokerData,
    ElectMaster,
    Event,
    UpdateBrokerAddress,
)
from tests.support.engine.controller.sets import a_set, address, code


def after(before: BrokerSet | None, *events: Event) -> BrokerSet:
    for event in events:
        before = changed(before, event)
    assert before is not None
    return before


def applied(number: int) -> ApplyBrokerId:
    return ApplyBrokerId("brk", "CL", address(number), number, code(number))


def test_the_first_id_makes_the_set() -> None:
    made = after(None, applied(1))
    assert (made.cluster, made.name, made.next_broker_id) == ("CL", "brk", 2)
    assert (made.master, made.master_epoch, made.sync_state_set, made.sync_state_set_epoch) == (
        None,
        0,
        frozenset(),
        0,
    )
    assert not made.had_master and made.master_address is None


def test_an_id_that_is_given_again_changes_nothing() -> None:
    once = after(None, applied(1))
    assert after(once, applied(1)) == once


def test_the_next_id_was_never_given() -> None:
    """It is not the number of ids plus one, as in RocketMQ: a replica that applied for 5 would conflict with
    6.
    """
    assert after(None, applied(1), applied(5)).next_broker_id == 6
    assert after(None, applied(1), applied(5), applied(2)).next_broker_id == 6
    cleaned = after(None, applied(1), applied(2), CleanBrokerData("brk", frozenset([2])))
    assert cleaned.next_broker_id == 3


def test_an_election_moves_both_epochs_and_leaves_the_winner_alone_in_sync() -> None:
    elected = after(a_set(sync_state_set=frozenset([1, 2])), ElectMaster("brk", 2))
    assert (elected.master, elected.master_epoch) == (2, 2)
    assert (elected.sync_state_set, elected.sync_state_set_epoch) == (frozenset([2]), 2)
    assert elected.master_address == address(2)


def test_a_master_that_is_gone_leaves_the_set_in_sync() -> None:
    gone = after(a_set(sync_state_set=frozenset([1, 2])), ElectMaster("brk", None))
    assert (gone.master, gone.master_epoch, gone.master_address) == (None, 2, None)
    assert (gone.sync_state_set, gone.sync_state_set_epoch) == (frozenset([1, 2]), 1)


def test_a_new_set_in_sync_moves_its_own_epoch_alone() -> None:
    altered = after(a_set(), AlterSyncStateSet("brk", frozenset([1, 2])))
    assert (altered.sync_state_set, altered.sync_state_set_epoch) == (frozenset([1, 2]), 2)
    assert altered.master_epoch == 1


def test_a_replica_moves_with_its_check_code() -> None:
    moved = after(a_set(), UpdateBrokerAddress("brk", "CL", "elsewhere:1", 2))
    assert moved.replicas[2] == ("elsewhere:1", code(2))
    assert after(a_set(), UpdateBrokerAddress("brk", "CL", "elsewhere:1", 7)) == a_set()


def test_cleaning_forgets_replicas_or_the_whole_set() -> None:
    both = a_set(sync_state_set=frozenset([1, 2]))
    cleaned = after(both, CleanBrokerData("brk", frozenset([2])))
    assert set(cleaned.replicas) == cleaned.sync_state_set == {1}
    assert changed(both, CleanBrokerData("brk")) is None
    assert changed(both, CleanBrokerData("brk", frozenset([1, 2]))) is None


def test_epochs_survive_without_replica_in_sync() -> None:
    """RocketMQ forgets half of such a set, and begins with epoch 0 when a replica registers."""
    cleaned = after(a_set(), CleanBrokerData("brk", frozenset([1])))
    assert (cleaned.master_epoch, cleaned.sync_state_set, set(cleaned.replicas)) == (1, frozenset(), {2})
    assert cleaned.master_address is None


def test_events_of_unknown_sets_make_none() -> None:
    for event in (ElectMaster("x", 1), AlterSyncStateSet("x", frozenset([1])), CleanBrokerData("x")):
        assert changed(None, event) is None


@pytest.mark.parametrize("one", [a_set(), a_set(master=None, master_epoch=2**31), a_set((), master=None)])
def test_it_is_read_as_it_was_kept(one: BrokerSet) -> None:
    assert BrokerSet.from_json("brk", json.loads(json.dumps(one.to_json()))) == one
