"""Pushes that a follower accepts, and those that it rejects."""

from random import Random
from typing import Any

import pytest

from mqgateway.engine.raft.effects import RaftReply
from mqgateway.engine.raft.log import Entry
from mqgateway.engine.raft.member import RaftMember
from mqgateway.engine.raft.messages import Code, Push, PushAnswer, PushType
from mqgateway.engine.raft.settings import STANDARD_RULES, MemberSettings, RaftRules
from mqgateway.engine.raft.state import RaftRole
from mqgateway.engine.testing.raft_log import MemoryRaftLog
from tests.support.engine.raft.group import Group

PEERS = {"n0": "a:1", "n1": "b:1", "n2": "c:1"}


def run_of(first: int, last: int, term: int = 1, body: bytes = b"body") -> tuple[Entry, ...]:
    """Entries of one size, one behind the other."""
    size = 48 + len(body)
    return tuple(Entry(index, term, index * size, body) for index in range(first, last + 1))


class OneFollower:
    """n0 on its own; n1 leads in term 1."""

    def __init__(self, **settings: Any) -> None:
        self.log = MemoryRaftLog()
        self.log.keep_vote(1, "n1")
        self.member = RaftMember(MemberSettings("group", "n0", PEERS, **settings), self.log, Random(0))
        self.now = 100

    def push(self, kind: PushType, entries: tuple[Entry, ...] = (), commit: int = -1, term: int = 1) -> str:
        """Push; the answer is in what `answers` gives next, with the name that this gives."""
        name = f"{kind.value} {entries[0].index if entries else ''}".strip()
        is_batch = len(entries) > 1
        self.member.receive(Push(kind, "n1", term, commit, entries, is_batch), name, self.now)
        return name

    def synced(self) -> None:
        self.log.sync()
        self.member.synced(self.now)

    def answers(self) -> dict[str, PushAnswer]:
        """Return the answers since the last call."""
        return {
            str(effect.token): effect.answer  # type: ignore[misc]
            for effect in self.member.take()
            if isinstance(effect, RaftReply)
        }

    def codes(self) -> dict[str, Code]:
        return {name: answer.code for name, answer in self.answers().items()}


def with_entries(last: int, **settings: Any) -> OneFollower:
    one = OneFollower(**settings)
    for entry in run_of(0, last):
        one.log.append_entry(entry)
    one.log.sync()
    return one


class TestAppending:
    def test_an_entry_is_acknowledged_once_it_is_on_disk(self) -> None:
        one = OneFollower()
        one.push(PushType.APPEND, run_of(0, 0))
        assert one.answers() == {}
        one.synced()
        assert one.answers() == {"APPEND 0": PushAnswer(Code.SUCCESS, 1, 0, 1, 0, 0)}

    def test_a_push_is_a_heart_beat(self) -> None:
        one = OneFollower()
        one.push(PushType.APPEND, run_of(0, 0))
        assert (one.member.role, one.member.leader) == (RaftRole.FOLLOWER, "n1")
        one.now += 5900
        one.push(PushType.COMMIT)
        one.member.tick(one.now + 5900)
        assert one.member.role is RaftRole.FOLLOWER

    def test_early_entries_wait_for_the_ones_before(self) -> None:
        one = OneFollower()
        for index in (2, 1, 3, 0):
            one.push(PushType.APPEND, run_of(index, index), commit=3)
        one.synced()
        assert one.codes() == dict.fromkeys(("APPEND 0", "APPEND 1", "APPEND 2", "APPEND 3"), Code.SUCCESS)
        assert (one.log.end_index, one.log.committed_index) == (3, 3)

    def test_a_second_copy_of_an_early_one_is_said_to_be_there(self) -> None:
        one = OneFollower()
        one.push(PushType.APPEND, run_of(2, 2))
        one.push(PushType.APPEND, run_of(2, 2))
        assert one.codes() == {"APPEND 2": Code.REPEATED_PUSH}

    def test_a_gap_that_lasts_makes_the_leader_compare(self) -> None:
        one = OneFollower()
        one.push(PushType.APPEND, run_of(2, 2))
        one.member.tick(one.now + 1000)
        assert one.codes() == {}
        one.member.tick(one.now + 1001)
        assert one.codes() == {"APPEND 2": Code.INCONSISTENT_STATE}

    def test_early_entries_are_bounded(self) -> None:
        one = OneFollower(pending_pushes_max=2)
        for index in (5, 6, 7):
            one.push(PushType.APPEND, run_of(index, index))
        assert one.codes() == {"APPEND 7": Code.INCONSISTENT_STATE}
        one = OneFollower(pending_bytes_max=100)
        for index in (5, 6):
            one.push(PushType.APPEND, run_of(index, index))
        assert one.codes() == {"APPEND 6": Code.INCONSISTENT_STATE}

    def test_repeated_entries_are_compared(self) -> None:
        one = with_entries(3)
        one.push(PushType.APPEND, run_of(1, 2))
        assert one.codes() == {"APPEND 1": Code.SUCCESS}
        one.push(PushType.APPEND, run_of(2, 5))
        one.synced()
        assert one.codes() == {"APPEND 2": Code.SUCCESS}
        assert one.log.end_index == 5
        one.push(PushType.APPEND, run_of(4, 4, body=b"else"))
        assert one.codes() == {"APPEND 4": Code.INCONSISTENT_STATE}

    def test_an_entry_at_another_place_is_not_taken(self) -> None:
        one = OneFollower()
        one.push(PushType.APPEND, (Entry(0, 1, 100, b"body"),))
        assert one.codes() == {"APPEND 0": Code.INCONSISTENT_STATE}

    @pytest.mark.parametrize(
        ("entries", "code"),
        [((), Code.UNEXPECTED_ARGUMENT), ((*run_of(0, 0), *run_of(2, 2)), Code.UNEXPECTED_ARGUMENT)],
    )
    def test_entries_are_there_and_in_order(self, entries: tuple[Entry, ...], code: Code) -> None:
        one = OneFollower()
        name = one.push(PushType.APPEND, entries)
        assert one.codes() == {name: code}

    @pytest.mark.parametrize(("term", "code"), [(0, Code.EXPIRED_TERM), (2, Code.TERM_NOT_READY)])
    def test_a_leader_of_another_term_is_not_followed(self, term: int, code: Code) -> None:
        """And not told that its entry is another one: it would have this member's log cut."""
        one = with_entries(3)
        one.push(PushType.COMPARE, run_of(3, 3), term=term)
        assert one.codes() == {"COMPARE 3": code}

    def test_a_full_disk_and_a_sick_one(self) -> None:
        one = OneFollower()
        one.push(PushType.COMMIT)
        one.log.fill_disk()
        one.push(PushType.APPEND, run_of(0, 0))
        assert one.codes()["APPEND 0"] is Code.DISK_FULL
        one.log.failure = OSError(5, "input/output error")
        one.push(PushType.APPEND, run_of(0, 0))
        assert one.codes() == {"APPEND 0": Code.DISK_ERROR}

    def test_waiting_pushes_are_answered_when_the_follower_changes_role(self) -> None:
        one = OneFollower()
        one.push(PushType.APPEND, run_of(0, 0))
        one.push(PushType.APPEND, run_of(5, 5))
        one.member.tick(one.now + 6001)
        assert one.codes()["APPEND 0"] is Code.NOT_FOLLOWER


class TestComparing:
    def test_the_same_and_another_one(self) -> None:
        one = with_entries(3)
        one.push(PushType.COMPARE, run_of(2, 2))
        one.push(PushType.COMPARE, run_of(3, 3, body=b"else"))
        one.push(PushType.COMPARE, run_of(4, 4))
        assert one.answers() == {
            "COMPARE 2": PushAnswer(Code.SUCCESS, 1, 2, 1, 0, 3),
            "COMPARE 3": PushAnswer(Code.INCONSISTENT_STATE, 1, 3, 1, 0, 3),
            "COMPARE 4": PushAnswer(Code.INCONSISTENT_STATE, 1, 4, 1, 0, 3),
        }

    def test_a_new_log_has_no_beginning(self) -> None:
        one = OneFollower()
        one.push(PushType.COMPARE, run_of(0, 0))
        assert one.answers() == {"COMPARE 0": PushAnswer(Code.INCONSISTENT_STATE, 1, 0, 1, -1, -1)}

    def test_leader_starts_over(self) -> None:
        one = with_entries(0)
        one.push(PushType.APPEND, run_of(3, 3))
        one.push(PushType.COMPARE, run_of(0, 0))
        assert one.codes() == {"APPEND 3": Code.REPEATED_PUSH, "COMPARE 0": Code.SUCCESS}


class TestCutting:
    def test_behind_an_entry_that_is_there(self) -> None:
        one = with_entries(5)
        one.push(PushType.TRUNCATE, run_of(2, 2), commit=2)
        assert one.codes() == {"TRUNCATE 2": Code.SUCCESS}
        assert (one.log.end_index, one.log.committed_index) == (2, 2)

    def test_an_entry_in_place_of_another(self) -> None:
        one = with_entries(5)
        entry = run_of(2, 2, body=b"else")
        one.push(PushType.TRUNCATE, entry)
        one.synced()
        assert one.codes() == {"TRUNCATE 2": Code.SUCCESS}
        assert one.log.entry(2) == entry[0]
        assert one.log.end_index == 2

    def test_to_a_leaders_beginning(self) -> None:
        one = with_entries(5)
        entry = Entry(500, 1, 26_000, b"body")
        one.push(PushType.TRUNCATE, (entry,), commit=600)
        one.synced()
        assert one.answers() == {"TRUNCATE 500": PushAnswer(Code.SUCCESS, 1, 500, 1, 500, 500)}
        assert one.log.committed_index == 500

    @pytest.mark.parametrize("index", [0, 2, 3])
    def test_committed_entries_are_kept(self, index: int) -> None:
        one = with_entries(5)
        one.push(PushType.COMMIT, commit=3)
        one.push(PushType.TRUNCATE, run_of(index, index, body=b"else"))
        assert one.codes()[f"TRUNCATE {index}"] is Code.INCONSISTENT_STATE
        assert one.log.end_index == 5


class TestCommitting:
    def test_no_further_than_the_log(self) -> None:
        one = with_entries(3)
        one.push(PushType.COMMIT, commit=10)
        assert one.answers() == {"COMMIT": PushAnswer(Code.SUCCESS, 1, None, 0, 0, 3)}
        assert one.log.committed_index == 3
        one.push(PushType.COMMIT, commit=1)
        assert one.log.committed_index == 3


class TestLateTruncation:
    """A request to truncate that was in flight while the leader gave it up, compared again, and had
    more entries acknowledged."""

    def _history(self, rules: RaftRules) -> Group:
        group = Group(3, rules=rules)
        leader = group.elect()
        group.append(leader, b"first")
        group.run(1000)
        other = next(one for one in group.nodes if one != leader)
        truncate = next(
            request
            for _, to, request in group.sent
            if to == other and isinstance(request, Push) and request.type is PushType.TRUNCATE
        )
        for number in range(3):
            group.append(leader, b"%d" % number)
        group.run(1000)
        assert len(group.acknowledged) == 4
        group.request(other, truncate)
        self.other = other
        return group

    def test_the_standard_cuts_what_was_acknowledged(self) -> None:
        group = self._history(STANDARD_RULES)
        assert group.nodes[self.other].log.end_index == 0

    def test_ours_keeps_it(self) -> None:
        group = self._history(RaftRules())
        assert group.nodes[self.other].log.end_index == 3
