"""What brokers answer in each role, by the one table they all have."""

from __future__ import annotations

import pytest

from mqgateway.engine.ha.role import RoleKind
from mqgateway.gateway.broker.replication.role_requests import REFUSED_WHILE_FENCED, of_all_roles
from mqgateway.gateway.broker.replication.slave_requests import SLAVE_CHECKS
from mqgateway.gateway.broker.requests import OF_MASTERS, REQUESTS
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.headers import (
    EndTransactionRequestHeader,
    UpdateConsumerOffsetRequestHeader,
)
from tests.support.gateway.broker.group import Group, Member
from tests.support.gateway.broker.helpers import send_header
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


def test_all_roles_have_one_table() -> None:
    assert REQUESTS.keys() == OF_MASTERS.keys() == of_all_roles(OF_MASTERS).keys()
    # What a slave answers otherwise is never asked of a fenced broker as of a master.
    assert SLAVE_CHECKS.keys() <= REFUSED_WHILE_FENCED | {
        RequestCode.PULL_MESSAGE,
        RequestCode.LITE_PULL_MESSAGE,
    }


def test_a_fenced_broker_takes_no_messages(member: Member) -> None:
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
    assert member.service.broker.topics.get("new") is None


def test_a_fenced_broker_is_read_and_notes_nothing(member: Member) -> None:
    answer = member.pull(0, COMMITS | SUBSCRIBES, commit_offset=2)
    assert answer is not None
    assert (answer.code, answer.ext_fields["nextBeginOffset"]) == (0, "3")
    assert member.service.broker.offsets.query("G", "T", 0) == -1
    assert member.code(RequestCode.GET_BROKER_RUNTIME_INFO) == 0


def test_pulls_may_wait_at_a_fenced_broker_until_its_role_changes(member: Member) -> None:
    assert member.pull(3, SUBSCRIBES | SUSPENDS) is None
    talker = member.talker
    member.service.broker.role.become(RoleKind.MASTER)
    member.group.wait(0)
    (answer,) = talker.take()
    assert answer.code == ResponseCode.PULL_NOT_FOUND


def test_a_master_that_is_to_be_takes_nothing_until_it_is_ready() -> None:
    group = Group()
    master = group.master()
    slave = group.slave(slave_read_enable=True)
    master.send(3)
    group.wait(14)
    master.stop()
    slave.service.broker.role.become(RoleKind.MASTER, epoch=1)
    answer = slave.ask(RequestCode.SEND_MESSAGE_V2, send_header("T"), b"x")
    assert answer is not None
    assert answer.code == ResponseCode.SERVICE_NOT_AVAILABLE
    assert "about to be the master" in (answer.remark or "")
    group.wait(1)
    slave.send()
    assert slave.bodies() == [b"hello"] * 4
