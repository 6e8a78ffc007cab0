"""Rebalances when the log refuses records, and late members."""

from twisted.internet.defer import Deferred, fail

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode as E
from mqgateway.gateway.kafka.coordinator.group import GroupState
from mqgateway.gateway.kafka.coordinator.records_log import MemoryRecordsLog, NotWritten, Records
from mqgateway.gateway.kafka.coordinator.settings import GroupSettings
from tests.support.gateway.kafka.groups import Groups


class FullLog(MemoryRecordsLog):
    """A log that refuses records while `is_full`."""

    is_full = False

    def append(self, records: Records) -> Deferred[int]:
        if self.is_full:
            return fail(NotWritten(E.COORDINATOR_NOT_AVAILABLE, "no space"))
        return super().append(records)


def test_assignment_that_is_not_written_is_given_to_no_member_and_the_group_rebalances() -> None:
    log = FullLog()
    groups = Groups(log=log)
    one, _ = groups.added()
    other, _ = groups.added()
    groups.pass_until(GroupState.COMPLETING)
    waiting = groups.sync(other)
    log.is_full = True
    answer = groups.sync(one, None, {one: b"1", other: b"2"})
    assert (answer[0].error_code, waiting[0].error_code) == (E.COORDINATOR_NOT_AVAILABLE,) * 2
    assert (answer[0].assignment, groups.group().state) == (b"", GroupState.PREPARING)
    log.is_full = False
    groups.join(one)
    groups.join(other)
    assert groups.group().state is GroupState.COMPLETING


def test_static_member_that_cannot_be_written_gets_an_error_and_may_try_again() -> None:
    log = FullLog()
    groups = Groups(log=log)
    first = groups.join(instance="i")
    groups.pass_time(3100)
    groups.sync(first.one.member_id, None, {}, instance="i")
    log.is_full = True
    assert groups.join(instance="i").one.error_code == E.COORDINATOR_NOT_AVAILABLE
    log.is_full = False
    assert groups.join(instance="i").one.error_code == E.NONE


def test_group_of_static_members_of_which_none_joins_waits_for_their_sessions() -> None:
    groups = Groups()
    groups.join(instance="i", rebalance=1000)
    groups.pass_time(3100)
    groups.sync(groups.group().static["i"], None, {}, instance="i")
    pending = groups.join().one.member_id
    groups.join(pending, session=10_000, rebalance=1000)
    groups.coordinator.membership._rebalances.forget(groups.group(), pending)
    groups.pass_time(2000)
    assert groups.group().state is GroupState.PREPARING
    groups.pass_time(10_000)
    assert groups.group().state is GroupState.EMPTY


def test_member_that_does_not_sync_in_a_stable_group_is_removed() -> None:
    groups = Groups()
    one, _ = groups.added(rebalance=4000)
    other, _ = groups.added(rebalance=4000)
    groups.pass_until(GroupState.COMPLETING)
    groups.sync(one, None, {one: b"1"})
    groups.pass_time(4100)
    assert list(groups.group().members) == [one]
    assert groups.heartbeat(other) == E.UNKNOWN_MEMBER_ID


def test_first_join_of_a_group_is_answered_at_once_without_an_initial_delay() -> None:
    groups = Groups(GroupSettings(initial_rebalance_delay=0))
    groups.join()  # is given an id, and may never use it
    answer = groups.join(groups.join().one.member_id).one
    assert (answer.error_code, answer.generation_id, len(answer.members)) == (E.NONE, 1, 1)
    assert groups.group().state is GroupState.COMPLETING
