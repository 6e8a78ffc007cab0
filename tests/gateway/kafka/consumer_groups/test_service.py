"""Groups that are read from the log, deleted and retired."""

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode as E
from mqgateway.gateway.kafka.codec.messages.txn_offset_commit_request import TxnOffsetCommitRequest
from mqgateway.gateway.kafka.consumer_groups.group import ModernGroupState as State
from mqgateway.gateway.kafka.consumer_groups.records import CONSUMER_RECORDS
from mqgateway.gateway.kafka.coordinator.assigned_group import Kind, RecordKey
from mqgateway.gateway.kafka.coordinator.records_log import MemoryRecordsLog, Records
from mqgateway.gateway.kafka.coordinator.settings import DAY
from tests.support.gateway.kafka.groups import Groups


def test_members_survive_a_restart_and_are_expected() -> None:
    groups = Groups()
    groups.consumer_heartbeat("a")
    groups.commit(0, 7)
    again = groups.restarted()
    assert again.consumer_heartbeat("a", 2).error_code == E.NONE
    assert again.consumers().state is State.STABLE and again.committed() == 7
    again = again.restarted()
    again.pass_time(46_000, 1000)
    assert again.consumers().state is State.EMPTY


def test_deleted_group_leaves_no_records() -> None:
    groups = Groups()
    groups.consumer_heartbeat("a", subscribed_topic_regex="o.*")
    groups.commit(0, 7)
    assert delete(groups) == E.NON_EMPTY_GROUP
    groups.consumer_heartbeat("a", -1)
    assert delete(groups) == E.NONE
    assert groups.coordinator.groups.get("g") is None
    again = groups.restarted()
    assert (len(again.coordinator.groups), len(again.coordinator.offsets)) == (0, 0)


def delete(groups: Groups) -> E:
    """Delete group g."""
    answers: list[E] = []
    groups.coordinator.commits.delete_group("g").addCallback(answers.append)
    return answers[0]


def test_empty_group_goes_with_its_last_offset() -> None:
    groups = Groups()
    groups.consumer_heartbeat("a")
    groups.commit(0, 7)
    groups.consumer_heartbeat("a", -1)
    groups.leap(8 * DAY)
    groups.leap(11 * 60_000)
    assert groups.coordinator.groups.get("g") is None
    assert groups.committed() is None


def test_offsets_of_subscribed_topics_do_not_expire() -> None:
    groups = Groups()
    groups.consumer_heartbeat("a")
    groups.commit(0, 7)
    for _ in range(16):
        groups.clock.advance(DAY // 2)
        groups.consumers().members["a"]
        groups.consumer_heartbeat("a", 2)
        groups.coordinator.tick()
    assert groups.committed() == 7


def test_commit_of_a_member_needs_its_epoch() -> None:
    groups = Groups()
    groups.consumer_heartbeat("a")
    assert groups.commit_error("a", 2) == E.NONE
    assert groups.commit_error("a", 3) == E.STALE_MEMBER_EPOCH
    assert groups.commit_error("b", 2) == E.UNKNOWN_MEMBER_ID
    assert groups.commit_error() == E.UNKNOWN_MEMBER_ID
    assert groups.commit_error("a", 2, version=8) == E.UNSUPPORTED_VERSION
    groups.consumer_heartbeat("a", -1)
    assert groups.commit_error() == E.NONE


def test_commit_in_a_transaction_needs_the_epoch_of_a_member_that_is_named() -> None:
    groups = Groups()
    groups.consumer_heartbeat("a")

    def error(member_id: str, epoch: int) -> E:
        request = TxnOffsetCommitRequest("t", "g", 1, 0, epoch, member_id)
        return groups.coordinator.commits.transactional_error(request)

    assert [error("", -1), error("a", 2)] == [E.NONE] * 2
    assert [error("a", 3), error("b", 2)] == [E.ILLEGAL_GENERATION, E.UNKNOWN_MEMBER_ID]


def test_tombstone_of_an_unknown_group_is_skipped() -> None:
    log = MemoryRecordsLog()
    log.append(Records([(CONSUMER_RECORDS.key("g", RecordKey(Kind.GROUP)), None)]))
    assert len(Groups(log=log).coordinator.groups) == 0
