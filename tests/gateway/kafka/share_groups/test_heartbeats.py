"""Heartbeats: each rule, each error, and histories of a group."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode as E
from mqgateway.gateway.kafka.codec.messages.share_group_heartbeat_response import ShareGroupHeartbeatResponse
from mqgateway.gateway.kafka.coordinator.settings import GroupSettings
from mqgateway.gateway.kafka.coordinator.topic_catalog import TopicsInMemory
from mqgateway.gateway.kafka.share_groups.group import ShareGroupState
from mqgateway.gateway.kafka.share_groups.settings import ShareGroupSettings
from tests.gateway.kafka.coordinator.test_group_writer import fail_write
from tests.gateway.kafka.coordinator.test_journal import SlowLog
from tests.support.gateway.kafka.groups import Groups

SESSION = 45_000


def numbers(answer: ShareGroupHeartbeatResponse) -> list[int] | None:
    """Return the numbers of assigned partitions of one topic, None if the answer has no assignment."""
    assert answer.error_code == E.NONE, answer
    if answer.assignment is None:
        return None
    return [index for topic in answer.assignment.topic_partitions for index in topic.partitions]


def test_first_member_gets_all_partitions() -> None:
    groups = Groups()
    answer = groups.share_heartbeat("a")
    assert (answer.member_id, answer.member_epoch, answer.heartbeat_interval_ms) == ("a", 2, 5000)
    assert numbers(answer) == [0, 1, 2, 3]
    assert numbers(groups.share_heartbeat("a", 2)) is None
    assert numbers(groups.share_heartbeat("a", 2, topics=["orders"])) == [0, 1, 2, 3]
    assert groups.shares().state is ShareGroupState.STABLE


def test_partitions_move_at_once() -> None:
    groups = Groups()
    groups.share_heartbeat("a")
    groups.pass_time(1000)
    assert numbers(groups.share_heartbeat("b")) == [2, 3]
    answer = groups.share_heartbeat("a", 2)
    assert (answer.member_epoch, numbers(answer)) == (3, [0, 1])


def test_repeated_heartbeat_of_the_previous_epoch_is_answered() -> None:
    groups = Groups()
    groups.share_heartbeat("a")
    groups.pass_time(1000)
    groups.share_heartbeat("b")
    assert groups.share_heartbeat("a", 2).member_epoch == 3
    assert groups.share_heartbeat("a", 2).error_code == E.NONE


def test_more_members_than_partitions_share_them() -> None:
    groups = Groups(catalog=TopicsInMemory({"orders": 1}))
    for name in "abc":
        groups.share_heartbeat(name)
        groups.pass_time(1000)
    assert [numbers(groups.share_heartbeat(name, 0)) for name in "abc"] == [[0]] * 3


def test_targets_are_computed_once_a_second_at_most() -> None:
    groups = Groups()
    groups.share_heartbeat("a")
    answer = groups.share_heartbeat("b")
    assert (answer.member_epoch, numbers(answer)) == (2, [])
    groups.pass_time(1100)
    assert numbers(groups.share_heartbeat("b", 2)) == [2, 3]


def test_subscription_that_changes_changes_the_assignment() -> None:
    groups = Groups(catalog=TopicsInMemory({"orders": 1, "more": 2}))
    groups.share_heartbeat("a")
    groups.pass_time(1000)
    assert numbers(groups.share_heartbeat("a", 2, topics=["more"])) == [0, 1]
    groups.pass_time(1000)
    assert numbers(groups.share_heartbeat("a", 3, topics=["missing"])) == []


def test_member_that_leaves_is_replaced() -> None:
    groups = Groups()
    groups.share_heartbeat("a")
    groups.pass_time(1000)
    groups.share_heartbeat("b")
    groups.pass_time(1000)
    answer = groups.share_heartbeat("b", -1)
    assert (answer.error_code, answer.member_id, answer.member_epoch) == (E.NONE, "b", -1)
    assert numbers(groups.share_heartbeat("a", 2, topics=["orders"])) == [0, 1, 2, 3]
    groups.share_heartbeat("a", -1)
    group = groups.shares()
    assert (group.state, group.epoch, group.assignment_epoch) == (ShareGroupState.EMPTY, 5, 5)


def test_silent_member_is_removed() -> None:
    groups = Groups()
    groups.share_heartbeat("a")
    groups.pass_time(SESSION - 1000, 1000)
    assert groups.share_heartbeat("a", 2).error_code == E.NONE
    groups.pass_time(SESSION + 1000, 1000)
    assert groups.share_heartbeat("a", 2).error_code == E.UNKNOWN_MEMBER_ID
    assert groups.restarted().shares().is_empty


def test_settings_of_the_group_are_used() -> None:
    groups = Groups()
    groups.share_settings = ShareGroupSettings(session_timeout=60_000, heartbeat_interval=15_000)
    assert groups.share_heartbeat("a").heartbeat_interval_ms == 15_000
    groups.pass_time(50_000, 1000)
    assert groups.share_heartbeat("a", 2).error_code == E.NONE


@pytest.mark.parametrize(
    ("member_id", "epoch", "code", "message"),
    [
        ("x", 2, E.UNKNOWN_MEMBER_ID, "Member x is not a member of group g."),
        ("x", -1, E.UNKNOWN_MEMBER_ID, "Member x is not a member of group g."),
        (
            "a",
            3,
            E.FENCED_MEMBER_EPOCH,
            "The share group member has a greater member epoch (3) than the one known by the group "
            "coordinator (2). The member must abandon all its partitions and rejoin.",
        ),
        (
            "a",
            1,
            E.FENCED_MEMBER_EPOCH,
            "The share group member has a smaller member epoch (1) than the one known by the group "
            "coordinator (2), and it does not match the previous member epoch (0). The member must abandon "
            "all its partitions and rejoin.",
        ),
    ],
)
def test_wrong_members_are_refused(member_id: str, epoch: int, code: E, message: str) -> None:
    groups = Groups()
    groups.share_heartbeat("a")
    answer = groups.share_heartbeat(member_id, epoch)
    assert (answer.error_code, answer.error_message) == (code, message)


def test_groups_of_another_type_are_refused() -> None:
    groups = Groups()
    for epoch, message in ((1, "Share group g not found."), (-1, "Group g not found.")):
        answer = groups.share_heartbeat("a", epoch)
        assert (answer.error_code, answer.error_message) == (E.GROUP_ID_NOT_FOUND, message)
    groups.consumer_heartbeat("a")
    answer = groups.share_heartbeat("b")
    assert answer.error_message == "Group g is not a share group."
    groups.commit(0, 5)
    groups.share_heartbeat("a", group="h")
    assert groups.consumer_heartbeat("a", group="h").error_code == E.GROUP_ID_NOT_FOUND
    assert groups.join("a", group="h").one.error_code == E.INCONSISTENT_GROUP_PROTOCOL


def test_full_group_refuses_members() -> None:
    groups = Groups(GroupSettings(share_max_size=1))
    groups.share_heartbeat("a")
    answer = groups.share_heartbeat("b")
    assert answer.error_code == E.GROUP_MAX_SIZE_REACHED
    assert answer.error_message == "The share group has reached its maximum capacity of 1 members."
    assert groups.share_heartbeat("a", 2).error_code == E.NONE


def test_limits_of_all_groups_hold() -> None:
    groups = Groups(GroupSettings(groups_max=1, members_max=1))
    groups.share_heartbeat("a")
    assert groups.share_heartbeat("b").error_code == E.COORDINATOR_NOT_AVAILABLE
    assert groups.share_heartbeat("b", group="h").error_code == E.COORDINATOR_NOT_AVAILABLE


def test_too_large_subscriptions_are_refused_and_leave_nothing() -> None:
    groups = Groups(GroupSettings(group_partitions_max=3))
    assert groups.share_heartbeat("a").error_code == E.INVALID_REQUEST
    assert groups.coordinator.groups.get("g") is None
    groups = Groups(GroupSettings(metadata_max=10))
    assert groups.share_heartbeat("a", topics=["x" * 10]).error_code == E.INVALID_REQUEST
    groups.share_heartbeat("a")
    assert groups.share_heartbeat("a", 2, topics=["x" * 10]).error_code == E.INVALID_REQUEST
    assert groups.shares().members["a"].topics == ("orders",)


def test_member_keeps_its_topics_if_new_ones_are_too_many() -> None:
    groups = Groups(GroupSettings(group_partitions_max=4), catalog=TopicsInMemory({"orders": 4, "more": 1}))
    groups.share_heartbeat("a")
    assert groups.share_heartbeat("a", 2, topics=["orders", "more"]).error_code == E.INVALID_REQUEST
    assert groups.shares().members["a"].topics == ("orders",)


def test_heartbeat_fails_with_its_records() -> None:
    log = SlowLog()
    groups = Groups(log=log)
    answers = groups.send_share_heartbeat("a")
    assert answers == []
    fail_write(log)
    assert answers[0].error_code == E.COORDINATOR_NOT_AVAILABLE
    groups.pass_time(5100)
    log.end_write(1)
    assert groups.restarted().share_heartbeat("a", 2).error_code == E.NONE


class ShareGroupHistory(RuleBasedStateMachine):
    """Members that join, change their topics, leave and fall silent, and restarts of the coordinator."""

    def __init__(self) -> None:
        super().__init__()
        self.groups = Groups(catalog=TopicsInMemory({"orders": 3, "more": 2}))
        self.epochs: dict[str, int] = {}

    @rule(
        name=st.sampled_from("abcdef"),
        topics=st.sampled_from((["orders"], ["more"], ["orders", "more"], ["missing"])),
    )
    def join(self, name: str, topics: list[str]) -> None:
        answer = self.groups.share_heartbeat(name, topics=topics)
        assert answer.error_code == E.NONE
        self.epochs[name] = answer.member_epoch

    @precondition(lambda self: self.epochs)
    @rule(data=st.data())
    def send_heartbeat(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.epochs)))
        answer = self.groups.share_heartbeat(name, self.epochs[name])
        assert answer.error_code == E.NONE
        self.epochs[name] = answer.member_epoch

    @precondition(lambda self: self.epochs)
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.epochs)))
        assert self.groups.share_heartbeat(name, -1).error_code == E.NONE
        del self.epochs[name]

    @rule()
    def grow(self) -> None:
        if self.groups.catalog.topics["orders"] < 6:
            self.groups.catalog.topics["orders"] += 1

    @rule(silent=st.booleans())
    def wait(self, silent: bool) -> None:
        if silent:
            self.groups.pass_time(SESSION + 1000, 1000)
            self.epochs.clear()
        else:
            self.groups.pass_time(1000)
            for name in self.epochs:
                self.send_for(name)

    def send_for(self, name: str) -> None:
        self.epochs[name] = self.groups.share_heartbeat(name, self.epochs[name]).member_epoch

    @rule()
    def restart(self) -> None:
        self.groups = self.groups.restarted()

    @invariant()
    def members_are_known(self) -> None:
        group = self.groups.coordinator.shares.get("g")
        assert set(() if group is None else group.members) == set(self.epochs)

    def teardown(self) -> None:
        """Check, once all have got their targets, that each partition of a topic with members has one."""
        for _ in range(3):
            self.groups.pass_time(1100)
            for name in self.epochs:
                self.send_for(name)
        group = self.groups.coordinator.shares.get("g")
        if group is None or group.is_empty:
            return
        assigned = set().union(*(member.assigned for member in group.members.values()))
        assert assigned == set(group.assignable())
        wanted = {topic.id: topic.partitions for topic in group.topics.values()}
        assert len(assigned) == sum(wanted.values())
        for member in group.members.values():
            assert {one[0] for one in member.assigned} <= group.topic_ids(member)
            assert member.epoch == group.assignment_epoch == group.epoch


TestShareGroupHistory = ShareGroupHistory.TestCase
TestShareGroupHistory.settings = settings(deadline=None)
