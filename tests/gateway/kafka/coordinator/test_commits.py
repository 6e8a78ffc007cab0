"""Commits, what is refused, expiry, and groups that change sides."""

import pytest
from twisted.internet.defer import Deferred

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode as E
from mqgateway.gateway.kafka.codec.messages.leave_group_request import MemberIdentity
from mqgateway.gateway.kafka.coordinator.commits import OffsetBatch
from mqgateway.gateway.kafka.coordinator.group import GroupState
from mqgateway.gateway.kafka.coordinator.records import Committed, OffsetKey
from mqgateway.gateway.kafka.coordinator.records_log import MemoryRecordsLog, Records
from mqgateway.gateway.kafka.coordinator.settings import DAY, GroupSettings
from tests.support.gateway.kafka.groups import Groups, subscription

KEY = OffsetKey("g", "orders", 0)
MINUTE = 60_000


def result(done: Deferred[E]) -> E:
    """Return the outcome of a deletion that is done."""
    outcomes: list[E] = []
    done.addCallback(outcomes.append)
    return outcomes[0]


def test_commit_without_members_makes_a_simple_group() -> None:
    groups = Groups()
    assert groups.commit_error() == E.NONE
    groups.commit(0, 7)
    assert groups.committed() == 7
    assert groups.group().is_simple


def test_commit_of_a_generation_of_an_unknown_group_is_refused() -> None:
    groups = Groups()
    assert groups.commit_error("m", 1, version=8) == E.ILLEGAL_GENERATION
    assert groups.commit_error("m", 1, version=9) == E.GROUP_ID_NOT_FOUND


def test_commit_of_a_member_is_accepted_in_its_generation_only() -> None:
    groups = Groups()
    [one] = groups.stable()
    assert groups.commit_error(one, 1) == E.NONE
    assert groups.commit_error(one, 0) == E.ILLEGAL_GENERATION
    assert groups.commit_error("other", 1) == E.UNKNOWN_MEMBER_ID
    assert groups.commit_error() == E.UNKNOWN_MEMBER_ID
    groups.added()
    assert groups.commit_error(one, 1) == E.NONE
    groups.join(one)
    assert groups.group().state is GroupState.COMPLETING
    assert groups.commit_error(one, 2) == E.REBALANCE_IN_PROGRESS


def test_commit_is_a_sign_of_life() -> None:
    groups = Groups()
    [one] = groups.stable()
    for _ in range(5):
        groups.pass_time(5000)
        assert groups.commit_error(one, 1) == E.NONE


@pytest.mark.parametrize(
    ("metadata", "is_too_large"),
    [
        (None, False),
        ("x" * 4096, False),
        ("x" * 4097, True),
        ("\U0001f600" * 2049, True),
        ("ä" * 4096, False),
    ],
)
def test_metadata_is_limited_in_utf_16_units(metadata: str | None, is_too_large: bool) -> None:
    assert Groups().coordinator.commits.is_too_large(metadata) is is_too_large


def test_offsets_have_a_limit() -> None:
    groups = Groups(GroupSettings(offsets_max=2))
    groups.commit(0, 1)
    assert groups.coordinator.commits.has_room(1)
    assert not groups.coordinator.commits.has_room(2)


def test_offsets_of_an_empty_group_expire_seven_days_after_its_last_member() -> None:
    groups = Groups()
    [one] = groups.stable(subscription("orders"))
    groups.commit(0, 7)
    groups.leave(MemberIdentity(one))
    groups.leap(7 * DAY - MINUTE)
    assert groups.committed() == 7
    groups.leap(2 * MINUTE)
    groups.leap(10 * MINUTE)
    assert groups.committed() is None
    assert groups.coordinator.groups.get("g") is None
    assert groups.restarted().coordinator.groups.get("g") is None
    assert KEY not in groups.shared.offsets


def test_offsets_of_a_simple_group_expire_seven_days_after_their_commit() -> None:
    groups = Groups()
    groups.commit(0, 7)
    groups.leap(4 * DAY)
    groups.commit(1, 8)
    groups.leap(4 * DAY)
    assert (groups.committed(0), groups.committed(1)) == (None, 8)


def test_offset_with_a_time_of_its_own_expires_then() -> None:
    groups = Groups()
    groups.commit(0, 7, expires=groups.clock.millis() + DAY)
    groups.leap(DAY + 10 * MINUTE)
    assert groups.committed() is None


def test_offsets_of_a_stable_group_expire_in_topics_that_it_does_not_read() -> None:
    groups = Groups(GroupSettings(max_session_timeout=100 * DAY))
    groups.shared.topics["other"] = groups.shared.topics["orders"]
    groups.added(protocols=[("range", subscription("orders"))], session=20 * DAY, rebalance=30_000)
    groups.pass_until(GroupState.COMPLETING)
    leader = groups.group().leader or ""
    groups.sync(leader, None, {})
    groups.commit(0, 7)
    groups.commit(0, 8, "other")
    groups.leap(8 * DAY)
    assert (groups.committed(), groups.committed(0, "other")) == (7, None)


def test_empty_group_without_offsets_is_forgotten() -> None:
    groups = Groups()
    groups.join()
    groups.leap(10_100)
    groups.leap(11 * MINUTE)
    assert groups.coordinator.groups.get("g") is None


def test_group_whose_offsets_expire_while_a_client_is_to_join_is_kept() -> None:
    groups = Groups()
    groups.commit(0, 7, expires=groups.clock.millis() + MINUTE)
    [given] = groups.join(session=30 * MINUTE)
    groups.leap(11 * MINUTE)
    assert (groups.committed(), groups.group().pending) == (None, {given.member_id})


def test_offsets_of_a_deleted_topic_are_deleted_and_do_not_come_back_with_its_name() -> None:
    groups = Groups()
    groups.commit(0, 7)
    del groups.shared.topics["orders"]
    groups.shared.offsets.clear()
    groups.pass_time(6000)
    assert not len(groups.coordinator.offsets)
    groups.shared.topics["orders"] = b"u" * 16
    assert groups.restarted().committed() is None


@pytest.mark.parametrize("offset", [3, 7])
def test_offset_of_a_topic_made_again_is_deleted_when_the_new_topic_has_one(offset: int) -> None:
    groups = Groups()
    groups.commit(0, 7)
    groups.shared.topics["orders"] = b"u" * 16
    groups.shared.offsets[KEY] = offset
    groups.pass_time(6000)
    assert (len(groups.coordinator.offsets), groups.committed()) == (0, offset)


def test_offset_of_a_topic_made_again_is_not_restored_at_start() -> None:
    groups = Groups()
    groups.commit(0, 7)
    groups.shared.topics["orders"] = b"u" * 16
    groups.shared.offsets.clear()
    assert groups.restarted().committed() is None


def test_group_is_deleted_with_its_offsets_unless_it_has_members() -> None:
    groups = Groups()
    [one] = groups.stable()
    groups.commit(0, 7)
    delete = groups.coordinator.commits.delete_group
    assert result(delete("none")) == E.GROUP_ID_NOT_FOUND
    assert result(delete("g")) == E.NON_EMPTY_GROUP
    groups.leave(MemberIdentity(one))
    assert result(delete("g")) == E.NONE
    assert groups.committed() is None
    assert result(delete("g")) == E.GROUP_ID_NOT_FOUND
    assert groups.restarted().committed() is None


def test_group_with_members_of_another_protocol_is_not_deleted_and_has_no_offsets_to_delete() -> None:
    groups = Groups()
    groups.shared.members.add("r")
    assert result(groups.coordinator.commits.delete_group("r")) == E.NON_EMPTY_GROUP
    assert groups.coordinator.commits.delete_error("r", None) == E.NON_EMPTY_GROUP


def test_offsets_are_not_deleted_of_a_group_of_another_type_with_members() -> None:
    groups = Groups()
    error = groups.coordinator.commits.delete_error
    assert error("none", None) == E.GROUP_ID_NOT_FOUND
    groups.added(protocol_type="connect")
    assert error("g", groups.group()) == E.NON_EMPTY_GROUP


def test_deleted_offset_stays_deleted() -> None:
    groups = Groups()
    groups.commit(0, 7)
    groups.commit(1, 8)
    groups.coordinator.commits.delete([KEY])
    again = groups.restarted()
    assert (groups.committed(), again.committed(), again.committed(1)) == (None, None, 8)


# Groups that change sides


def test_offset_of_a_group_of_another_protocol_is_found() -> None:
    groups = Groups()
    groups.shared.offsets[KEY] = 12
    assert groups.committed() == 12


def test_commit_of_another_protocol_is_found_and_written_to_the_log() -> None:
    groups = Groups()
    groups.commit(0, 7)
    groups.shared.offsets[KEY] = 12
    assert groups.committed() == 12
    groups.pass_time(6000)
    groups.shared.offsets.clear()
    assert groups.restarted().committed() == 12


def test_start_restores_offsets_that_the_file_of_the_table_lacks() -> None:
    groups = Groups()
    groups.commit(0, 7)
    groups.shared.offsets[KEY] = 3
    assert groups.restarted().committed() == 7


def test_group_taken_over_by_another_protocol_leaves_the_log_but_keeps_its_offsets() -> None:
    groups = Groups()
    groups.commit(0, 7)
    groups.shared.members.add("g")
    groups.pass_time(30_000, 1000)
    assert groups.coordinator.groups.get("g") is not None
    groups.pass_time(60_000, 1000)
    assert groups.coordinator.groups.get("g") is None
    assert groups.committed() == 7
    groups.shared.members.clear()
    assert groups.commit_error() == E.NONE


def test_group_with_live_members_of_another_protocol_accepts_no_commit_and_no_deletion() -> None:
    groups = Groups()
    groups.shared.members.add("g")
    assert groups.commit_error() == E.UNKNOWN_MEMBER_ID
    groups.shared.offsets[KEY] = 1
    assert result(groups.coordinator.commits.delete_group("g")) == E.NON_EMPTY_GROUP
    assert groups.coordinator.commits.delete_error("g", None) == E.NON_EMPTY_GROUP


class CountingLog(MemoryRecordsLog):
    """A log that knows how many records each write had."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[int] = []

    def append(self, records: Records) -> Deferred[int]:
        self.writes.append(len(records))
        return super().append(records)


def commit_many(groups: Groups, count: int, offset: int) -> Deferred[None]:
    """Commit an offset in partitions 0, 1, 2, ... at once."""
    batch = OffsetBatch()
    for number in range(count):
        batch.add(OffsetKey("g", "orders", number), Committed(offset, 0, "", groups.clock.millis()))
    return groups.coordinator.commits.commit(batch)


def test_offsets_committed_together_are_one_batch_of_records() -> None:
    log = CountingLog()
    groups = Groups(log=log)
    commit_many(groups, 1200, 7)
    assert log.writes == [1200]
    assert (groups.committed(1199), groups.restarted().committed(1199)) == (7, 7)


def test_very_many_offsets_are_deleted_with_their_group_some_at_a_time() -> None:
    log = CountingLog()
    groups = Groups(log=log)
    commit_many(groups, 1200, 7)
    log.writes.clear()
    assert result(groups.coordinator.commits.delete_group("g")) == E.NONE
    assert log.writes == [500, 500, 200, 1]
    assert (len(groups.coordinator.offsets), len(groups.coordinator.groups)) == (0, 0)
    assert len(groups.restarted().coordinator.groups) == 0


def test_group_that_members_join_while_it_is_deleted_keeps_its_record() -> None:
    log = CountingLog()
    groups = Groups(log=log)
    commit_many(groups, 100, 7)
    groups.held = []
    deleted = groups.coordinator.commits.delete_group("g")
    groups.stable()
    groups.run_held()
    assert result(deleted) == E.NON_EMPTY_GROUP
    assert groups.restarted().group().state is GroupState.STABLE


def test_deletion_waits_behind_a_long_commit_that_became_durable_before() -> None:
    groups = Groups()
    groups.held = []
    commit_many(groups, 100, 7)
    groups.coordinator.commits.delete([KEY])
    groups.run_held()
    assert (groups.committed(0), groups.committed(99)) == (None, 7)


def test_long_commit_is_not_entered_once_groups_are_forgotten() -> None:
    groups = Groups()
    groups.held = []
    commit_many(groups, 100, 7)
    groups.coordinator.unload()
    groups.run_held()
    assert (len(groups.coordinator.offsets), len(groups.coordinator.groups)) == (0, 0)


def test_very_many_offsets_expire_with_their_group_and_follow_the_shared_table_in_steps() -> None:
    groups = Groups()
    commit_many(groups, 100, 7)
    for number in range(100):
        groups.shared.put(OffsetKey("g", "orders", number), 8)
    assert sum(1 for _ in groups.coordinator.commits.follow()) == 3
    assert {groups.restarted().committed(number) for number in range(100)} == {8}
    groups.leap(7 * DAY - 1000)
    commit_many(groups, 1, 9)
    groups.leap(2 * MINUTE * 10)
    assert (len(groups.coordinator.offsets), len(groups.coordinator.groups)) == (1, 1)
    groups.leap(8 * DAY)
    assert (len(groups.coordinator.offsets), len(groups.coordinator.groups)) == (0, 0)
