"""Nodes of a plain master and its slave: reports, the view, and what ends it."""

from __future__ import annotations

import pytest

from mqgateway.engine.ha.group_nodes import LOST_MILLIS, NodesView, format_node, parse_view
from mqgateway.gateway.broker.replication.node_exchange import ANSWER_FIELD, FIELD
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand, encode_command
from mqgateway.gateway.codec.headers import ExchangeHAInfoRequestHeader
from tests.support.gateway.broker.group import Group, Member
from tests.support.gateway.remoting.pair import Talker


def published(member: Member, host: str, node_id: int = -1) -> None:
    """Publish the node of a member."""
    member.service.operations.replicas.publish(node_id, host, 9092, "r")


def pass_seconds(group: Group, seconds: int, *members: Member) -> None:
    """Let time pass, with the ticks of a front end."""
    for _ in range(seconds * 2):
        for member in members:
            member.service.operations.replicas.tick()
        group.wait(0.5)


def view(member: Member) -> NodesView:
    """Return the view of a member."""
    return member.service.operations.replicas.nodes()


def states(member: Member) -> list[tuple[int, str, bool, bool]]:
    """Return id, host, presence and synchrony of the nodes in the view of a member."""
    return [(one.node.id, one.node.host, one.is_online, one.is_in_sync) for one in view(member).nodes]


def ask(member: Member, report: str) -> RemotingCommand:
    """Return the answer to a report."""
    talker = Talker()
    member.group.net.meet(member.port, talker, ("192.168.1.1", member.group.next_port()))
    command = RemotingCommand.request(
        RequestCode.EXCHANGE_BROKER_HA_INFO, ExchangeHAInfoRequestHeader(), ext={FIELD: report}
    )
    talker.transport.write(encode_command(command))
    member.group.net.settle()
    [answer] = talker.take()
    return answer


def test_slave_reports_its_node_and_gets_the_view_of_its_master() -> None:
    group = Group()
    master, slave = group.master(), group.slave()
    assert view(master).nodes == view(slave).nodes == ()
    published(master, "m")
    published(slave, "s")
    pass_seconds(group, 40, master, slave)
    whole = [(1, "m", True, True), (2, "s", True, True)]
    assert states(master) == states(slave) == whole
    assert (view(master).leader, view(slave).leader) == (1, 1)
    assert not slave.service.operations.replicas.leads and master.service.operations.replicas.leads
    master.kill()
    pass_seconds(group, LOST_MILLIS // 1000 + 1, slave)
    assert view(slave).leader == -1 and [one[0] for one in states(slave)] == [1, 2]


def test_slave_that_is_no_longer_heard_of_is_offline_and_not_in_sync() -> None:
    group = Group()
    master, slave = group.master(), group.slave()
    published(master, "m")
    published(slave, "s", node_id=7)
    pass_seconds(group, 40, master, slave)
    assert states(master)[1] == (7, "s", True, True)
    pass_seconds(group, LOST_MILLIS // 1000 + 1, master)
    assert states(master)[1] == (7, "s", False, False)


def test_slave_in_sync_serves_readers_until_its_master_is_silent() -> None:
    group = Group()
    master, slave = group.master(), group.slave()
    replicas = slave.service.operations.replicas
    published(master, "m")
    published(slave, "s")
    pass_seconds(group, 40, master, slave)
    assert replicas.serves and not master.service.operations.replicas.serves
    assert [one.serves for one in view(master).nodes] == [True, True]
    assert view(master).nodes[1].node.begin == slave.service.broker.store.min_physical_offset
    master.kill()
    pass_seconds(group, LOST_MILLIS // 1000 + 1, slave)
    assert not replicas.serves


def test_slave_that_leaves_is_offline_at_once_and_serves_no_reader() -> None:
    group = Group()
    master, slave = group.master(), group.slave()
    published(master, "m")
    published(slave, "s")
    pass_seconds(group, 40, master, slave)
    slave.service.operations.replicas.leave()
    assert not slave.service.operations.replicas.serves
    group.wait(0.1)
    assert states(master)[1] == (2, "s", False, False)
    assert slave.service.operations.replicas.is_leaving


def test_slave_that_leaves_while_it_reports_leaves_with_the_answer() -> None:
    group = Group()
    master, slave = group.master(), group.slave()
    published(master, "m")
    published(slave, "s")
    pass_seconds(group, 40, master, slave)
    group.wait(1)
    replicas = slave.service.operations.replicas
    replicas.tick()
    replicas.leave()
    group.wait(0.1)
    assert not states(master)[1][2]


def test_slave_returns_no_view_and_invalid_reports_are_refused() -> None:
    group = Group()
    master, slave = group.master(), group.slave()
    published(master, "m")
    published(slave, "s")
    report = format_node(view(master).nodes[0].node._replace(number=5, id=5))
    answer = ask(master, report)
    assert [one.node.id for one in parse_view(answer.ext_fields[ANSWER_FIELD]).nodes] == [1, 5]
    assert ANSWER_FIELD not in ask(slave, report).ext_fields
    assert ask(master, "{}").code == ResponseCode.INVALID_PARAMETER


def test_node_with_the_id_of_another_one_is_not_shown(caplog: pytest.LogCaptureFixture) -> None:
    group = Group()
    master = group.master()
    published(master, "m")
    first = view(master).nodes[0].node._replace(number=5, id=5)
    with caplog.at_level("INFO"):
        ask(master, format_node(first))
        ask(master, format_node(first._replace(number=6)))
    assert [one.node.number for one in view(master).nodes] == [1, 5]
    assert "kafkaNodeId" in caplog.text


def test_slave_has_a_new_topic_within_two_seconds() -> None:
    group = Group()
    master, slave = group.master(), group.slave()
    published(master, "m")
    published(slave, "s")
    pass_seconds(group, 40, master, slave)
    master.create("new")
    pass_seconds(group, 2, slave)
    assert slave.service.broker.tables.topics.get("new") is not None
