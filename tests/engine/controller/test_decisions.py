"""Every decision and every refusal, in RocketMQ's order and with the remarks of 5.5.0."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.engine.controller.broker_set import BrokerSet
from mqgateway.engine.controller.decisions import (
    ControllerDecision,
    ControllerReason,
    ControllerRefusal,
    DecisionInput,
    alter_sync_state_set,
    apply_broker_id,
    clean_broker_data,
    elect_master,
    next_broker_id,
    register_broker,
    replica_info,
    sets_without_master,
    sync_state_data,
)
from mqgateway.engine.controller.events import (
    AlterSyncStateSet,
    ApplyBrokerId,
    CleanBrokerData,
    ElectMaster,
    UpdateBrokerAddress,
)
from mqgateway.engine.controller.liveness import ReplicaHeartbeat
from tests.support.engine.controller.sets import a_set, address, code, world

BOTH = frozenset([1, 2])


def refusal(decision: ControllerDecision[Any]) -> ControllerRefusal:
    """Return the refusal; there must be no event."""
    assert decision.event is None
    assert decision.refusal is not None
    return decision.refusal


# Ids


def test_next_id_of_an_unknown_set_is_one() -> None:
    assert next_broker_id(world(), "brk").answer == 1
    assert next_broker_id(world(a_set()), "brk").answer == 3


def test_an_id_that_is_free_is_given() -> None:
    for on, number in ((world(), 1), (world(a_set()), 3), (world(a_set()), 9)):
        decision = apply_broker_id(on, "CL", "brk", number, code(number))
        assert decision == ControllerDecision(
            None, ApplyBrokerId("brk", "CL", address(number), number, code(number))
        )


def test_an_id_is_given_again_for_the_same_check_code() -> None:
    assert apply_broker_id(world(a_set()), "CL", "brk", 2, code(2)).event is not None
    taken = apply_broker_id(world(a_set()), "CL", "brk", 2, code(3))
    assert refusal(taken) == (
        ControllerReason.BROKER_ID_INVALID,
        "Fail to apply brokerId: 2 in broker-set: brk",
    )


def test_the_first_id_of_a_set_is_one() -> None:
    assert refusal(apply_broker_id(world(), "CL", "nn", 5, code(5))) == (
        ControllerReason.BROKER_ID_INVALID,
        "Broker-set: nn hasn't been registered in controller, but broker try to apply brokerId: 5",
    )


@pytest.mark.parametrize("number", [None, -1, 0, 2**63 - 1])
def test_invalid_id_is_refused(number: int | None) -> None:
    assert (
        "Fail to apply brokerId" in refusal(apply_broker_id(world(a_set()), "CL", "brk", number, "x")).remark
    )


def test_no_check_code_no_id() -> None:
    assert (
        refusal(apply_broker_id(world(), "CL", "brk", 1, None)).reason is ControllerReason.BROKER_ID_INVALID
    )


def test_the_sets_do_not_grow_for_ever() -> None:
    full = world(a_set(), most_replicas=2)
    assert "maxBrokers" in refusal(apply_broker_id(full, "CL", "brk", 3, code(3))).remark
    assert apply_broker_id(full, "CL", "brk", 2, code(2)).event is not None
    long = apply_broker_id(world(), "CL", "x" * 1025, 1, code(1))
    assert "1024 characters" in refusal(long).remark


# Registration


def test_a_replica_learns_of_a_master_that_is_there() -> None:
    answer = register_broker(world(a_set(), alive=[1]), "brk", 2, address(2))
    assert answer.event is None and answer.answer == (a_set(), True)
    answer = register_broker(world(a_set(), alive=[2]), "brk", 2, address(2))
    assert answer.answer == (a_set(), False)
    leaderless = a_set(master=None)
    assert register_broker(world(leaderless, alive=[1, 2]), "brk", 2, address(2)).answer == (
        leaderless,
        False,
    )


def test_a_replica_that_has_moved_says_so() -> None:
    moved = register_broker(world(a_set()), "brk", 2, "else:1")
    assert moved.event == UpdateBrokerAddress("brk", "CL", "else:1", 2)
    assert register_broker(world(a_set()), "brk", 2, None).event is None
    assert "1024" in refusal(register_broker(world(a_set()), "brk", 2, "x" * 1025)).remark


def test_replica_without_id_cannot_register() -> None:
    needed = ControllerReason.BROKER_NEED_TO_BE_REGISTERED
    on = world(a_set())
    assert refusal(register_broker(on, "nn", 1, "a")) == (
        needed,
        "Broker-set: nn hasn't been registered in controller",
    )
    assert refusal(register_broker(on, "brk", 5, "a")) == (
        needed,
        "BrokerId: 5 hasn't been registered in broker-set: brk",
    )
    assert "BrokerId: null" in refusal(register_broker(on, "brk", None, "a")).remark


# Queries


def test_set_is_reported_or_unknown() -> None:
    assert replica_info(world(a_set()), "brk").answer == a_set()
    assert refusal(replica_info(world(), "brk")) == (
        ControllerReason.BROKER_METADATA_NOT_EXIST,
        "Broker metadata is not existed",
    )


def test_sets_that_are_unknown_are_left_out() -> None:
    assert sync_state_data(world(a_set()), ["x", "brk"]).answer == [a_set()]


# Elections


def elected(
    on: DecisionInput, number: int | None, designate: bool = False
) -> ControllerDecision[BrokerSet | None]:
    return elect_master(on, "brk", number, designate)


def new_set(**fields: Any) -> BrokerSet:
    """Return a set that never had a master."""
    never: dict[str, Any] = {"master": None, "master_epoch": 0, "sync_state_set": frozenset()}
    return a_set(**(never | {"sync_state_set_epoch": 0} | fields))


def test_unknown_set_elects_no_master() -> None:
    assert refusal(elected(world(), 1)) == (
        ControllerReason.BROKER_NEED_TO_BE_REGISTERED,
        "Broker hasn't been registered",
    )


@pytest.mark.parametrize("designate", [False, True])
def test_the_first_master_is_who_asks_first_heard_of_or_not(designate: bool) -> None:
    decision = elected(world(new_set()), 2, designate)
    assert decision.event == ElectMaster("brk", 2)
    assert decision.answer is not None
    after = decision.answer
    assert (after.master, after.master_epoch, after.sync_state_set_epoch) == (2, 1, 1)
    assert after.sync_state_set == {2}


def test_replica_without_id_is_not_first_master() -> None:
    """RocketMQ elects any number it is given."""
    assert refusal(elected(world(new_set()), 9)).reason is ControllerReason.ELECT_MASTER_FAILED


@pytest.mark.parametrize("number", [None, -1])
def test_a_set_that_never_had_a_master_stays_to_be_won(number: int | None) -> None:
    """RocketMQ raises the epoch, after which no replica can win."""
    assert (
        refusal(elected(world(new_set(), alive=[1, 2]), number)).reason
        is ControllerReason.MASTER_NOT_AVAILABLE
    )


@pytest.mark.parametrize(("number", "designate"), [(2, False), (1, True), (None, False), (-1, False)])
def test_a_master_that_is_there_stays(number: int | None, designate: bool) -> None:
    one = a_set(sync_state_set=BOTH)
    decision = elected(world(one, alive=[1, 2]), number, designate)
    assert refusal(decision) == (
        ControllerReason.MASTER_STILL_EXIST,
        "The old master 1 is still alive, not need to elect new master for broker brk",
    )
    assert decision.answer == one


def test_an_operator_may_choose_another_one_in_sync() -> None:
    on = world(a_set(sync_state_set=BOTH), alive=[1, 2])
    decision = elected(on, 2, True)
    assert decision.event == ElectMaster("brk", 2)
    assert decision.answer is not None and decision.answer.master_epoch == 2


@pytest.mark.parametrize(("in_sync", "alive"), [(BOTH, [1]), (frozenset([1]), [1, 2])])
def test_designated_replica_must_be_live_and_in_sync(in_sync: frozenset[int], alive: list[int]) -> None:
    on = world(a_set(sync_state_set=in_sync), alive=alive)
    assert refusal(elected(on, 2, True)) == (
        ControllerReason.ELECT_MASTER_FAILED,
        "Failed to elect a new master",
    )


def test_a_lost_master_is_followed_by_the_best_one_in_sync() -> None:
    one = a_set((1, 2, 3), sync_state_set=frozenset([1, 2, 3]))
    on = world(
        one,
        alive=[2, 3],
        said={2: ReplicaHeartbeat(epoch=1, max_offset=5), 3: ReplicaHeartbeat(epoch=1, max_offset=2**32)},
    )
    assert elected(on, None).event == ElectMaster("brk", 3)


@pytest.mark.parametrize("number", [None, -1])
def test_a_master_without_a_follower_is_noted_as_gone_once(number: int | None) -> None:
    decision = elected(world(a_set(), alive=[2]), number)
    assert decision.event == ElectMaster("brk", None)
    assert decision.refusal == (
        ControllerReason.MASTER_NOT_AVAILABLE,
        "Old master has down and failed to elect a new broker master",
    )
    again = elected(world(a_set(master=None, master_epoch=2), alive=[2]), number)
    assert refusal(again).reason is ControllerReason.MASTER_NOT_AVAILABLE


def test_broker_that_asks_unsuccessfully_changes_nothing() -> None:
    on = world(a_set(master=None, master_epoch=2), alive=[2])
    assert refusal(elected(on, 2)).remark == "Failed to elect a new master"


def test_replica_out_of_sync_wins_only_with_unclean_election() -> None:
    assert elected(world(a_set(), alive=[2], unclean=True), None).event == ElectMaster("brk", 2)
    assert elected(world(a_set(), alive=[2]), None).event == ElectMaster("brk", None)


# The in-sync set


def altered(on: DecisionInput | None = None, **fields: Any) -> ControllerDecision[BrokerSet | None]:
    """Return the decision on a request of master 1 of epoch 1 for 1 and 2."""
    usual: dict[str, Any] = {"master": 1, "master_epoch": 1, "ids": BOTH, "ids_epoch": 1}
    return alter_sync_state_set(on or world(a_set(), alive=[1, 2]), "brk", **(usual | fields))


def test_a_master_says_who_is_in_sync() -> None:
    decision = altered()
    assert decision.event == AlterSyncStateSet("brk", BOTH)
    assert decision.answer is not None
    assert (decision.answer.sync_state_set, decision.answer.sync_state_set_epoch) == (BOTH, 2)


REJECTING = "Rejecting alter syncStateSet request because the "


@pytest.mark.parametrize(
    ("fields", "reason", "remark"),
    [
        (
            {"ids": frozenset([1]), "master": 9},
            ControllerReason.ALTER_SYNC_STATE_SET_FAILED,
            "The newSyncStateSet is equal with oldSyncStateSet, no needed to update syncStateSet",
        ),
        (
            {"master": 2, "master_epoch": 9},
            ControllerReason.INVALID_MASTER,
            REJECTING + "current leader is:{1}, not {2}",
        ),
        ({"master": None}, ControllerReason.INVALID_MASTER, REJECTING + "current leader is:{1}, not {null}"),
        (
            {"master_epoch": 2, "ids_epoch": 9},
            ControllerReason.FENCED_MASTER_EPOCH,
            REJECTING + "current master epoch is:{1}, not {2}",
        ),
        (
            {"master_epoch": None},
            ControllerReason.FENCED_MASTER_EPOCH,
            REJECTING + "current master epoch is:{1}, not {null}",
        ),
        (
            {"ids_epoch": 0, "ids": frozenset([7])},
            ControllerReason.FENCED_SYNC_STATE_SET_EPOCH,
            REJECTING + "current syncStateSet epoch is:{1}, not {0}",
        ),
        (
            {"ids": frozenset([1, 7])},
            ControllerReason.INVALID_REPLICAS,
            REJECTING + "replicas {7} don't exist",
        ),
        (
            {"ids": frozenset([1, 3])},
            ControllerReason.BROKER_NOT_ALIVE,
            REJECTING + "replicas {3} don't alive",
        ),
        (
            {"ids": frozenset([2])},
            ControllerReason.ALTER_SYNC_STATE_SET_FAILED,
            REJECTING + "newSyncStateSet don't contains origin leader {1}",
        ),
    ],
)
def test_a_set_is_refused_for_the_first_reason_there_is(
    fields: dict[str, Any], reason: ControllerReason, remark: str
) -> None:
    assert refusal(altered(world(a_set((1, 2, 3)), alive=[1, 2]), **fields)) == (reason, remark)


def test_set_is_refused_without_a_master_and_without_replicas() -> None:
    leaderless = altered(world(a_set(master=None), alive=[1, 2]), master=None)
    assert refusal(leaderless).remark == REJECTING + "current leader is:{null}, not {null}"
    assert refusal(altered(world())) == (
        ControllerReason.ALTER_SYNC_STATE_SET_FAILED,
        "Broker metadata is not existed",
    )


# Removal


@pytest.mark.parametrize(
    ("ids", "remark"),
    [
        (None, "Broker brk is still alive, clean up failure"),
        (" ", "Broker brk is still alive, clean up failure"),
        ("1;2", "Broker [brk,  2] is still alive, clean up failure"),
        (
            "1;x",
            "Please set the option <brokerControllerIdsToClean> according to the format, exception: "
            'java.lang.NumberFormatException: For input string: "x"',
        ),
        (
            ";1",
            "Please set the option <brokerControllerIdsToClean> according to the format, exception: "
            'java.lang.NumberFormatException: For input string: ""',
        ),
    ],
)
def test_live_replicas_are_not_removed(ids: str | None, remark: str) -> None:
    decision = clean_broker_data(world(a_set(), alive=[2]), "brk", ids, False)
    assert refusal(decision) == (ControllerReason.INVALID_CLEAN_BROKER_METADATA, remark)


def test_replicas_that_are_gone_are_forgotten() -> None:
    decision = clean_broker_data(world(a_set(), alive=[1]), "brk", "2;", False)
    assert decision == ControllerDecision(None, CleanBrokerData("brk", frozenset([2])))
    masterless = world(a_set(master=None))
    assert clean_broker_data(masterless, "brk", None, False).event == CleanBrokerData("brk")


def test_a_living_set_is_forgotten_as_a_whole() -> None:
    """Ids in the request are ignored, as by RocketMQ."""
    decision = clean_broker_data(world(a_set(), alive=[1, 2]), "brk", "2", True)
    assert decision.event == CleanBrokerData("brk")


@pytest.mark.parametrize(("ids", "living"), [(None, True), (None, False), ("3", False)])
def test_an_unknown_set_cannot_be_forgotten(ids: str | None, living: bool) -> None:
    assert refusal(clean_broker_data(world(), "zz", ids, living)) == (
        ControllerReason.INVALID_CLEAN_BROKER_METADATA,
        "Broker zz is not existed,clean broker data failure.",
    )


# The scan


@pytest.mark.parametrize(
    ("one", "alive", "needs"),
    [
        (a_set(), [1, 2], False),
        (a_set(), [2], True),
        (a_set(), [], False),
        (new_set(), [1, 2], False),
        (a_set(master=None, master_epoch=2), [1], True),
        (a_set(master=None, master_epoch=2), [2], False),
    ],
)
def test_sets_whose_master_is_gone_need_an_election(one: BrokerSet, alive: list[int], needs: bool) -> None:
    assert sets_without_master(world(one, alive=alive)) == (["brk"] if needs else [])


def test_set_with_unclean_election_waits_for_any_replica() -> None:
    on = world(a_set(master=None, master_epoch=2), alive=[2], unclean=True)
    assert sets_without_master(on) == ["brk"]
