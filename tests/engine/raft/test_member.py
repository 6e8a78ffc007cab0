"""Requests of clients to a member."""

from mqgateway.engine.raft.messages import Append, AppendAnswer, Code, Get, RaftMetadata
from tests.support.engine.raft.group import Group


class TestClients:
    def test_every_member_names_the_leader(self) -> None:
        group = Group(3)
        leader = group.elect()
        group.run(3000)
        for one in group.nodes:
            answer = group.answers[group.request(one, RaftMetadata())]
            assert (answer.code, answer.leader) == (Code.SUCCESS, leader)
            assert answer.peers == group.nodes[one].settings.peers

    def test_an_entry_by_its_index(self) -> None:
        group = Group(3)
        leader = group.elect()
        group.append(leader, b"one")
        answers = [group.answers[group.request(leader, Get(index))] for index in (0, 1, -1)]
        assert [answer.code for answer in answers] == [
            Code.SUCCESS,
            Code.INDEX_OUT_OF_RANGE,
            Code.INDEX_LESS_THAN_LOCAL_BEGIN,
        ]
        assert [entry.body for entry in answers[0].entries] == [b"one"]

    def test_appends_go_to_the_leader(self) -> None:
        group = Group(3)
        leader = group.elect()
        group.run(3000)
        other = next(one for one in group.nodes if one != leader)
        token = group.request(other, Append(b"one"))
        assert group.answers[token] == AppendAnswer(Code.NOT_LEADER, group.member(other).term, leader=leader)
        token = group.request(leader, Append(b"x" * 2000))
        assert group.answers[token].code is Code.UNEXPECTED_ARGUMENT
