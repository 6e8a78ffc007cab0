"""Requests of members: each rule and each error."""

import pytest

from mqgateway.engine.steps import run
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode as E
from mqgateway.gateway.kafka.codec.messages.heartbeat_request import HeartbeatRequest
from mqgateway.gateway.kafka.codec.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from mqgateway.gateway.kafka.codec.messages.leave_group_response import LeaveGroupResponse
from mqgateway.gateway.kafka.codec.messages.sync_group_request import SyncGroupRequest
from mqgateway.gateway.kafka.coordinator.group import GroupState
from mqgateway.gateway.kafka.coordinator.settings import GroupSettings
from tests.support.gateway.kafka.groups import Groups

BOTH = (("range", b"r"), ("sticky", b"s"))


def test_dynamic_member_without_id_is_given_one_to_join_with() -> None:
    groups = Groups()
    answer = groups.join(client="reader").one
    assert (answer.error_code, answer.member_id) == (E.MEMBER_ID_REQUIRED, "reader-1")
    assert groups.group().pending == {"reader-1"}
    assert groups.join("reader-1") == []
    assert groups.group().pending == set()


def test_join_of_version_3_is_a_member_at_once() -> None:
    groups = Groups()
    assert groups.join(version=3) == []
    assert list(groups.group().members) == ["c-1"]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"group": ""}, E.INVALID_GROUP_ID),
        ({"session": 5999}, E.INVALID_SESSION_TIMEOUT),
        ({"session": 1_800_001}, E.INVALID_SESSION_TIMEOUT),
        ({"protocols": ()}, E.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": ""}, E.INCONSISTENT_GROUP_PROTOCOL),
        ({"member_id": "c-9"}, E.UNKNOWN_MEMBER_ID),
        ({"protocols": [(f"p{n}", b"") for n in range(101)]}, E.INVALID_REQUEST),
        ({"protocols": [("range", b"x" * 1024**2)]}, E.INVALID_REQUEST),
    ],
)
def test_bad_join_is_refused(arguments: dict[str, object], error: E) -> None:
    groups = Groups()
    answer = groups.join(**arguments).one  # type: ignore[arg-type]
    assert answer.error_code == error
    assert not len(groups.coordinator.groups)


def test_member_of_another_type_or_without_common_protocol_is_refused() -> None:
    groups = Groups()
    groups.stable()
    assert groups.join(protocol_type="connect").one.error_code == E.INCONSISTENT_GROUP_PROTOCOL
    assert groups.join(protocols=[("sticky", b"")]).one.error_code == E.INCONSISTENT_GROUP_PROTOCOL


def test_unknown_member_of_known_group_is_refused() -> None:
    groups = Groups()
    groups.stable()
    assert groups.join("other").one.error_code == E.UNKNOWN_MEMBER_ID


def test_first_rebalance_waits_three_seconds_after_the_last_member() -> None:
    groups = Groups()
    one, answer = groups.added()
    groups.pass_time(2900)
    _, other = groups.added()
    groups.pass_time(200)
    assert answer == [] and groups.group().state is GroupState.PREPARING
    groups.pass_time(3000)
    assert answer.one.generation_id == other.one.generation_id == 1
    assert answer.one.leader == other.one.leader == one
    assert [member.member_id for member in answer.one.members] == [one, other.one.member_id]
    assert other.one.members == ()


def test_first_rebalance_ends_by_the_rebalance_timeout() -> None:
    groups = Groups()
    _, answer = groups.added(rebalance=5000)
    for _ in range(3):
        groups.pass_time(2000)
        groups.added(rebalance=5000)
    assert answer.one.error_code == E.NONE


def test_protocol_of_most_members_that_all_support_is_chosen() -> None:
    groups = Groups()
    _, answer = groups.added(protocols=BOTH)
    for _ in range(2):
        groups.added(protocols=(*reversed(BOTH), ("mine", b"")))
    groups.pass_time(12_000)
    assert answer.one.protocol_name == "sticky"
    assert {member.metadata for member in answer.one.members} == {b"s"}


def test_sync_waits_for_the_leader_and_gives_each_its_assignment() -> None:
    groups = Groups()
    one, _ = groups.added()
    other, _ = groups.added()
    groups.pass_time(9000)
    waiting = groups.sync(other)
    assert waiting == []
    [answer] = groups.sync(one, None, {one: b"1", other: b"2", "unknown": b"3"})
    assert (answer.assignment, waiting[0].assignment) == (b"1", b"2")
    assert (answer.protocol_type, answer.protocol_name) == ("consumer", "range")
    assert groups.group().state is GroupState.STABLE
    assert groups.sync(other)[0].assignment == b"2"


def test_member_without_assignment_gets_an_empty_one() -> None:
    groups = Groups()
    one, _ = groups.added()
    other, _ = groups.added()
    groups.pass_time(9000)
    waiting = groups.sync(other)
    groups.sync(one, None, {one: b"1"})
    assert (waiting[0].error_code, waiting[0].assignment) == (E.NONE, b"")


def test_bad_sync_is_refused() -> None:
    groups = Groups()
    [one] = groups.stable()
    assert groups.sync("other")[0].error_code == E.UNKNOWN_MEMBER_ID
    assert groups.sync(one, 7)[0].error_code == E.ILLEGAL_GENERATION
    assert groups.sync(one, protocol="sticky")[0].error_code == E.INCONSISTENT_GROUP_PROTOCOL
    assert groups.sync(one, protocol_type="connect")[0].error_code == E.INCONSISTENT_GROUP_PROTOCOL
    assert groups.sync(one, protocol_type="consumer", protocol="range")[0].error_code == E.NONE
    groups.added()
    assert groups.sync(one)[0].error_code == E.REBALANCE_IN_PROGRESS
    answers: list[object] = []
    for group in ("", "none"):
        groups.coordinator.membership.sync(
            SyncGroupRequest(group), lambda answer: answers.append(answer.error_code)
        )
    assert answers == [E.INVALID_GROUP_ID, E.UNKNOWN_MEMBER_ID]


def test_heartbeat_reports_a_rebalance_and_errors() -> None:
    groups = Groups()
    [one] = groups.stable()
    assert groups.heartbeat(one) == E.NONE
    assert groups.heartbeat(one, 0) == E.ILLEGAL_GENERATION
    assert groups.heartbeat("other") == E.UNKNOWN_MEMBER_ID
    groups.added()
    assert groups.heartbeat(one) == E.REBALANCE_IN_PROGRESS
    heartbeat = groups.coordinator.membership.heartbeat
    assert heartbeat(HeartbeatRequest("")) == E.INVALID_GROUP_ID
    assert heartbeat(HeartbeatRequest("none")) == E.UNKNOWN_MEMBER_ID


def test_follower_that_joins_a_stable_group_again_unchanged_keeps_its_generation() -> None:
    groups = Groups()
    _, other = groups.stable(b"a", b"b")
    answer = groups.join(other, protocols=[("range", b"b")]).one
    assert (answer.error_code, answer.generation_id, answer.members) == (E.NONE, 1, ())
    assert groups.group().state is GroupState.STABLE


def test_follower_that_joins_with_changed_metadata_starts_a_rebalance() -> None:
    groups = Groups()
    one, other = groups.stable(b"a", b"b")
    waiting = groups.join(other, protocols=[("range", b"changed")])
    assert waiting == [] and groups.group().state is GroupState.PREPARING
    groups.join(one, protocols=[("range", b"a")])
    assert waiting.one.generation_id == 2


def test_leader_that_joins_a_stable_group_again_starts_a_rebalance() -> None:
    groups = Groups()
    one, _ = groups.stable(b"a", b"b")
    assert groups.join(one, protocols=[("range", b"a")]) == []
    assert groups.group().state is GroupState.PREPARING


def test_member_that_repeats_its_join_before_the_assignment_gets_the_same_answer() -> None:
    groups = Groups()
    one, first = groups.added()
    groups.pass_time(6000)
    again = groups.join(one)
    assert again.one == first.one


def test_second_join_of_a_member_ends_the_first_one() -> None:
    groups = Groups()
    one, _ = groups.stable(b"a", b"b")
    first = groups.join(one, protocols=[("range", b"a")])
    second = groups.join(one, protocols=[("range", b"a")])
    assert first.one.error_code == E.REBALANCE_IN_PROGRESS
    assert second == []
    assert groups.group().joining == 1


def test_member_that_does_not_join_a_rebalance_is_removed_after_its_timeout() -> None:
    groups = Groups()
    one, other = groups.stable(b"a", b"b", rebalance=4000)
    waiting = groups.join(one, protocols=[("range", b"a")], rebalance=4000)
    groups.pass_time(4100)
    assert [member.member_id for member in waiting.one.members] == [one]
    assert groups.heartbeat(other) == E.UNKNOWN_MEMBER_ID


def test_silent_member_is_removed_after_its_session_and_the_others_rebalance() -> None:
    groups = Groups()
    one, other = groups.stable(b"a", b"b")
    for _ in range(4):
        groups.pass_time(3000)
        groups.heartbeat(one)
    assert list(groups.group().members) == [one]
    assert groups.heartbeat(one) == E.REBALANCE_IN_PROGRESS
    assert groups.heartbeat(other) == E.UNKNOWN_MEMBER_ID


def test_member_that_does_not_sync_is_removed_after_the_rebalance_timeout() -> None:
    groups = Groups()
    one, other = groups.stable(b"a", b"b", rebalance=4000)
    groups.join(other, protocols=[("range", b"new")], rebalance=4000)
    groups.join(one, protocols=[("range", b"a")], rebalance=4000)
    waiting = groups.sync(other)
    groups.pass_time(4100)
    assert list(groups.group().members) == [other]
    assert waiting[0].error_code == E.REBALANCE_IN_PROGRESS


def test_issued_id_is_waited_for_and_then_forgotten() -> None:
    groups = Groups()
    [one] = groups.stable()
    groups.join()
    waiting = groups.join(one)
    assert waiting == []
    groups.pass_time(10_100)
    assert waiting.one.generation_id == 2
    assert not groups.group().pending


def test_new_member_that_is_gone_is_dropped_after_five_minutes() -> None:
    groups = Groups()
    one, _ = groups.stable(b"a", b"b")
    _, waiting = groups.added(rebalance=10**7)
    for _ in range(101):
        groups.pass_time(3000)
        groups.heartbeat(one)
        groups.heartbeat(list(groups.group().members)[1])
    assert waiting.one.error_code == E.UNKNOWN_MEMBER_ID


def test_static_member_that_comes_back_takes_its_place_without_a_rebalance() -> None:
    groups = Groups()
    first = groups.join(instance="i")
    groups.pass_time(3100)
    old = first.one.member_id
    groups.sync(old, None, {old: b"all"}, instance="i")
    answer = groups.join(instance="i").one
    assert answer.member_id not in ("", old)
    assert (answer.error_code, answer.generation_id, answer.skip_assignment) == (E.NONE, 1, True)
    assert [member.group_instance_id for member in answer.members] == ["i"]
    assert groups.sync(answer.member_id, instance="i")[0].assignment == b"all"
    assert groups.heartbeat(old, instance="i") == E.FENCED_INSTANCE_ID
    assert groups.sync(old, instance="i")[0].error_code == E.FENCED_INSTANCE_ID
    assert groups.join(old, instance="i").one.error_code == E.FENCED_INSTANCE_ID
    assert groups.commit_error(old, 1, instance="i") == E.FENCED_INSTANCE_ID


def test_static_leader_of_an_old_client_gets_the_former_leader() -> None:
    groups = Groups()
    first = groups.join(instance="i")
    groups.pass_time(3100)
    old = first.one.member_id
    groups.sync(old, None, {old: b"all"}, instance="i")
    answer = groups.join(instance="i", version=5).one
    assert (answer.leader, answer.members, answer.skip_assignment) == (old, (), False)


def test_static_member_that_comes_back_while_its_join_waits_fences_the_former() -> None:
    groups = Groups()
    first = groups.join(instance="i")
    second = groups.join(instance="i")
    assert first.one.error_code == E.FENCED_INSTANCE_ID
    groups.pass_time(3100)
    assert second.one.error_code == E.NONE
    assert len(groups.group().members) == 1


def test_static_member_with_another_protocol_starts_a_rebalance() -> None:
    groups = Groups()
    first = groups.join(instance="i", protocols=BOTH)
    groups.pass_time(3100)
    groups.sync(first.one.member_id, None, {}, instance="i")
    again = groups.join(instance="i", protocols=reversed(BOTH))
    assert (again.one.generation_id, again.one.protocol_name) == (2, "sticky")


def test_static_member_that_comes_back_before_the_assignment_starts_a_rebalance() -> None:
    groups = Groups()
    groups.join(instance="i")
    groups.pass_time(3100)
    assert groups.join(instance="i").one.generation_id == 2


def test_unknown_instance_is_an_unknown_member() -> None:
    groups = Groups()
    [one] = groups.stable()
    assert groups.heartbeat(one, instance="i") == E.UNKNOWN_MEMBER_ID


def test_static_member_outlives_a_rebalance_that_it_does_not_join() -> None:
    groups = Groups()
    groups.join(instance="i", rebalance=2000, session=60_000)
    _, answer = groups.added(rebalance=2000, session=60_000)
    groups.pass_until(GroupState.COMPLETING)
    one, static = answer.one.member_id, groups.group().static["i"]
    groups.sync(one), groups.sync(static, None, {}, instance="i")
    waiting = groups.join(one, protocols=[("range", b"new")], rebalance=2000, session=60_000)
    groups.pass_time(2100)
    assert waiting.one.leader == one
    assert len(groups.group().members) == 2


def test_leave_of_some_members_answers_each() -> None:
    groups = Groups()
    one, _ = groups.stable(b"a", b"b")
    pending = groups.join().one.member_id
    answer = groups.leave(
        MemberIdentity(one), MemberIdentity("other"), MemberIdentity(pending), MemberIdentity("", "i")
    )
    assert [member.error_code for member in answer.members] == [
        E.NONE,
        E.UNKNOWN_MEMBER_ID,
        E.NONE,
        E.UNKNOWN_MEMBER_ID,
    ]
    assert groups.group().state is GroupState.PREPARING
    assert one not in groups.group().members


def test_administrator_removes_a_static_member_by_its_instance() -> None:
    groups = Groups()
    groups.join(instance="i")
    answer = groups.leave(MemberIdentity("", "i"))
    assert answer.members[0].error_code == E.NONE
    assert not groups.group().members


def test_leave_of_old_versions_and_of_unknown_groups() -> None:
    groups = Groups()
    [one] = groups.stable()

    def answered(request: LeaveGroupRequest, version: int) -> LeaveGroupResponse:
        return run(groups.coordinator.membership.leave(request, version))

    assert answered(LeaveGroupRequest("g", "other"), 2).error_code == E.UNKNOWN_MEMBER_ID
    assert answered(LeaveGroupRequest("g", one), 2).error_code == E.NONE
    assert answered(LeaveGroupRequest("none", one), 1).error_code == E.UNKNOWN_MEMBER_ID
    assert answered(LeaveGroupRequest("", one), 1).error_code == E.INVALID_GROUP_ID
    unknown = answered(LeaveGroupRequest("none", members=(MemberIdentity("a"),)), 5)
    assert (unknown.error_code, unknown.members[0].error_code) == (E.NONE, E.UNKNOWN_MEMBER_ID)


def test_last_member_that_leaves_empties_the_group() -> None:
    groups = Groups()
    [one] = groups.stable()
    groups.leave(MemberIdentity(one))
    assert (groups.group().state, groups.group().generation) == (GroupState.EMPTY, 2)


def test_waiting_requests_of_a_member_that_leaves_are_answered() -> None:
    groups = Groups()
    one, other = groups.stable(b"a", b"b")
    joining = groups.join(other, protocols=[("range", b"new")])
    groups.leave(MemberIdentity(other))
    assert joining.one.error_code == E.UNKNOWN_MEMBER_ID
    groups.join(one, protocols=[("range", b"a")])
    _, late = groups.added()
    groups.join(one, protocols=[("range", b"a")])
    syncing = groups.sync(late.one.member_id)
    groups.leave(MemberIdentity(late.one.member_id))
    assert syncing[0].error_code == E.UNKNOWN_MEMBER_ID


def test_group_of_maximum_size_refuses_further_members() -> None:
    groups = Groups(GroupSettings(max_size=1))
    one, _ = groups.added()
    assert groups.join().one.error_code == E.GROUP_MAX_SIZE_REACHED
    groups.pass_time(3100)
    groups.sync(one, None, {})
    assert groups.join().one.error_code == E.GROUP_MAX_SIZE_REACHED
    assert groups.join(one, protocols=[("range", b"new")]).one.generation_id == 2


def test_limits_of_all_groups_are_kept_and_counted_down_again() -> None:
    groups = Groups(GroupSettings(groups_max=2, members_max=2, member_bytes_max=40))
    assert groups.join(protocols=[("range", b"x" * 40)]).one.error_code == E.COORDINATOR_NOT_AVAILABLE
    one, _ = groups.added()
    two, _ = groups.added()
    assert groups.join().one.error_code == E.COORDINATOR_NOT_AVAILABLE
    groups.leave(MemberIdentity(one), MemberIdentity(two))
    tally = groups.coordinator.groups.tally
    assert (tally.members, tally.bytes) == (0, 0)
    groups.join(group="h")
    assert groups.join(group="third").one.error_code == E.COORDINATOR_NOT_AVAILABLE


def test_issued_ids_have_a_limit() -> None:
    groups = Groups(GroupSettings(max_size=3))
    for _ in range(3):
        groups.join()
    assert groups.join().one.error_code == E.GROUP_MAX_SIZE_REACHED
    groups.pass_time(10_100)
    assert groups.join().one.error_code == E.MEMBER_ID_REQUIRED
