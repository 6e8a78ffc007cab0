"""Brokers of a DLedger group: they elect, follow, die, come back and change their roles."""

from __future__ import annotations

import json

import pytest

from mqgateway.engine.ha.role import RoleKind
from mqgateway.engine.message import Message, pack_host
from mqgateway.gateway.codec.bodies import TopicRouteData
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand, encode_command
from mqgateway.gateway.codec.headers import GetRouteInfoRequestHeader
from tests.support.gateway.broker.group import NAME_SERVER
from tests.support.gateway.broker.helpers import batch_body, send_header
from tests.support.gateway.broker.ledgers import LedgerGroup
from tests.support.gateway.remoting.pair import Talker

SLAVE = RoleKind.SLAVE


def addresses(group: LedgerGroup) -> dict[int, str]:
    """Return the addresses in the name servers by id."""
    talker = Talker()
    group.net.meet(NAME_SERVER, talker, ("192.168.1.1", group.next_port()))
    header = GetRouteInfoRequestHeader(topic="T")
    talker.transport.write(
        encode_command(RemotingCommand.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, header))
    )
    group.net.settle()
    (answer,) = talker.take()
    (data,) = TopicRouteData.decode(answer.body).broker_datas
    return data.broker_addrs


def test_one_is_elected_and_the_others_have_what_it_takes() -> None:
    group = LedgerGroup()
    leader = group.wait_for_leader()
    leader.create("T")
    leader.send(5)
    group.wait(2)
    for other in group.others:
        assert other.kind is SLAVE
        assert other.bodies() == [b"hello"] * 5
        assert (other.log(), other.index()) == (leader.log(), leader.index())
        answer = other.try_to_send()
        assert answer is not None
        assert (answer.code, answer.remark) == (
            2,
            "[REJECTREQUEST]system busy, start flow control for a while",
        )


def test_a_dead_leader_is_succeeded_and_follows_when_it_is_back() -> None:
    group = LedgerGroup()
    first = group.wait_for_leader()
    first.create("T")
    first.send(5)
    group.wait(2)
    first.kill()
    second = group.wait_for_leader()
    second.send(5, body=b"later")
    assert second.bodies() == [b"hello"] * 5 + [b"later"] * 5
    first.again()
    group.wait(20)
    assert (first.kind, group.leader) == (SLAVE, second)
    second.send(1, body=b"all")
    group.wait(2)
    for other in group.others:
        assert other.bodies() == second.bodies()
        assert (other.log(), other.index()) == (second.log(), second.index())
    ids = addresses(group)
    assert ids[0] == f"10.0.0.1:{second.port}"
    assert set(ids) == {0} | {int(one.self_id[1:]) + 1 for one in group.others}


def new_message(body: bytes) -> Message:
    """One for the queue 0 of T."""
    host = pack_host("10.0.0.9", 1)
    return Message("T", 0, body, {}, 0, host, host)


def test_message_of_only_a_leader_is_truncated_and_its_offset_reused() -> None:
    """It was never acknowledged, and no consumer has read it."""
    group = LedgerGroup()
    first = group.wait_for_leader()
    first.create("T")
    first.send(3)
    group.wait(2)
    first.host.is_cut = True
    put = first.store.max_physical_offset
    first.service.broker.store.put(new_message(b"alone"))
    group.wait(1)
    assert first.store.max_physical_offset > put
    assert first.bodies() == [b"hello"] * 3
    group.wait(12)
    assert first.kind is SLAVE
    second = group.wait_for_leader()
    second.send(2, body=b"new")
    first.host.is_cut = False
    group.wait(20)
    assert first.bodies() == second.bodies() == [b"hello"] * 3 + [b"new"] * 2
    assert first.log() == second.log()
    # It goes on where the new leader's queues end.
    second.kill()
    third = group.wait_for_leader()
    third.send(1, body=b"next")
    assert third.bodies()[3:] == [b"new"] * 2 + [b"next"]


def test_files_that_are_full_and_starts_cleanly() -> None:
    group = LedgerGroup()
    leader = group.wait_for_leader()
    leader.create("T")
    leader.send(40, body=bytes(range(250)) * 3)
    group.wait(2)
    assert len(leader.disk.listdir(f"/store/dledger-{leader.self_id}/data")) > 3
    bodies = leader.bodies()
    for one in group.brokers.values():
        one.stop()
    for one in group.brokers.values():
        one.again()
    leader = group.wait_for_leader()
    assert leader.bodies() == bodies
    leader.send(3)
    group.wait(2)
    assert all(one.log() == leader.log() and one.index() == leader.index() for one in group.others)
    assert all(one.bodies() == [*bodies, b"hello", b"hello", b"hello"] for one in group.brokers.values())


@pytest.mark.parametrize("seed", range(3))
def test_power_cuts_lose_no_acknowledged_message(seed: int) -> None:
    group = LedgerGroup()
    leader = group.wait_for_leader()
    leader.create("T")
    for number in range(25):
        leader.send(1, body=b"%d " % number * 50)
    bodies = leader.bodies()
    for number, one in enumerate(group.brokers.values()):
        one.kill(seed * 10 + number)
    for one in group.brokers.values():
        one.again()
    leader = group.wait_for_leader()
    assert leader.bodies() == bodies
    leader.send(1, body=b"next")
    group.wait(2)
    assert all(one.log() == leader.log() for one in group.others)
    assert all(one.bodies() == [*bodies, b"next"] for one in group.brokers.values())


def test_messages_of_a_batch_are_single_entries() -> None:
    group = LedgerGroup()
    leader = group.wait_for_leader()
    leader.create("T")
    leader.send(1)
    elements = batch_body(*((b"body %d" % number, {}) for number in range(5)))
    header = send_header("T", queue_id=0, batch=True)
    answer = leader.ask(RequestCode.SEND_BATCH_MESSAGE, header, elements, 0.1)
    assert answer is not None and answer.code == 0
    assert answer.ext_fields["queueOffset"] == "1"
    assert len(answer.ext_fields["msgId"].split(",")) == 5
    assert leader.bodies() == [b"hello", *(b"body %d" % number for number in range(5))]
    places = [place for place, _, _ in leader.store.consume_queue_units("T", 0, 0, 9)]
    assert places == [position + 48 for position, _ in leader.entries()]
    group.wait(2)
    assert all(one.log() == leader.log() and one.bodies() == leader.bodies() for one in group.others)


def test_message_that_opts_out_still_waits_for_the_majority() -> None:
    group = LedgerGroup()
    leader = group.wait_for_leader()
    leader.create("T")
    leader.host.is_cut = True
    header = send_header("T", queue_id=0, properties={"WAIT": "false"})
    assert leader.ask(RequestCode.SEND_MESSAGE_V2, header, b"alone", 1) is None


def test_leader_opens_its_term_to_commit_older_entries() -> None:
    """A record that no queue gets: what came before it is committed with it."""
    group = LedgerGroup()
    first = group.wait_for_leader()
    first.create("T")
    first.send(3)
    group.wait(2)
    others = group.others
    first.ask_later(b"in doubt")
    group.net.advance(0.001)
    for pair in list(group.net.pairs):
        pair.pump()
    first.kill()
    second = group.wait_for_leader()
    group.wait(3)
    second.send(1, body=b"next")
    group.wait(2)
    for one in others:
        assert one.bodies() in ([b"hello"] * 3 + [b"in doubt", b"next"], [b"hello"] * 3 + [b"next"])
        assert one.log() == second.log()


def test_a_preferred_leader_takes_over() -> None:
    group = LedgerGroup(preferred_leader_id="n2")
    group.wait(40)
    assert group.leader.self_id == "n2"
    group.leader.create("T")
    group.leader.send(3)
    group.brokers["n2"].kill()
    group.wait_for_leader().send(3)
    group.brokers["n2"].again()
    group.wait(40)
    assert group.leader.self_id == "n2"
    assert group.leader.bodies() == [b"hello"] * 6


def test_a_leader_that_stops_hands_over() -> None:
    group = LedgerGroup(drain_timeout_millis=10_000)
    first = group.wait_for_leader()
    first.create("T")
    first.send(3)
    group.wait(1)
    drained = first.service.drain()
    group.wait(3)
    assert drained.called
    second = group.leader
    assert second is not first
    assert second.bodies() == [b"hello"] * 3
    first.stop()
    second.send(1)


def test_followers_take_over_tables() -> None:
    group = LedgerGroup()
    leader = group.wait_for_leader()
    leader.create("T")
    leader.service.broker.tables.groups.find("G")
    leader.send(3)
    leader.commit(2)
    group.wait(60)
    assert [other.committed() for other in group.others] == [2, 2]
    assert all(one.service.broker.tables.topics.get("T") for one in group.brokers.values())


def test_member_without_deleted_files_starts_with_the_rest() -> None:
    group = LedgerGroup(file_reserved_time=0, delete_when="99")
    leader = group.wait_for_leader()
    leader.create("T")
    leader.send(10, body=bytes(700))
    group.wait(2)
    late = group.others[0]
    late.kill()
    leader.send(40, body=bytes(700))
    for one in (leader, *(other for other in group.others if other is not late)):
        one.store.admin.delete_expired_files()
    group.wait(20)
    assert leader.store.min_physical_offset > 0
    first = leader.store.min_offset("T", 0)
    assert first > 10
    late.again()
    group.wait(30)
    leader = group.leader
    leader.send(1, body=b"last")
    group.wait(2)
    assert late.bodies()[-1] == b"last"
    assert late.store.min_offset("T", 0) >= first
    assert late.log() == leader.log()


def test_foreign_appends_are_refused() -> None:
    group = LedgerGroup()
    leader = group.wait_for_leader()
    talker = Talker()
    group.net.meet(leader.port + 10, talker)
    body = json.dumps({"group": "b1", "remoteId": leader.self_id, "body": "aGVsbG8="}).encode()
    talker.transport.write(encode_command(RemotingCommand.request(50001, body=body)))
    group.wait(0.5)
    (answer,) = talker.take()
    assert answer.code == 3
    assert leader.log() == b""


def test_a_delayed_message_is_delivered_by_the_successor() -> None:
    group = LedgerGroup()
    first = group.wait_for_leader()
    first.create("T")
    header = send_header("T", queue_id=0, properties={"DELAY": "4"})
    answer = first.ask(RequestCode.SEND_MESSAGE_V2, header, b"later", 0.1)
    assert answer is not None and answer.code == 0
    group.wait(2)
    first.kill()
    second = group.wait_for_leader()
    group.wait(40)
    assert second.bodies() == [b"later"]
    first.again()
    group.wait(20)
    second.kill()
    third = group.wait_for_leader()
    group.wait(40)
    assert third.bodies() == [b"later"]


def test_member_whose_disk_does_not_sync_is_fenced() -> None:
    group = LedgerGroup()
    first = group.wait_for_leader()
    first.create("T")
    first.send(3)
    first.disk.fail_next("sync", "data", times=1000)
    late = first.ask_later()
    group.wait(2)
    assert first.kind is RoleKind.FENCED
    assert [answer.code for answer in late.take()] == [14]
    second = group.wait_for_leader()
    assert second is not first
    assert second.bodies()[:3] == [b"hello"] * 3
    assert first.try_to_send() is not None
    first.stop()
