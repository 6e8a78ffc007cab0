"""The port for slaves, and its peers: slaves by hand, slaves of ours, and strangers."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.engine.ha.admission import MARK, REFUSED_MILLIS
from mqgateway.engine.options import BrokerRole
from mqgateway.gateway.access.policies import (
    Action,
    Decision,
    Policy,
    PolicyEntry,
    PolicyType,
    parse_resource,
)
from mqgateway.gateway.access.signature import Credentials
from mqgateway.gateway.broker.replication.slave_listener import FIRST_BYTES_MAX, PATIENCE_MILLIS, WAITING_MAX
from mqgateway.gateway.codec import headers
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand, encode_command
from tests.gateway.broker.replication.test_master import HandSlave
from tests.support.gateway.broker.group import Group, Member
from tests.support.gateway.remoting.pair import Talker

STRANGER = "192.168.6.6"
INNER = '{"accessKey":"inner","secretKey":"hidden"}'
ACCESS: dict[str, Any] = {
    "authentication_enabled": True,
    "authorization_enabled": True,
    "inner_client_authentication_credentials": INNER,
    "ha_allowed_slaves": "",
}


@pytest.fixture
def group() -> Group:
    return Group()


@pytest.fixture
def master(group: Group) -> Member:
    """Return a master without authentication."""
    master = group.master(ha_allowed_slaves="")
    master.send(3)
    return master


@pytest.fixture
def guarded(group: Group) -> Member:
    """One that does."""
    return Member(group, 10911, BrokerRole.ASYNC_MASTER, 0, **ACCESS)


def server_of(member: Member) -> Any:
    return member.service.group.replication.server


def ask(group: Group, who: Credentials | None = None) -> RemotingCommand:
    """Ask the master at its port for clients where its log is, as slaves do."""
    talker = Talker()
    group.net.meet(10911, talker, (STRANGER, group.next_port()))
    command = RemotingCommand.request(
        RequestCode.EXCHANGE_BROKER_HA_INFO, headers.ExchangeHAInfoRequestHeader()
    )
    if who is not None:
        who.sign(command)
    talker.transport.write(encode_command(command))
    group.net.settle()
    (answer,) = talker.take()
    return answer


def test_stranger_gets_nothing_and_uses_no_slot(
    group: Group, master: Member, caplog: pytest.LogCaptureFixture
) -> None:
    strangers = [HandSlave(group, STRANGER) for _ in range(20)]
    assert not server_of(master).connections
    for stranger in strangers:
        stranger.report(0)
    assert all(stranger.is_lost and not stranger.got for stranger in strangers)
    assert sum("haAllowedSlaves" in record.message for record in caplog.records) == 1


def test_member_is_admitted_at_its_registered_address(group: Group, master: Member) -> None:
    slave = group.slave()
    assert slave.store.raw.position == 0, "it comes from an address that is not its own"
    hand = HandSlave(group, "10.0.0.1")
    hand.report(0)
    assert hand.got and not hand.is_lost
    again = HandSlave(group, "10.0.0.1")
    assert not again.is_lost and len(server_of(master).connections) == 2, "it need not say anything first"
    again.report(0)
    assert again.got


def test_slave_is_admitted_once_it_registers(group: Group, master: Member) -> None:
    hand = HandSlave(group, "10.0.0.1")
    hand.report(0)
    assert hand.is_lost, "that the master itself has this address says nothing"
    group.slave()
    group.wait(REFUSED_MILLIS / 1000 + 1)
    hand = HandSlave(group, "10.0.0.1")
    hand.report(0)
    assert hand.got


def test_report_sent_before_the_check_is_not_lost(group: Group, master: Member) -> None:
    group.slave()
    hand = HandSlave(group, "10.0.0.1")
    report = b"\0" * 8
    hand.transport.write(report[:3])
    group.net.settle()
    hand.transport.write(report[3:])
    group.net.settle()
    assert hand.got


def test_unidentified_connections_are_limited_in_time_and_number(group: Group, master: Member) -> None:
    silent = HandSlave(group, STRANGER)
    group.wait(PATIENCE_MILLIS / 1000 + 2)
    assert silent.is_lost
    waiting = [HandSlave(group, STRANGER) for _ in range(WAITING_MAX + 3)]
    group.net.settle()
    assert [one.is_lost for one in waiting] == [True] * 3 + [False] * WAITING_MAX
    talks = HandSlave(group, STRANGER)
    group.net.unreachable.add(9876)
    talks.transport.write(MARK[:3] + b"x" * FIRST_BYTES_MAX)
    group.net.settle()
    assert talks.is_lost
    assert not server_of(master).connections


def test_host_that_queried_the_address_is_admitted_with_acting_masters(group: Group) -> None:
    master = group.master(ha_allowed_slaves="", enable_slave_acting_master=True)
    assert "haTicket" not in ask(group).ext_fields
    hand = HandSlave(group, STRANGER)
    hand.report(0)
    assert not hand.is_lost and len(server_of(master).connections) == 1


def test_only_tickets_count_with_authentication(group: Group, guarded: Member) -> None:
    member = HandSlave(group, "10.0.0.1")
    member.report(0)
    assert member.is_lost
    assert ask(group).code == 16
    ticket = bytes.fromhex(ask(group, Credentials("inner", "hidden")).ext_fields["haTicket"])
    hand = HandSlave(group, STRANGER)
    hand.transport.write(MARK + ticket)
    hand.report(0)
    assert not hand.is_lost and len(server_of(guarded).connections) == 1
    thief = HandSlave(group, STRANGER)
    thief.transport.write(MARK + ticket)
    thief.report(0)
    assert thief.is_lost, "a ticket is good once"


def test_slave_with_a_ticket_is_admitted(group: Group, guarded: Member) -> None:
    root = Credentials("inner", "hidden")
    slave = Member(group, 11911, BrokerRole.SLAVE, 1, **ACCESS)
    group.wait(12)
    assert slave.service.group.replication.follows
    assert len(server_of(guarded).connections) == 1
    assert root.access_key == "inner"


def test_slave_without_credentials_is_refused(group: Group, guarded: Member) -> None:
    other = '{"accessKey":"inner","secretKey":"other"}'
    slave = Member(
        group, 11911, BrokerRole.SLAVE, 1, **ACCESS | {"inner_client_authentication_credentials": other}
    )
    group.wait(12)
    assert not slave.service.group.replication.follows
    assert not server_of(guarded).connections


def test_rocketmq_slave_can_be_allowed_by_its_address(group: Group) -> None:
    master = Member(
        group, 10911, BrokerRole.ASYNC_MASTER, 0, **ACCESS | {"ha_allowed_slaves": "192.168.6.0/24"}
    )
    hand = HandSlave(group, STRANGER)
    assert len(server_of(master).connections) == 1
    hand.report(0)
    assert not hand.is_lost
    with_ticket = HandSlave(group, STRANGER)
    with_ticket.transport.write(MARK + bytes(16))
    with_ticket.report(0)
    assert not with_ticket.is_lost, "a ticket that nobody needs is passed over"


def test_users_and_policies_reach_slaves(group: Group, guarded: Member) -> None:
    slave = Member(group, 11911, BrokerRole.SLAVE, 1, **ACCESS)
    group.wait(12)
    master_users, slave_users = guarded.service.broker.access, slave.service.broker.access
    assert master_users is not None and slave_users is not None
    master_users.create_user("", "alice", "alice's", None, None)
    entry = PolicyEntry(parse_resource("Topic:t"), (Action.PUB,), Decision.ALLOW, ())  # type: ignore[arg-type]
    master_users.update_acl("alice", {PolicyType.CUSTOM: Policy([entry])})
    group.wait(12)
    assert slave_users.user("alice") == master_users.user("alice")
    assert slave_users.acl("alice") == master_users.acl("alice")
    version = slave_users.tables.users.data_version
    assert version == master_users.tables.users.data_version
    master_users.delete_user("", "alice")
    group.wait(12)
    assert slave_users.user("alice") is None and not slave_users.acls()
    assert slave_users.user("inner") is not None
