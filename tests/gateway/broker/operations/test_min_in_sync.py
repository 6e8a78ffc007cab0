"""`min.insync.replicas` of a topic: replicas that acks=all and deletions of records need in sync."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest
from twisted.internet.defer import Deferred

from mqgateway.engine.options import BrokerRole, FlushDiskType
from mqgateway.engine.record_batches.batches import Batch
from mqgateway.gateway.broker.operations import (
    Appended,
    NotEnoughReplicas,
    OperationError,
    Operations,
    Principal,
    Reason,
    Use,
)
from mqgateway.gateway.broker.operations.gate import Runner
from tests.support.engine.store.kafka_batches import kafka_batch
from tests.support.gateway.broker.controlled import BrokerSet
from tests.support.gateway.broker.group import Group, Member
from tests.support.gateway.broker.helpers import FakePeer
from tests.support.gateway.broker.ledgers import LedgerGroup

ASYNC, SYNC, _ = BrokerRole


class Producing:
    """A Kafka producer beside one broker; `outcomes` are what its batches were answered, in order."""

    def __init__(self, member: Member, least: int | None = 2) -> None:
        self._broker = member.service.broker
        self._operations = Operations(self._broker, cast(Runner, None))
        self.outcomes: list[Any] = []
        config = self._broker.tables.topics.get("T")
        assert config is not None
        if least is not None:
            config.attributes["kafka.min.insync.replicas"] = str(least)

    def send(self, *, is_all: bool = True, data: bytes = b"") -> Any:
        """Send a batch; what it is answered, None while it waits."""
        permit = self._operations.gate.admit(Principal(FakePeer(), None), Use.SEND)
        batch = Batch(memoryview(data or kafka_batch(b"v")))
        return self._outcome(lambda: self._operations.batches.append(permit, "T", 0, batch, is_all=is_all))

    def delete_before(self, offset: int) -> Any:
        """Delete records; what the request is answered, None while it waits."""
        permit = self._operations.gate.admit(Principal(FakePeer(), None), Use.DELETE_RECORDS)
        return self._outcome(lambda: self._operations.batches.delete_before(permit, "T", 0, offset))

    def _outcome(self, write: Callable[[], Any]) -> Any:
        before = len(self.outcomes)
        try:
            outcome = write()
        except OperationError as error:
            self.outcomes.append(error)
        else:
            if isinstance(outcome, Deferred):
                outcome.addCallbacks(
                    self.outcomes.append, lambda failure: self.outcomes.append(failure.value)
                )
            else:
                self.outcomes.append(outcome)
        return self.outcomes[before] if len(self.outcomes) > before else None

    @property
    def end(self) -> int:
        """The end of the queue."""
        return self._broker.store.max_offset("T", 0)

    @property
    def start(self) -> int:
        """The start of the queue."""
        return self._broker.store.min_offset("T", 0)


def is_after_append(outcome: Any) -> bool:
    """Return True for the refusal of a batch that is stored."""
    return isinstance(outcome, OperationError) and outcome.reason is Reason.SLAVE_NOT_AVAILABLE


@pytest.mark.parametrize("role", [ASYNC, SYNC])
def test_broker_without_slaves_has_one_replica_in_sync(role: BrokerRole) -> None:
    producing = Producing(Group().master(role))
    refused = producing.send()
    assert isinstance(refused, NotEnoughReplicas)
    assert refused.message == "too few replicas are in sync: 1 (min.insync.replicas of topic T: 2)"
    assert producing.end == 0
    assert producing.send(is_all=False) == Appended(0, -1, 0)
    assert Producing(Group().master(role), 1).send() == Appended(0, -1, 0)


def test_delete_records_without_enough_replicas_is_refused() -> None:
    group = Group()
    producing = Producing(group.master())
    assert producing.send(is_all=False) == Appended(0, -1, 0)
    refused = producing.delete_before(1)
    assert isinstance(refused, NotEnoughReplicas)
    assert refused.message == "too few replicas are in sync: 1 (min.insync.replicas of topic T: 2)"
    assert producing.start == 0


def test_delete_records_waits_for_the_slaves_that_are_needed() -> None:
    group = Group()
    master, slave = group.master(), group.slave()
    group.wait(1)
    producing = Producing(master)
    producing.send()
    group.wait(1)
    assert producing.delete_before(1) is None
    group.wait(1)
    assert producing.outcomes == [Appended(0, -1, 0), 1]
    assert slave.service.broker.store.min_offset("T", 0) == 1
    slave.stop()
    group.wait(1)
    assert Producing(master, 1).delete_before(1) == 1


@pytest.mark.parametrize("flush", list(FlushDiskType))
@pytest.mark.parametrize("role", [ASYNC, SYNC])
def test_slave_that_follows_is_waited_for(role: BrokerRole, flush: FlushDiskType) -> None:
    group = Group()
    master = group.master(role, flush_disk_type=flush)
    slave = group.slave()
    group.wait(1)
    producing = Producing(master)
    assert producing.send() is None
    group.wait(1)
    assert producing.outcomes == [Appended(0, -1, 0)]
    assert slave.bodies() == [b"v"]
    assert isinstance(Producing(master, 3).send(), NotEnoughReplicas)


def test_replicas_that_come_and_go_decide_each_time() -> None:
    group = Group()
    master, slave = group.master(), group.slave()
    group.wait(1)
    producing = Producing(master)
    producing.send()
    group.wait(1)
    slave.stop()
    group.wait(1)
    assert isinstance(producing.send(), NotEnoughReplicas)
    slave.begin(BrokerRole.SLAVE, 1)
    group.wait(1)
    producing.send()
    group.wait(1)
    assert [getattr(each, "base_offset", None) for each in producing.outcomes] == [0, None, 1]


def test_slave_that_is_lost_while_it_is_waited_for_leaves_the_batch_stored() -> None:
    group = Group()
    master, slave = group.master(), group.slave()
    group.wait(1)
    producing = Producing(master)
    data = kafka_batch(b"v", producer_id=7, producer_epoch=0, base_sequence=0)
    slave.kill()
    master.service.broker.produce.durability.replicas.in_sync = lambda: 2  # type: ignore[method-assign]
    assert producing.send(data=data) is None
    group.wait(4)
    assert is_after_append(producing.outcomes[0])
    assert producing.end == 1
    slave.begin(BrokerRole.SLAVE, 1)
    group.wait(1)
    producing.send(data=data)
    group.wait(1)
    assert (producing.outcomes[1], producing.end) == (Appended(0, -1, 0), 1)


def test_default_is_the_setting_of_the_broker() -> None:
    producing = Producing(Group().master(min_in_sync_replicas=2), None)
    assert isinstance(producing.send(), NotEnoughReplicas)
    assert Producing(Group().master(min_in_sync_replicas=2), 1).send() == Appended(0, -1, 0)


@pytest.mark.parametrize("all_ack", [True, False])
def test_controller_decides_which_replicas_are_in_sync(all_ack: bool) -> None:
    brokers = BrokerSet()
    master, slave = brokers.pair(all_ack_in_sync_state_set=all_ack)
    producing = Producing(master)
    assert producing.send() is None
    brokers.wait(1)
    assert producing.outcomes.pop() == Appended(0, -1, 0)
    slave.kill()
    brokers.wait(8)
    assert master.in_sync == {1}
    assert isinstance(producing.send(), NotEnoughReplicas)
    slave.again()
    brokers.wait(8)
    assert master.in_sync == {1, 2}
    producing.send()
    brokers.wait(1)
    assert producing.outcomes[-1] == Appended(1, -1, 0)


def test_replica_that_leaves_the_set_while_it_is_waited_for_leaves_the_batch_stored() -> None:
    brokers = BrokerSet()
    master, slave = brokers.pair(slave_timeout=20_000)
    producing = Producing(master)
    with slave.host.frozen():
        assert producing.send() is None
        brokers.wait(8)
        assert master.in_sync == {1}
        assert is_after_append(producing.outcomes[0])
        assert producing.end == 1


def test_dledger_group_promises_a_majority() -> None:
    group = LedgerGroup()
    leader = group.wait_for_leader()
    leader.create("T")
    producing = Producing(leader)
    producing.send()
    group.wait(1)
    assert producing.outcomes == [Appended(0, -1, 0)]
    assert isinstance(Producing(leader, 3).send(), NotEnoughReplicas)
