"""Answers of brokers in each role, by their common table."""

from __future__ import annotations

from typing import Any, cast

import pytest

from mqgateway.engine.ha.role import ReplicationRole, RoleKind
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.needs import Needs, RequestDeclaration
from mqgateway.gateway.broker.operations import Operations, Permit, Use
from mqgateway.gateway.broker.replication.role_requests import of_all_roles
from mqgateway.gateway.broker.replication.write_gate import closed_gate
from mqgateway.gateway.broker.requests import OF_ROOMS, REQUESTS
from mqgateway.gateway.broker.translated import Translated
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import (
    EndTransactionRequestHeader,
    UpdateConsumerOffsetRequestHeader,
)
from mqgateway.gateway.remoting.call import Call
from tests.support.gateway.broker.group import Group, Member
from tests.support.gateway.broker.helpers import FakePeer, MemoryBroker, pull_header, send_header
from tests.support.topics import topic_header

COMMITS, SUBSCRIBES, SUSPENDS = 1, 4, 2
FENCED = "service not available now. Here: this broker is fenced: another one may be the master."


@pytest.fixture
def member() -> Member:
    """A master with three messages that was fenced."""
    member = Group().master()
    member.send(3)
    member.service.broker.role.become(RoleKind.FENCED)
    return member


@pytest.fixture
def slave() -> Member:
    """A slave with three messages whose master stopped."""
    group = Group()
    master = group.master()
    slave = group.slave(slave_read_enable=True)
    master.send(3)
    group.wait(14)
    master.stop()
    return slave


class Scripted:
    """A broker in a role; records which request function is reached."""

    refusal = "not now"

    def __init__(self, kind: RoleKind, *, is_ready: bool = True) -> None:
        self.memory = MemoryBroker()
        self.context = self.memory.context
        broker = self.memory.broker
        broker.role = ReplicationRole(kind, 0 if kind is RoleKind.MASTER else 1)
        broker.store.gate = None if broker.role.is_master and is_ready else closed_gate(kind)
        if kind is RoleKind.ACTING:
            broker.pop.away = cast(Any, self)
        self.header = pull_header(sys_flag=COMMITS | SUBSCRIBES)

    def ask(self, needs: Needs) -> Reason | Any:
        """The reason of the refusal, or what the function was given of the broker's."""
        (serve,) = of_all_roles({1: RequestDeclaration(lambda broker, call: call.header, needs)}).values()
        call = Call(RemotingCommand.request(1), self.header, b"", FakePeer(), 0)
        try:
            return serve(self.context, call)
        except OperationError as error:
            return error.reason


def test_all_roles_have_one_table() -> None:
    assert REQUESTS.keys() == OF_ROOMS.keys()


@pytest.mark.parametrize("needs", Needs)
def test_a_master_answers_everything_by_itself(needs: Needs) -> None:
    master = Scripted(RoleKind.MASTER)
    assert master.ask(needs) is master.header
    assert master.header.sys_flag == COMMITS | SUBSCRIBES


@pytest.mark.parametrize("needs", Needs)
@pytest.mark.parametrize("kind", [RoleKind.FENCED, RoleKind.MASTER])
def test_broker_that_may_not_write_serves_only_requests_without_writes(kind: RoleKind, needs: Needs) -> None:
    broker = Scripted(kind, is_ready=False)
    if needs in (Needs.NOTHING, Needs.NO_TRACE):
        assert broker.ask(needs) is broker.header
    else:
        assert broker.ask(needs) is Reason.SERVICE_NOT_AVAILABLE


@pytest.mark.parametrize("needs", Needs)
@pytest.mark.parametrize("kind", [RoleKind.SLAVE, RoleKind.ACTING])
def test_slave_refuses_requests_that_need_a_master(kind: RoleKind, needs: Needs) -> None:
    broker = Scripted(kind)
    refused = {Needs.MASTER, Needs.MASTER_OR_OTHER}
    if kind is RoleKind.SLAVE:
        refused.add(Needs.MASTER_OR_ACTING)
    assert broker.ask(needs) is (Reason.SYSTEM_BUSY if needs in refused else broker.header)


@pytest.mark.parametrize("kind", [RoleKind.MASTER, RoleKind.FENCED, RoleKind.SLAVE, RoleKind.ACTING])
@pytest.mark.parametrize("use", [Use.RECEIVE, Use.RECEIVE_LITE, Use.CONNECT])
def test_translated_request_is_checked_and_gets_its_permit(use: Use, kind: RoleKind) -> None:
    broker, permits = Scripted(kind), []

    def translate(operations: Operations, permit: Permit, call: Call) -> Any:
        permits.append((permit, operations))
        return call.header

    operations = broker.context.operations
    (serve,) = of_all_roles({1: Translated(translate, use)}).values()
    call = Call(RemotingCommand.request(1), broker.header, b"", FakePeer(), 5)
    expected = broker.ask(use.needs)
    if isinstance(expected, Reason):
        with pytest.raises(OperationError) as refused:
            serve(broker.context, call)
        assert (refused.value.reason, permits) == (expected, [])
    else:
        assert serve(broker.context, call) is expected
        ((permit, given),) = permits
        assert (permit.use, permit.connection, permit.now, given) == (use, call.peer, 5, operations)


def test_fenced_broker_refuses_sends(member: Member) -> None:
    end = member.store.max_physical_offset
    answer = member.ask(RequestCode.SEND_MESSAGE_V2, send_header("T"), b"x")
    assert answer is not None
    assert (answer.code, answer.remark) == (ResponseCode.SERVICE_NOT_AVAILABLE, FENCED)
    assert member.store.max_physical_offset == end


def test_a_fenced_broker_acknowledges_nothing_else(member: Member) -> None:
    offset = UpdateConsumerOffsetRequestHeader(consumer_group="G", topic="T", queue_id=0, commit_offset=2)
    ended = EndTransactionRequestHeader(
        producer_group="P",
        tran_state_table_offset=0,
        commit_log_offset=0,
        commit_or_rollback=8,
        from_transaction_check=False,
        msg_id="x",
    )
    refused = [
        member.code(RequestCode.UPDATE_CONSUMER_OFFSET, offset),
        member.code(RequestCode.END_TRANSACTION, ended),
        member.code(RequestCode.UPDATE_AND_CREATE_TOPIC, topic_header("new")),
        member.code(RequestCode.LOCK_BATCH_MQ, None, b"{}"),
    ]
    assert refused == [ResponseCode.SERVICE_NOT_AVAILABLE] * 4
    assert member.service.broker.tables.topics.get("new") is None


def test_fenced_broker_serves_reads_and_records_nothing(member: Member) -> None:
    answer = member.pull(0, COMMITS | SUBSCRIBES, commit_offset=2)
    assert answer is not None
    assert (answer.code, answer.ext_fields["nextBeginOffset"]) == (0, "3")
    assert member.service.broker.tables.offsets.query("G", "T", 0) == -1
    assert member.code(RequestCode.GET_BROKER_RUNTIME_INFO) == 0


def test_master_that_is_not_ready_commits_no_offset_of_a_pull(slave: Member) -> None:
    slave.service.broker.role.become(RoleKind.MASTER, epoch=1)
    assert slave.pull(0, COMMITS | SUBSCRIBES, commit_offset=2) is not None
    assert slave.service.broker.tables.offsets.query("G", "T", 0) == -1


def test_slave_commits_the_offset_of_a_pull(slave: Member) -> None:
    assert slave.pull(0, COMMITS | SUBSCRIBES, commit_offset=2) is not None
    assert slave.service.broker.tables.offsets.query("G", "T", 0) == 2


def test_pulls_may_wait_at_a_fenced_broker_until_its_role_changes(member: Member) -> None:
    assert member.pull(3, SUBSCRIBES | SUSPENDS) is None
    talker = member.talker
    member.service.broker.role.become(RoleKind.MASTER)
    member.group.wait(0)
    (answer,) = talker.take()
    assert answer.code == ResponseCode.PULL_NOT_FOUND


def test_new_master_refuses_writes_until_it_is_ready(slave: Member) -> None:
    slave.service.broker.role.become(RoleKind.MASTER, epoch=1)
    answer = slave.ask(RequestCode.SEND_MESSAGE_V2, send_header("T"), b"x")
    assert answer is not None
    assert answer.code == ResponseCode.SERVICE_NOT_AVAILABLE
    assert "about to be the master" in (answer.remark or "")
    slave.group.wait(1)
    slave.send()
    assert slave.bodies() == [b"hello"] * 4
