"""Groups that are read from the log and deleted, and what others ask of them."""

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode as E
from mqgateway.gateway.kafka.codec.messages.txn_offset_commit_request import TxnOffsetCommitRequest
from mqgateway.gateway.kafka.coordinator.settings import DAY
from mqgateway.gateway.kafka.share_groups.settings import ShareGroupSettings
from tests.gateway.kafka.consumer_groups.test_service import delete
from tests.support.gateway.kafka.groups import Groups


def test_members_are_known() -> None:
    groups = Groups()
    shares = groups.coordinator.shares
    assert not shares.is_share_group("g")
    groups.share_heartbeat("a")
    groups.consumer_heartbeat("a", group="h")
    assert shares.is_share_group("g") and not shares.is_share_group("h")
    group = shares.get("g")
    assert group is not None and shares.get("h") is None
    assert group.members.keys() == {"a"} and len(group.members["a"].assigned) == 4
    assert shares.settings("g") == ShareGroupSettings()


def test_members_survive_a_restart_and_are_expected() -> None:
    groups = Groups()
    groups.share_heartbeat("a")
    again = groups.restarted()
    assert again.share_heartbeat("a", 2).error_code == E.NONE
    again = again.restarted()
    again.pass_time(46_000, 1000)
    assert again.shares().is_empty


def test_deleted_group_leaves_no_records() -> None:
    groups = Groups()
    groups.share_heartbeat("a")
    assert delete(groups) == E.NON_EMPTY_GROUP
    groups.share_heartbeat("a", -1)
    assert delete(groups) == E.NONE
    assert groups.coordinator.groups.get("g") is None
    assert len(groups.restarted().coordinator.groups) == 0


def test_empty_group_stays() -> None:
    groups = Groups()
    groups.share_heartbeat("a")
    groups.share_heartbeat("a", -1)
    groups.shared.members.add("g")
    groups.leap(8 * DAY)
    groups.leap(11 * 60_000)
    assert groups.shares().is_empty and groups.restarted().shares().is_empty


def test_offsets_cannot_be_committed() -> None:
    groups = Groups()
    groups.share_heartbeat("a")
    assert groups.commit_error() == groups.commit_error("a", 2) == E.GROUP_ID_NOT_FOUND
    commits = groups.coordinator.commits
    assert commits.delete_error("g", groups.shares()) == E.GROUP_ID_NOT_FOUND
    assert commits.transactional_error(TxnOffsetCommitRequest("t", "g")) == E.GROUP_ID_NOT_FOUND


def test_coordinator_that_begins_again_forgets_groups() -> None:
    groups = Groups()
    groups.share_heartbeat("a")
    groups.coordinator.unload()
    assert groups.coordinator.shares.get("g") is None
    for _ in groups.coordinator.load():
        pass
    assert groups.shares().members.keys() == {"a"}
