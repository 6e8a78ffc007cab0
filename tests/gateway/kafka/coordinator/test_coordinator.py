"""A coordinator that starts again, and histories of a group."""

from collections.abc import Callable, Iterator

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from twisted.python.failure import Failure

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode as E
from mqgateway.gateway.kafka.codec.messages.leave_group_request import MemberIdentity
from mqgateway.gateway.kafka.coordinator.commits import OffsetBatch
from mqgateway.gateway.kafka.coordinator.group import GroupState
from mqgateway.gateway.kafka.coordinator.rebalance import write_error
from mqgateway.gateway.kafka.coordinator.records import Committed, OffsetKey
from mqgateway.gateway.kafka.coordinator.records_log import MemoryRecordsLog, Records, Stored
from tests.gateway.kafka.coordinator.test_journal import SlowLog
from tests.support.gateway.kafka.groups import Answered, Groups, subscription

REBALANCE, SESSION, NEW_MEMBER = 6000, 9000, 300_000


def test_members_of_a_stable_group_survive_a_restart_without_a_rebalance() -> None:
    groups = Groups()
    one, other = groups.stable(subscription("orders"), b"broken")
    groups.commit(0, 7)
    again = groups.restarted()
    assert again.heartbeat(one, 1) == again.heartbeat(other, 1) == E.NONE
    assert again.sync(other)[0].assignment == other.encode()
    assert again.committed() == 7
    again.pass_time(11_000)
    assert again.group().state is GroupState.EMPTY


def test_empty_generation_survives_a_restart() -> None:
    groups = Groups()
    [one] = groups.stable()
    groups.leave(MemberIdentity(one))
    again = groups.restarted()
    assert (again.group().state, again.group().generation) == (GroupState.EMPTY, 2)


def test_broken_record_is_skipped() -> None:
    log = MemoryRecordsLog()
    log.append(Records([(b"\0\x02\0\x01g", b"\0\x03"), (b"", b""), (b"\0\x09", b"new")]))
    groups = Groups(log=log)
    groups.commit(0, 7)
    assert groups.restarted().committed() == 7


def test_unloaded_groups_are_forgotten_and_what_waits_is_answered() -> None:
    log = SlowLog()
    groups = Groups(log=log)
    _, joining = groups.added()
    groups.pass_until(GroupState.COMPLETING)
    member = joining.one.member_id
    syncing = groups.sync(member, assignments={member: b"a"})
    batch = OffsetBatch()
    batch.add(OffsetKey("g", "orders", 0), Committed(7, 0, "", 1))
    committing = groups.coordinator.commits.commit(batch)
    failures: list[Failure] = []
    committing.addErrback(failures.append)
    _, waiting = groups.added(group="other")
    groups.coordinator.unload()
    assert [answer.error_code for answer in (*syncing, *waiting)] == [E.NOT_COORDINATOR] * 2
    assert write_error(failures[0]) == E.NOT_COORDINATOR
    assert (len(groups.coordinator.groups), len(groups.coordinator.offsets)) == (0, 0)
    for number in range(len(log.waiting)):
        log.end_write(number)
    written = log.end
    groups.pass_time(100_000, 1000)
    assert log.end == written and not groups.coordinator.is_loaded
    for _ in groups.coordinator.load():
        pass
    assert groups.group().state is GroupState.STABLE
    assert groups.committed() == 7


def test_load_yields_while_it_waits_for_the_log() -> None:
    class LateLog(MemoryRecordsLog):
        def replay(self) -> Iterator[Stored | None]:
            yield None
            yield from super().replay()

    groups = Groups(log=LateLog())
    groups.commit(0, 7)
    coordinator = groups.coordinator
    coordinator.unload()
    assert list(coordinator.load()) == [True, False]
    assert coordinator.is_loaded and groups.committed() == 7


def test_load_is_done_in_steps() -> None:
    groups = Groups()
    for offset in range(1000):
        groups.commit(offset % 7, offset)
    coordinator = groups.restarted().coordinator
    assert sum(1 for _ in coordinator.load()) >= 5
    assert coordinator.is_loaded


class History(RuleBasedStateMachine):
    """Clients that join, sync, die and leave, while time passes.

    `waiting` has the deadlines of requests that wait; `assigned` what each member was given, by generation.
    """

    def __init__(self) -> None:
        super().__init__()
        self.groups = Groups()
        self.waiting: dict[int, tuple[int, Callable[[], bool]]] = {}
        self.joins: dict[str, Answered] = {}
        self.generations: dict[int, str] = {}
        self.statics = 0

    # Clients

    def _await(self, answered: list[object], within: int) -> None:
        self.waiting[id(answered)] = self.groups.clock.millis() + within, lambda: bool(answered)

    def _join(self, member_id: str, instance: str | None, metadata: bytes) -> None:
        answered = self.groups.join(
            member_id,
            instance=instance,
            protocols=[("range", metadata)],
            session=SESSION,
            rebalance=REBALANCE,
        )
        if answered and answered[0].error_code == E.MEMBER_ID_REQUIRED:
            return self._join(answered[0].member_id, None, metadata)
        self.joins[member_id or f"static {instance}"] = answered
        # A rebalance waits for its timeout, an initial one for that at most, and a rebalance of static
        # members of which none joins for their sessions.
        self._await(answered, NEW_MEMBER)  # type: ignore[arg-type]
        return None

    @rule(instance=st.sampled_from([None, None, "i", "j"]), metadata=st.sampled_from([b"a", b"b"]))
    def new_client(self, instance: str | None, metadata: bytes) -> None:
        if self.groups.coordinator.groups.tally.members < 8:
            self._join("", instance, metadata)

    @rule(number=st.integers(0, 7), metadata=st.sampled_from([b"a", b"b"]))
    def join_again(self, number: int, metadata: bytes) -> None:
        if member := self._member(number):
            self._join(member, self._instance(member), metadata)

    @rule(number=st.integers(0, 7))
    def sync(self, number: int) -> None:
        if not (member := self._member(number)):
            return
        group = self.groups.group()
        assignments = {one: f"{group.generation} {one}".encode() for one in group.members}
        generation, leads = group.generation, group.leader == member
        answered = self.groups.sync(member, None, assignments if leads else {})
        self._await(answered, REBALANCE + 1000)  # type: ignore[arg-type]
        for answer in answered:
            if not answer.error_code:
                assert answer.assignment in (b"", f"{generation} {member}".encode()) or self._instance(member)

    @rule(number=st.integers(0, 7))
    def heartbeat(self, number: int) -> None:
        if member := self._member(number):
            assert self.groups.heartbeat(member) in (E.NONE, E.REBALANCE_IN_PROGRESS)

    @rule(number=st.integers(0, 7))
    def leave(self, number: int) -> None:
        if member := self._member(number):
            self.groups.leave(MemberIdentity(member))

    @rule()
    def ask_for_an_id_and_die(self) -> None:
        if self.groups.coordinator.groups.tally.members < 8:
            self.groups.join(session=SESSION)

    @rule(millis=st.sampled_from([500, 3000, 7000, 40_000]))
    def time_passes(self, millis: int) -> None:
        self.groups.pass_time(millis, 500)

    @rule(offset=st.integers(0, 1000), partition=st.integers(0, 2))
    def commit(self, offset: int, partition: int) -> None:
        self.groups.commit(partition, offset)

    @precondition(lambda self: self.groups.coordinator.groups.get("g") is not None)
    @rule()
    def all_work(self) -> None:
        """Live clients bring any group to a stable state."""
        for _ in range(40):
            group = self.groups.coordinator.groups.get("g")
            if group is None or not group.members:
                return
            for member in tuple(group.members.values()):
                if group.state is GroupState.PREPARING and member.join is None:
                    self._join(member.id, member.instance_id, member.protocols[0][1])
                elif member.id in group.unsynced and group.state is not GroupState.PREPARING:
                    self.sync_member(member.id)
            if group.state is GroupState.STABLE and not group.unsynced:
                return
            self.groups.pass_time(1000, 500)
        raise AssertionError("the group does not become stable")

    def sync_member(self, member_id: str) -> None:
        """Sync a member that is still there."""
        members = list(self.groups.group().members)
        if member_id in members:
            self.sync(members.index(member_id))

    def _member(self, number: int) -> str:
        group = self.groups.coordinator.groups.get("g")
        members = list(group.members) if group is not None else []
        return members[number % len(members)] if members else ""

    def _instance(self, member_id: str) -> str | None:
        return self.groups.group().members[member_id].instance_id

    # What holds

    @invariant()
    def requests_are_answered_in_time(self) -> None:
        now = self.groups.clock.millis()
        for number, (deadline, is_answered) in tuple(self.waiting.items()):
            if is_answered():
                del self.waiting[number]
            else:
                assert now <= deadline + 1000, f"a request waits since {deadline}"

    @invariant()
    def group_is_consistent(self) -> None:
        group = self.groups.coordinator.groups.get("g")
        if group is None:
            return
        members = group.members.values()
        assert group.joining == sum(member.join is not None for member in members)
        assert set(group.static.values()) == {member.id for member in members if member.instance_id}
        assert (group.leader in group.members) if members else group.leader is None
        assert not group.unsynced - set(group.members) and not group.pending & set(group.members)
        assert (not members) if group.state is GroupState.EMPTY else True
        if group.state is GroupState.STABLE:
            assert not any(member.sync for member in members)
        tally = self.groups.coordinator.groups.tally
        assert tally.members == len(members) + len(group.pending)
        assert tally.bytes == sum(member.size for member in members)

    @invariant()
    def generations_have_one_leader_each_and_grow(self) -> None:
        for answered in self.joins.values():
            for answer in answered:
                if not answer.error_code and answer.members and not answer.skip_assignment:
                    known = self.generations.setdefault(answer.generation_id, answer.leader)
                    assert known == answer.leader

    @invariant()
    def restart_finds_offsets_and_the_last_written_group(self) -> None:
        again = self.groups.restarted().coordinator
        ours = self.groups.coordinator

        def offsets(of: object) -> dict[object, Committed | None]:
            return {key: of.offsets.get(key) for key in of.offsets.keys("g")}  # type: ignore[attr-defined]

        assert offsets(again) == offsets(ours)
        group, restored = ours.groups.get("g"), again.groups.get("g")
        if group is not None and group.state is GroupState.STABLE:
            assert restored is not None and restored.generation == group.generation
            assert {m.id: m.assignment for m in restored.members.values() if m.id in group.members} == {
                member.id: member.assignment for member in group.members.values()
            }


TestHistory = History.TestCase
TestHistory.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
