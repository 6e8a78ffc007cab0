"""Sets in a shared store: leadership, answers and writes of a leader, and missing answers."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.controller import shared_state
from mqgateway.engine.controller.events import AlterSyncStateSet, ApplyBrokerId, CleanBrokerData, ElectMaster
from mqgateway.engine.controller.key_values import Unanswered
from mqgateway.engine.controller.local_state import LocalState
from mqgateway.engine.controller.shared_state import SharedState
from mqgateway.engine.controller.state import Leader, NotLeading
from mqgateway.engine.lenient_json import dumps, loads
from mqgateway.engine.testing.crash_disk import CrashDisk
from tests.support.engine.controller.etcd_model import EtcdModel, Line

LEADER, SET = "/p/leader", "/p/sets/brk"
N0, N1 = Leader("n0", "a:1"), Leader("n1", "b:2")


class Member:
    """One controller's state, and its connection to the store."""

    def __init__(self, place: Place, me: Leader) -> None:
        self.line = Line(place.model)
        self.began = 0
        self.state = SharedState(me, self.line, place.clock, "/p", 5)
        self.state.start(self.begins)

    def begins(self) -> None:
        self.began += 1

    def propose(self, event: Any) -> Any:
        """Return the reported result, if any."""
        notified: list[Any] = []
        self.state.propose(event, notified.append)
        return notified[0] if notified else "nothing"


class Place:
    """etcd, and a clock for it."""

    def __init__(self) -> None:
        self.model = EtcdModel()
        self.clock = ManualClock()
        self.members: list[Member] = []

    def member(self, me: Leader) -> Member:
        self.members.append(Member(self, me))
        return self.members[-1]

    def wait(self, millis: int) -> None:
        """Advance the time, with a check by every member each second."""
        for _ in range(millis // 1000):
            self.clock.advance(1000)
            self.model.advance(self.model.now + 1000)
            for member in self.members:
                member.state.tick()


@pytest.fixture
def place() -> Place:
    return Place()


def an_id(number: int = 1) -> ApplyBrokerId:
    return ApplyBrokerId("brk", "CL", f"10.0.0.{number}:10911", number, f"code{number}")


def test_the_first_leads_and_the_others_know_it(place: Place) -> None:
    first, second = place.member(N0), place.member(N1)
    assert (first.state.is_leader, second.state.is_leader) == (True, False)
    assert (first.began, second.began) == (1, 0)
    assert first.state.leader == second.state.leader == N0
    assert loads(place.model.keys[LEADER].value) == {"address": "a:1", "id": "n0"}
    place.wait(60_000)
    assert first.state.is_leader and first.began == 1 and first.state.term == 2


def test_next_leader_has_agreed_sets(place: Place) -> None:
    first, second = place.member(N0), place.member(N1)
    for event in (an_id(1), an_id(2), ElectMaster("brk", 1), AlterSyncStateSet("brk", frozenset([1, 2]))):
        assert first.propose(event) is None
    before, term = first.state.sets["brk"], first.state.term
    assert (before.master, before.master_epoch, before.sync_state_set_epoch) == (1, 1, 2)
    assert not second.state.sets
    first.line.broken = True
    place.wait(6000)
    assert not first.state.is_leader and first.state.leader is None
    assert second.state.is_leader and second.state.term > term
    assert second.state.sets == {"brk": before}
    assert second.propose(CleanBrokerData("brk")) is None
    assert SET not in place.model.keys and not second.state.sets


def test_leader_that_reaches_no_peer_stops_before_the_others_begin(place: Place) -> None:
    first, second = place.member(N0), place.member(N1)
    first.line.broken = True
    place.wait(3000)
    assert first.state.is_leader
    place.wait(1000)
    assert not first.state.is_leader and not second.state.is_leader
    assert isinstance(first.propose(an_id()), NotLeading)
    place.wait(1000)
    assert second.state.is_leader
    first.line.broken = False
    place.wait(1000)
    assert first.state.leader == N1 and first.state.term == 0


def test_leader_that_reaches_the_place_again_in_time_continues(place: Place) -> None:
    first = place.member(N0)
    first.line.broken = True
    place.wait(4000)
    assert not first.state.is_leader
    first.line.broken = False
    first.state.tick()
    assert first.state.is_leader and first.state.term == 2 and first.began == 1


def test_a_stop_lets_another_one_lead_at_once(place: Place) -> None:
    first, second = place.member(N0), place.member(N1)
    notified: list[str] = []
    first.state.close(lambda: notified.append("closed"))
    assert notified == ["closed"] and not first.state.is_leader
    second.state.tick()
    assert second.state.is_leader
    place.wait(10_000)
    assert not first.state.is_leader
    second.line.broken = True
    second.state.close(lambda: notified.append("closed too"))
    assert notified == ["closed", "closed too"]


def test_restarted_controller_waits_for_end_of_its_lease(place: Place) -> None:
    first = place.member(N0)
    first.line.broken = True
    again = place.member(N0)
    assert not again.state.is_leader and again.state.leader is None
    place.wait(5000)
    assert again.state.is_leader


def test_the_server_that_is_asked_for_the_lease_must_be_the_one_that_read_the_key(place: Place) -> None:
    """An isolated server renews expired leases."""
    first = place.member(N0)
    first.line.kept_by = "cut off"
    place.wait(4000)
    assert not first.state.is_leader
    first.line.kept_by = ""
    first.state.tick()
    assert first.state.is_leader


def test_a_change_without_an_answer_is_fenced_and_what_is_there_is_read(place: Place) -> None:
    first = place.member(N0)
    first.propose(an_id(1))
    term = first.state.term
    first.line.lossy = True
    assert isinstance(first.propose(an_id(2)), Unanswered)
    assert not first.state.is_leader, "nothing is answered by what may not be agreed"
    assert first.state.leader is None
    first.line.lossy = False
    first.state.tick()
    assert first.state.is_leader and first.state.term > term and first.began == 2
    assert set(first.state.sets["brk"].replicas) == {1, 2}


def test_a_change_that_comes_late_does_nothing(place: Place) -> None:
    first = place.member(N0)
    first.propose(an_id(1))
    first.line.holds = True
    assert first.propose(an_id(2)) == "nothing"
    (late,) = first.line.held
    # As if its answer had been given up: another put of the leader's key is before it now.
    first.state._read_again()
    first.line.holds = False
    first.line.held[1]()
    assert first.state.is_leader
    late()
    assert set(first.state.sets["brk"].replicas) == {1}
    assert loads(place.model.keys[SET].value)["nextBrokerId"] == 2


def test_a_claim_without_an_answer_is_found_out(place: Place) -> None:
    first = place.member(N0)
    first.line.broken = True
    place.wait(5000)
    first.line.broken = False
    first.line.holds = True
    first.state.tick()
    for what in ("transact", "grant"):
        assert first.line.asked[-1] == what
        first.line.held.pop()()
    first.line.lossy = True
    first.line.held.pop()()
    first.line.lossy = first.line.holds = False
    assert not first.state.is_leader and LEADER in place.model.keys
    first.state.tick()
    assert first.state.is_leader


def test_controller_that_lost_the_campaign_follows(place: Place) -> None:
    first, second = place.member(N0), place.member(N1)
    first.line.broken = True
    second.line.holds = True
    place.wait(5000)
    first.line.broken = False
    while second.line.asked[-1] != "grant":
        second.line.held.pop()()
    second.line.held.pop()()
    first.state.tick()
    second.line.held.pop()()
    assert first.state.is_leader and not second.state.is_leader
    assert second.state.leader == N0


def test_confirm_reads_the_leaders_key(place: Place) -> None:
    first, second = place.member(N0), place.member(N1)
    notified: list[Any] = []
    first.state.confirm(notified.append)
    second.state.confirm(notified.append)
    assert notified[0] is None and isinstance(notified[1], NotLeading)
    first.line.lossy = True
    first.state.confirm(notified.append)
    assert isinstance(notified[2], NotLeading) and first.state.is_leader
    first.line.lossy = False
    place.model.end_too_early()
    second.state.tick()
    assert first.state.is_leader and second.state.is_leader, "the lease was over too early"
    first.state.confirm(notified.append)
    assert isinstance(notified[3], NotLeading) and not first.state.is_leader
    second.state.confirm(notified.append)
    assert notified[4] is None
    second.line.holds = True
    second.state.confirm(notified.append)
    place.clock.advance(4000)
    second.line.held.pop()()
    assert isinstance(notified[5], NotLeading)


def test_clocks_that_are_set_end_no_lease(place: Place) -> None:
    first, second = place.member(N0), place.member(N1)
    for wall in (0, 2_000_000_000_000):
        place.clock.set_wall(wall)
        place.wait(2000)
        assert first.state.is_leader and not second.state.is_leader


def test_a_key_that_an_operator_deleted_ends_the_term(place: Place) -> None:
    first = place.member(N0)
    term = first.state.term
    place.model.delete(LEADER)
    assert isinstance(first.propose(an_id()), NotLeading)
    assert not first.state.is_leader and SET not in place.model.keys
    first.state.tick()
    assert first.state.is_leader and first.state.term > term
    place.model.delete(LEADER)
    first.state.tick()
    assert first.state.is_leader and first.began == 3


def test_a_leader_without_a_lease_is_followed(place: Place) -> None:
    place.model.put(LEADER, b'{"address":"b:2","id":"n1"}')
    first = place.member(N0)
    assert first.state.leader == N1 and not first.state.is_leader


def test_set_that_another_process_changed_is_read_again(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    first = place.member(N0)
    first.propose(an_id(1))
    place.model.put(SET, place.model.keys[SET].value.replace(b'"CL"', b'"CM"'))
    assert isinstance(first.propose(an_id(2)), NotLeading)
    assert "a controller that does not lead" in caplog.text
    assert first.state.is_leader and first.state.sets["brk"].cluster == "CM"
    assert first.propose(an_id(2)) is None


def test_unreadable_keys_are_logged_and_prevent_leading(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    place.model.put(SET, b"[]")
    first = place.member(N0)
    place.wait(2000)
    assert not first.state.is_leader
    assert caplog.text.count(f"{SET} was not written by a controller") == 1
    place.model.delete(SET)
    first.state.tick()
    assert first.state.is_leader
    place.model.put(LEADER, b"nonsense")
    second = place.member(N1)
    assert second.state.leader is None
    assert f"{LEADER} was not written by a controller" in caplog.text


def test_many_sets_are_read_page_by_page(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_state, "PAGE", 2)
    first = place.member(N0)
    names = [f"b{number}" for number in range(5)]
    for name in names:
        assert first.propose(ApplyBrokerId(name, "CL", "h:1", 1, "c")) is None
    first.state.close(lambda: None)
    second = place.member(N1)
    assert list(second.state.sets) == names
    assert second.propose(ElectMaster("b4", 1)) is None


def test_sets_out_of_the_file_of_one_controller_are_taken_over(place: Place) -> None:
    """As docs/ha.md describes."""
    disk = CrashDisk()
    alone = LocalState(N0, disk, "/c/brokerSets.json", place.clock)
    for event in (an_id(1), an_id(2), ElectMaster("brk", 2)):
        alone.propose(event, lambda _: None)
    alone.close(lambda: None)
    for name, one in loads(disk.read_bytes("/c/brokerSets.json"))["brokerSets"].items():
        place.model.put(f"/p/sets/{name}", dumps(one))
    first = place.member(N0)
    assert first.state.sets == alone.sets and first.state.sets["brk"].master == 2


def test_controller_whose_read_exceeds_lease_does_not_lead(place: Place) -> None:
    place.model.put(LEADER, b'{"address":"b:2","id":"n1"}')
    first = place.member(N0)
    place.model.delete(LEADER)
    first.line.holds = True
    first.state.tick()
    for _ in ("look", "grant", "claim"):
        first.line.held.pop()()
    place.clock.advance(4000)
    first.line.held.pop()()
    assert first.began == 0 and not first.state.is_leader
    first.line.holds = False
    first.state.tick()
    assert first.began == 1 and first.state.is_leader


def test_lease_that_ends_with_a_change_in_flight_is_no_success(place: Place) -> None:
    first = place.member(N0)
    first.line.holds = True
    notified: list[Any] = []
    first.state.propose(an_id(), notified.append)
    place.clock.advance(4000)
    first.line.held[0]()
    assert isinstance(notified[0], NotLeading) and "agreed" in str(notified[0])
    assert SET in place.model.keys


def test_repeated_failure_is_logged_once(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    first = place.member(N0)
    first.line.broken = True
    place.wait(10_000)
    assert caplog.text.count("does not answer") == 1
    first.line.broken = False
    place.wait(1000)
    assert first.state.is_leader
    first.line.broken = True
    place.wait(1000)
    assert caplog.text.count("does not answer") == 2
