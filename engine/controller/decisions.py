"""Decisions of the controller: pure functions of the broker sets and of the live brokers.

A decision has an answer, an event if something changes, and a refusal if not. Nothing has happened yet: the
answer may be sent once the event is agreed. Checks are in RocketMQ's order, with its remarks, in which a
missing value reads "null".

RocketMQ: `ReplicasInfoManager`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Generic, NamedTuple, TypeVar

from mqgateway.engine.controller.broker_set import FIRST_BROKER_ID, BrokerSet, changed
from mqgateway.engine.controller.election import elect
from mqgateway.engine.controller.events import (
    AlterSyncStateSet,
    ApplyBrokerId,
    CleanBrokerData,
    ElectMaster,
    Event,
    UpdateBrokerAddress,
)
from mqgateway.engine.controller.liveness import ReplicaHeartbeat, ReplicaKey

LONG_MAX = 2**63 - 1
NAME_LENGTH_MAX = 1024
"""Maximum of characters of a stored name, address or check code."""

_LONG = re.compile(r"[+-]?[0-9]{1,19}")

A = TypeVar("A")


class ControllerReason(Enum):
    """Reason of a refusal; named like RocketMQ's response codes, which begin with CONTROLLER_."""

    FENCED_MASTER_EPOCH = auto()
    FENCED_SYNC_STATE_SET_EPOCH = auto()
    INVALID_MASTER = auto()
    INVALID_REPLICAS = auto()
    MASTER_NOT_AVAILABLE = auto()
    BROKER_NOT_ALIVE = auto()
    BROKER_METADATA_NOT_EXIST = auto()
    INVALID_CLEAN_BROKER_METADATA = auto()
    BROKER_NEED_TO_BE_REGISTERED = auto()
    MASTER_STILL_EXIST = auto()
    ELECT_MASTER_FAILED = auto()
    ALTER_SYNC_STATE_SET_FAILED = auto()
    BROKER_ID_INVALID = auto()


class ControllerRefusal(NamedTuple):
    """A reason, and RocketMQ's text for it."""

    reason: ControllerReason
    remark: str


@dataclass(frozen=True, slots=True)
class ControllerDecision(Generic[A]):
    """The answer, which even a refusal may have; and the event to be agreed first.

    A refusal may have an event too: the master is gone, and there is no other.
    """

    answer: A
    event: Event | None = None
    refusal: ControllerRefusal | None = None


@dataclass(frozen=True, slots=True)
class DecisionInput:
    """Input of a decision: the sets by name, the live brokers, and their last heartbeats."""

    sets: Mapping[str, BrokerSet]
    is_alive: Callable[[ReplicaKey], bool]
    said: Callable[[ReplicaKey], ReplicaHeartbeat]
    unclean: bool = False
    """True if replicas that are not in sync may become master."""
    most_replicas: int = LONG_MAX
    """Maximum of replicas of all sets together."""

    def has(self, one: BrokerSet, broker_id: int | None) -> bool:
        """Return True if a replica of a set is live."""
        return broker_id is not None and self.is_alive(ReplicaKey(one.cluster, one.name, broker_id))


def next_broker_id(world: DecisionInput, name: str) -> ControllerDecision[int]:
    """Answer 1012: the id that a new replica should request."""
    found = world.sets.get(name)
    return ControllerDecision(FIRST_BROKER_ID if found is None else found.next_broker_id)


def apply_broker_id(
    world: DecisionInput, cluster: str, name: str, broker_id: int | None, check_code: str | None
) -> ControllerDecision[None]:
    """Answer 1013: assign an id to a replica; a retry needs the same check code, `address;ms`."""
    found = world.sets.get(name)
    if found is None and broker_id != FIRST_BROKER_ID:
        remark = f"Broker-set: {name} hasn't been registered in controller, "
        remark += f"but broker try to apply brokerId: {_text(broker_id)}"
        return _refused(None, ControllerReason.BROKER_ID_INVALID, remark)
    remark = f"Fail to apply brokerId: {_text(broker_id)} in broker-set: {name}"
    # In an election -1 means no broker, and no id could follow the greatest one.
    if broker_id is None or check_code is None or not FIRST_BROKER_ID <= broker_id < LONG_MAX:
        return _refused(None, ControllerReason.BROKER_ID_INVALID, remark)
    replica = None if found is None else found.replicas.get(broker_id)
    if replica is not None and replica.check_code != check_code:
        return _refused(None, ControllerReason.BROKER_ID_INVALID, remark)
    if replica is None and (limit := _beyond_limits(world, cluster, name, check_code)):
        return _refused(None, ControllerReason.BROKER_ID_INVALID, limit)
    address = check_code.partition(";")[0]
    return ControllerDecision(None, ApplyBrokerId(name, cluster, address, broker_id, check_code))


def _beyond_limits(world: DecisionInput, *texts: str) -> str:
    if sum(len(one.replicas) for one in world.sets.values()) >= world.most_replicas:
        return f"{world.most_replicas} replicas have ids, as many as maxBrokers allows"
    if any(len(one) > NAME_LENGTH_MAX for one in texts):
        return f"names, addresses and check codes may have {NAME_LENGTH_MAX} characters"
    return ""


class RegistrationAnswer(NamedTuple):
    """Answer to a registration: the set, and True if its master is live."""

    found: BrokerSet
    has_master: bool


def register_broker(
    world: DecisionInput, name: str, broker_id: int | None, address: str | None
) -> ControllerDecision[RegistrationAnswer | None]:
    """Answer 1003: register the address of a replica with an id, and return its master."""
    found = world.sets.get(name)
    if found is None:
        remark = f"Broker-set: {_text(name)} hasn't been registered in controller"
        return _refused(None, ControllerReason.BROKER_NEED_TO_BE_REGISTERED, remark)
    if broker_id is None or broker_id not in found.replicas:
        remark = f"BrokerId: {_text(broker_id)} hasn't been registered in broker-set: {name}"
        return _refused(None, ControllerReason.BROKER_NEED_TO_BE_REGISTERED, remark)
    has_master = world.has(found, found.master)
    if not address or address == found.replicas[broker_id].address:
        return ControllerDecision(RegistrationAnswer(found, has_master))
    if len(address) > NAME_LENGTH_MAX:
        remark = f"an address may have {NAME_LENGTH_MAX} characters"
        return _refused(None, ControllerReason.BROKER_NEED_TO_BE_REGISTERED, remark)
    event = UpdateBrokerAddress(name, found.cluster, address, broker_id)
    return ControllerDecision(RegistrationAnswer(found, has_master), event)


def replica_info(world: DecisionInput, name: str) -> ControllerDecision[BrokerSet | None]:
    """Answer 1004: the master and the in-sync set."""
    found = world.sets.get(name)
    if found is None:
        return _refused(None, ControllerReason.BROKER_METADATA_NOT_EXIST, "Broker metadata is not existed")
    return ControllerDecision(found)


def sync_state_data(world: DecisionInput, names: Iterable[str]) -> ControllerDecision[list[BrokerSet]]:
    """Answer 1006: the known sets of these names."""
    return ControllerDecision([world.sets[name] for name in names if name in world.sets])


def elect_master(
    world: DecisionInput, name: str, broker_id: int | None, designate: bool
) -> ControllerDecision[BrokerSet | None]:
    """Answer 1002, and elect after the loss of a master (without an id).

    The answer is the set after it; if the refusal is that its master stays, the unchanged set. The first
    replica that requests an election becomes the first master.
    """
    found = world.sets.get(name)
    if found is None:
        return _refused(None, ControllerReason.BROKER_NEED_TO_BE_REGISTERED, "Broker hasn't been registered")
    candidate = None if broker_id == -1 else broker_id
    if not found.had_master and candidate is not None:
        winner = candidate if candidate in found.replicas else None
    else:
        winner = elect(
            found.sync_state_set,
            found.replicas if world.unclean else (),
            old=found.master,
            designated=candidate if designate else None,
            is_alive=lambda number: world.has(found, number),
            said=lambda number: world.said(ReplicaKey(found.cluster, name, number)),
        )
    if winner is None:
        return _no_winner(found, candidate)
    if winner == found.master:
        remark = f"The old master {winner} is still alive, not need to elect new master for broker {name}"
        return _refused(found, ControllerReason.MASTER_STILL_EXIST, remark)
    event = ElectMaster(name, winner)
    return ControllerDecision(changed(found, event), event)


def _no_winner(found: BrokerSet, candidate: int | None) -> ControllerDecision[BrokerSet | None]:
    if candidate is not None:
        return _refused(None, ControllerReason.ELECT_MASTER_FAILED, "Failed to elect a new master")
    remark = "Old master has down and failed to elect a new broker master"
    # The loss of a master is recorded once. RocketMQ raises the epoch with each try; before the first
    # election that would end the set, as no replica could win it any more.
    event = None if found.master is None else ElectMaster(found.name, None)
    return ControllerDecision(None, event, ControllerRefusal(ControllerReason.MASTER_NOT_AVAILABLE, remark))


def alter_sync_state_set(
    world: DecisionInput,
    name: str,
    *,
    master: int | None,
    master_epoch: int | None,
    ids: frozenset[int],
    ids_epoch: int,
) -> ControllerDecision[BrokerSet | None]:
    """Answer 1001: a master changes its in-sync set; `ids_epoch` is that of the set it knows."""
    found = world.sets.get(name)
    refusal = _why_not_altered(world, found, master, master_epoch, ids, ids_epoch)
    if refusal is not None:
        return ControllerDecision(None, None, refusal)
    event = AlterSyncStateSet(name, ids)
    return ControllerDecision(changed(found, event), event)


def _why_not_altered(
    world: DecisionInput,
    found: BrokerSet | None,
    master: int | None,
    master_epoch: int | None,
    ids: frozenset[int],
    ids_epoch: int,
) -> ControllerRefusal | None:
    failed = ControllerReason.ALTER_SYNC_STATE_SET_FAILED
    if found is None:
        return ControllerRefusal(failed, "Broker metadata is not existed")
    if ids == found.sync_state_set:
        what = "The newSyncStateSet is equal with oldSyncStateSet, no needed to update syncStateSet"
        return ControllerRefusal(failed, what)
    why = "Rejecting alter syncStateSet request because the"
    if found.master is None or master != found.master:
        is_not = f"is:{{{_text(found.master)}}}, not {{{_text(master)}}}"
        return ControllerRefusal(ControllerReason.INVALID_MASTER, f"{why} current leader {is_not}")
    if master_epoch != found.master_epoch:
        is_not = f"is:{{{found.master_epoch}}}, not {{{_text(master_epoch)}}}"
        return ControllerRefusal(ControllerReason.FENCED_MASTER_EPOCH, f"{why} current master epoch {is_not}")
    if ids_epoch != found.sync_state_set_epoch:
        is_not = f"is:{{{found.sync_state_set_epoch}}}, not {{{ids_epoch}}}"
        return ControllerRefusal(
            ControllerReason.FENCED_SYNC_STATE_SET_EPOCH, f"{why} current syncStateSet epoch {is_not}"
        )
    for number in sorted(ids):
        if number not in found.replicas:
            return ControllerRefusal(
                ControllerReason.INVALID_REPLICAS, f"{why} replicas {{{number}}} don't exist"
            )
        if not world.has(found, number):
            return ControllerRefusal(
                ControllerReason.BROKER_NOT_ALIVE, f"{why} replicas {{{number}}} don't alive"
            )
    if master not in ids:
        return ControllerRefusal(failed, f"{why} newSyncStateSet don't contains origin leader {{{master}}}")
    return None


def clean_broker_data(
    world: DecisionInput, name: str, ids_text: str | None, living: bool
) -> ControllerDecision[None]:
    """Answer 1011: remove dead replicas, by ids separated by semicolons; or, with `living`, the whole set."""
    found, ids = world.sets.get(name), frozenset[int]()
    named = bool(ids_text and ids_text.strip())
    invalid = ControllerReason.INVALID_CLEAN_BROKER_METADATA
    if not living:
        if not named and found is not None and found.master is not None:
            return _refused(None, invalid, f"Broker {name} is still alive, clean up failure")
        try:
            ids = _read_ids(ids_text or "") if named else ids
        except ValueError as error:
            what = "Please set the option <brokerControllerIdsToClean> according to the format, exception: "
            what += f'java.lang.NumberFormatException: For input string: "{error}"'
            return _refused(None, invalid, what)
        for number in sorted(ids):
            if found is not None and world.has(found, number):
                return _refused(None, invalid, f"Broker [{name},  {number}] is still alive, clean up failure")
    if found is None:
        return _refused(None, invalid, f"Broker {name} is not existed,clean broker data failure.")
    return ControllerDecision(None, CleanBrokerData(name, ids))


def _read_ids(text: str) -> frozenset[int]:
    """Parse ids. Raises `ValueError` with an invalid part. Empty parts at the end are ignored, as in Java."""
    parts = text.rstrip(";").split(";")
    for part in parts:
        if not _LONG.fullmatch(part):
            raise ValueError(part)
    return frozenset(map(int, parts))


def sets_without_master(world: DecisionInput) -> list[str]:
    """Return the sets that need an election: they had a master, it is not live, and a replica is.

    A set whose master is known to be gone is included if a replica in sync is live again; RocketMQ waits for
    that replica's request. RocketMQ: `scanNeedReelectBrokerSets`.
    """
    return [
        name
        for name, one in world.sets.items()
        if one.had_master
        and not world.has(one, one.master)
        and any(world.has(one, number) for number in _candidates(world, one))
    ]


def _candidates(world: DecisionInput, one: BrokerSet) -> Iterable[int]:
    if one.master is not None or world.unclean:
        return one.replicas
    return one.sync_state_set


def _text(value: object) -> str:
    return "null" if value is None else str(value)


def _refused(answer: A, reason: ControllerReason, remark: str) -> ControllerDecision[A]:
    return ControllerDecision(answer, None, ControllerRefusal(reason, remark))
