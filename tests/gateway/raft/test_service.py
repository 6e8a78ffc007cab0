"""Three members on ports in memory, with files on disks in memory."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from twisted.internet.error import CannotListenError

from mqgateway.engine.options import RemotingOptions
from mqgateway.engine.raft.files.file_log import FileLog
from mqgateway.engine.raft.files.properties import write_vote
from mqgateway.engine.raft.settings import MemberSettings
from mqgateway.engine.raft.state import RaftRole
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.worker import InlineWorker
from mqgateway.gateway.codec.command import RemotingCommand, encode_command
from mqgateway.gateway.raft.service import RaftService
from mqgateway.gateway.raft.wire import RaftCode
from mqgateway.gateway.runtime.service import Runtime
from tests.support.gateway.namesrv.world import NetClock
from tests.support.gateway.remoting.pair import Net, Talker

PEERS = {"n0": "10.0.0.1:40911", "n1": "10.0.0.1:40912", "n2": "10.0.0.1:40913"}


class World:
    """A group of three."""

    def __init__(self) -> None:
        self.net = Net()
        self.disks = {one: CrashDisk() for one in PEERS}
        self.services: dict[str, RaftService] = {}
        for one in PEERS:
            self.start(one)

    def start(self, one: str) -> None:
        service = self.services[one] = RaftService(
            MemberSettings("group", one, PEERS),
            FileLog(self.disks[one], f"/dledger-{one}", 1 << 16, 1 << 12),
            RemotingOptions(),
            Runtime(self.net, NetClock(self.net), self.disks[one], InlineWorker()),
            random=Random(one),
        )
        self.started: list[Any] = []
        service.start().addBoth(self.started.append)

    def pass_time(self, seconds: float) -> None:
        end = self.net.seconds() + seconds
        while self.net.seconds() < end:
            self.net.settle()
            self.net.advance(0.01)
        self.net.settle()

    @property
    def leader(self) -> str:
        (leader,) = (one for one, service in self.services.items() if service.member.role is RaftRole.LEADER)
        return leader

    def ask(self, one: str, code: int, text: str, seconds: float = 0) -> RemotingCommand:
        talker = Talker()
        self.net.meet(int(PEERS[one].rpartition(":")[2]), talker)
        talker.transport.write(encode_command(RemotingCommand.request(code, body=text.encode())))
        self.pass_time(seconds)
        (answer,) = talker.take()
        return answer


def test_group_elects_and_replicates_and_continues_after_a_restart() -> None:
    world = World()
    world.pass_time(10)
    leader = world.leader
    append = f'{{"group":"group","remoteId":"{leader}","body":"cmVjb3Jk"}}'
    answer = world.ask(leader, RaftCode.APPEND, append, 0.5)
    assert answer.code == 200
    document = json.loads(answer.body)
    assert (document["code"], document["index"], document["pos"]) == (200, 0, 0)
    world.pass_time(2)
    logs = [service.member.log for service in world.services.values()]
    assert [(log.end_index, log.committed_index, log.synced_index) for log in logs] == [(0, 0, 0)] * 3

    world.services[leader].stop()
    world.pass_time(20)
    world.start(leader)
    world.pass_time(10)
    assert world.leader != leader
    assert world.services[leader].member.leader == world.leader
    assert world.services[leader].member.log.entries(0, 0)[0].body == b"record"
    assert {world.disks[one].read_bytes(f"/dledger-{one}/data/{0:020}") for one in PEERS} == {
        world.disks["n0"].read_bytes(f"/dledger-n0/data/{0:020}")
    }


def test_connection_that_is_dead_on_one_side_is_opened_again() -> None:
    world = World()
    world.pass_time(10)
    leader, term = world.leader, world.services["n0"].member.term
    follower = next(one for one in PEERS if one != leader)
    for pair in world.net.pairs:
        if pair.server.host.port == int(PEERS[follower].rpartition(":")[2]):
            pair.client.stuck = pair.server.stuck = True
    world.pass_time(20)
    assert {service.member.leader for service in world.services.values()} == {leader}
    assert {service.member.term for service in world.services.values()} == {term}


def test_a_member_in_a_newer_term_whose_log_is_behind_is_led_in_the_next() -> None:
    world = World()
    world.pass_time(10)
    leader, term = world.leader, world.services["n0"].member.term
    late = next(one for one in PEERS if one != leader)
    world.services[late].stop()
    append = f'{{"group":"group","remoteId":"{leader}","body":"cmVjb3Jk"}}'
    assert json.loads(world.ask(leader, RaftCode.APPEND, append, 0.5).body)["code"] == 200
    write_vote(world.disks[late], f"/dledger-{late}", term + 3, late)
    world.start(late)
    world.pass_time(20)
    members = [service.member for service in world.services.values()]
    assert len({member.leader for member in members}) == 1
    assert {member.role for member in members} == {RaftRole.LEADER, RaftRole.FOLLOWER}
    terms = {member.term for member in members}
    assert min(terms) > term + 3
    world.pass_time(20)
    assert {member.term for member in members} == terms


def test_requests_for_others_are_refused() -> None:
    world = World()
    answer = world.ask("n0", RaftCode.METADATA, '{"group":"group","remoteId":"n1"}')
    assert json.loads(answer.body)["code"] == 401
    answer = world.ask("n0", RaftCode.METADATA, '{"group":"other","remoteId":"n0"}')
    assert json.loads(answer.body)["code"] == 400


def test_invalid_request_is_answered_with_an_error() -> None:
    answer = World().ask("n0", RaftCode.VOTE, "no json")
    assert answer.code == 1
    assert "VoteBody" in (answer.remark or "")


def test_a_member_whose_disk_does_not_sync_ends() -> None:
    world = World()
    world.pass_time(10)
    leader = world.leader
    world.disks[leader].fail_next("sync", "data", times=1000)
    append = f'{{"group":"group","remoteId":"{leader}","body":"cmVjb3Jk"}}'
    talker = Talker()
    world.net.meet(int(PEERS[leader].rpartition(":")[2]), talker)
    talker.transport.write(encode_command(RemotingCommand.request(RaftCode.APPEND, body=append.encode())))
    world.pass_time(20)
    others = {service.member.leader for one, service in world.services.items() if one != leader}
    assert len(others) == 1
    assert leader not in others
    world.services[leader].stop()


def test_a_port_in_use_stops_the_start_and_a_further_start_takes_part() -> None:
    world = World()
    world.pass_time(10)
    late = next(one for one in PEERS if one != world.leader)
    world.services[late].stop()
    world.pass_time(2)
    port = int(PEERS[late].rpartition(":")[2])
    world.net.taken.add(port)
    world.start(late)
    (failure,) = world.started
    failure.trap(CannotListenError)
    assert port not in world.net.ports
    term = world.services[late].member.term
    world.pass_time(10)
    assert world.services[late].member.term == term, "it takes no part"
    world.net.taken.clear()
    world.start(late)
    world.pass_time(10)
    assert world.services[late].member.leader == world.leader
