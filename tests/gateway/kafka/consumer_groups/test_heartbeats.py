"""Heartbeats: each rule, each error, and histories of a group."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode as E
from mqgateway.gateway.kafka.codec.messages.consumer_group_heartbeat_request import (
    ConsumerGroupHeartbeatRequest,
)
from mqgateway.gateway.kafka.codec.messages.consumer_group_heartbeat_response import (
    ConsumerGroupHeartbeatResponse,
)
from mqgateway.gateway.kafka.consumer_groups.group import ModernGroupState as State
from mqgateway.gateway.kafka.consumer_groups.member import AssignmentState
from mqgateway.gateway.kafka.coordinator.group import GroupState
from mqgateway.gateway.kafka.coordinator.member import RequestSender
from mqgateway.gateway.kafka.coordinator.settings import GroupSettings
from mqgateway.gateway.kafka.coordinator.topic_catalog import TopicPartition, TopicsInMemory
from tests.support.gateway.kafka.groups import REBALANCE, Groups

SESSION = 45_000


def assigned_numbers(answer: ConsumerGroupHeartbeatResponse) -> list[int] | None:
    """Return the numbers of assigned partitions of one topic, None if the answer has no assignment."""
    assert answer.error_code == E.NONE, answer
    if answer.assignment is None:
        return None
    return [index for topic in answer.assignment.topic_partitions for index in topic.partitions]


def orders(groups: Groups, *numbers: int) -> list[TopicPartition]:
    """Return partitions of the topic `orders`."""
    topic = groups.catalog.topic("orders")
    assert topic is not None
    return [(topic.id, number) for number in numbers]


def two_members(groups: Groups) -> None:
    """Bring members a and b to epoch 3, with two partitions of `orders` each."""
    groups.consumer_heartbeat("a")
    groups.pass_time(1000)
    groups.consumer_heartbeat("b")
    assert assigned_numbers(groups.consumer_heartbeat("a", 2)) == [0, 1]
    assert groups.consumer_heartbeat("a", 2, owned=orders(groups, 0, 1)).member_epoch == 3
    assert assigned_numbers(groups.consumer_heartbeat("b", 3)) == [2, 3]
    assert groups.consumers().state is State.STABLE


def test_first_member_gets_all_partitions() -> None:
    groups = Groups()
    answer = groups.consumer_heartbeat("a")
    assert (answer.member_id, answer.member_epoch, answer.heartbeat_interval_ms) == ("a", 2, 5000)
    assert assigned_numbers(answer) == [0, 1, 2, 3]
    assert assigned_numbers(groups.consumer_heartbeat("a", 2)) is None
    full = groups.consumer_heartbeat(
        "a", 2, topics=["orders"], owned=orders(groups, 0), rebalance_timeout_ms=1000
    )
    assert assigned_numbers(full) == [0, 1, 2, 3]
    assert groups.consumers().state is State.STABLE


def test_old_client_is_given_an_id() -> None:
    groups = Groups()
    assert groups.consumer_heartbeat("", version=0).member_id == "1"


def test_partitions_move_once_they_are_given_up() -> None:
    groups = Groups()
    assert assigned_numbers(groups.consumer_heartbeat("a")) == [0, 1, 2, 3]
    groups.pass_time(1000)
    second = groups.consumer_heartbeat("b")
    assert (second.member_epoch, assigned_numbers(second)) == (3, [])
    assert groups.consumers().state is State.RECONCILING
    assert assigned_numbers(groups.consumer_heartbeat("b", 3)) is None
    assert assigned_numbers(groups.consumer_heartbeat("a", 2)) == [0, 1]
    assert assigned_numbers(groups.consumer_heartbeat("b", 3)) is None
    assert assigned_numbers(groups.consumer_heartbeat("a", 2, owned=orders(groups, 0, 1, 2))) is None
    assert groups.consumer_heartbeat("a", 2, owned=orders(groups, 0, 1)).member_epoch == 3
    assert assigned_numbers(groups.consumer_heartbeat("b", 3)) == [2, 3]
    assert groups.consumers().state is State.STABLE


def test_targets_are_computed_once_a_second_at_most() -> None:
    groups = Groups()
    groups.consumer_heartbeat("a")
    answer = groups.consumer_heartbeat("b")
    assert (answer.member_epoch, assigned_numbers(answer)) == (2, [])
    assert groups.consumers().state is State.ASSIGNING
    groups.pass_time(1100)
    assert groups.consumers().state is State.RECONCILING
    assert assigned_numbers(groups.consumer_heartbeat("a", 2)) == [0, 1]
    assert groups.restarted().consumers().assignment_epoch == 3


def test_member_that_leaves_frees_its_partitions() -> None:
    groups = Groups()
    two_members(groups)
    groups.pass_time(1000)
    assert groups.consumer_heartbeat("b", -1).member_epoch == -1
    assert assigned_numbers(groups.consumer_heartbeat("a", 3)) == [0, 1, 2, 3]
    groups.consumer_heartbeat("a", -1)
    group = groups.consumers()
    assert (group.state, group.epoch, group.assignment_epoch) == (State.EMPTY, 5, 5)


def test_silent_member_is_fenced() -> None:
    groups = Groups()
    two_members(groups)
    groups.pass_time(SESSION - 1000, 1000)
    groups.consumer_heartbeat("a", 3)
    groups.pass_time(2000)
    assert groups.consumer_heartbeat("b", 3).error_code == E.UNKNOWN_MEMBER_ID
    assert assigned_numbers(groups.consumer_heartbeat("a", 3)) == [0, 1, 2, 3]


def test_member_that_does_not_give_up_partitions_is_fenced() -> None:
    groups = Groups()
    groups.consumer_heartbeat("a", rebalance_timeout_ms=10_000)
    groups.pass_time(1000)
    groups.consumer_heartbeat("b")
    groups.consumer_heartbeat("a", 2)
    for _ in range(4):
        groups.pass_time(2000)
        assert groups.consumer_heartbeat("a", 2).error_code == E.NONE
    groups.pass_time(2100)
    assert groups.consumer_heartbeat("a", 2).error_code == E.UNKNOWN_MEMBER_ID
    groups.pass_time(1000)
    assert assigned_numbers(groups.consumer_heartbeat("b", 3)) == [0, 1, 2, 3]


def test_member_that_gives_up_in_time_is_not_fenced() -> None:
    groups = Groups()
    two_members(groups)
    for _ in range(2 * REBALANCE // 10_000):
        groups.pass_time(10_000)
        assert (
            groups.consumer_heartbeat("a", 3).error_code
            == groups.consumer_heartbeat("b", 3).error_code
            == E.NONE
        )


@pytest.mark.parametrize(("epoch", "owned"), [(4, None), (1, None), (2, None), (2, (0, 1, 2))])
def test_wrong_epoch_is_fenced(epoch: int, owned: Iterable[int] | None) -> None:
    groups = Groups()
    two_members(groups)
    partitions = None if owned is None else orders(groups, *owned)
    answer = groups.consumer_heartbeat("a", epoch, owned=partitions)
    assert answer.error_code == E.FENCED_MEMBER_EPOCH
    assert f"({epoch})" in (answer.error_message or "")


def test_previous_epoch_is_accepted_of_a_member_that_owns_nothing_new() -> None:
    groups = Groups()
    two_members(groups)
    assert groups.consumer_heartbeat("a", 2, owned=orders(groups, 0)).member_epoch == 3


def test_fenced_member_joins_again() -> None:
    groups = Groups()
    two_members(groups)
    epoch = groups.consumers().epoch
    assert assigned_numbers(groups.consumer_heartbeat("a")) == [0, 1]
    assert groups.consumers().epoch == epoch


# Errors


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"member_id": ""}, E.INVALID_REQUEST),
        ({"group": " "}, E.INVALID_REQUEST),
        ({"instance_id": ""}, E.INVALID_REQUEST),
        ({"rack_id": ""}, E.INVALID_REQUEST),
        ({"epoch": -3}, E.INVALID_REQUEST),
        ({"epoch": -2}, E.INVALID_REQUEST),
        ({"epoch": 1, "member_id": ""}, E.INVALID_REQUEST),
        ({"owned": [(b"t" * 16, 0)]}, E.INVALID_REQUEST),
        ({"server_assignor": "sticky"}, E.UNSUPPORTED_ASSIGNOR),
        ({"subscribed_topic_regex": "("}, E.INVALID_REGULAR_EXPRESSION),
        ({"epoch": 1}, E.GROUP_ID_NOT_FOUND),
        ({"epoch": -1}, E.GROUP_ID_NOT_FOUND),
        ({"topics": ["x" * 1024**2]}, E.INVALID_REQUEST),
    ],
)
def test_bad_heartbeat_is_refused(arguments: dict[str, Any], error: E) -> None:
    groups = Groups()
    answer = groups.consumer_heartbeat(**arguments)
    assert answer.error_code == error and answer.error_message


def test_join_says_everything() -> None:
    groups = Groups()
    for more in (
        {"subscribed_topic_names": ["orders"], "topic_partitions": []},
        {"subscribed_topic_names": ["orders"], "rebalance_timeout_ms": 1},
        {"rebalance_timeout_ms": 1, "topic_partitions": []},
    ):
        answers: list[ConsumerGroupHeartbeatResponse] = []
        request = ConsumerGroupHeartbeatRequest("g", "m", 0, **more)  # type: ignore[arg-type]
        heartbeats = groups.coordinator.consumers.heartbeats
        heartbeats.heartbeat(request, RequestSender("c", "h"), 1, lambda _: True).addCallback(answers.append)
        assert answers[0].error_code == E.INVALID_REQUEST


def test_unknown_member_is_refused() -> None:
    groups = Groups()
    groups.consumer_heartbeat("a")
    for epoch in (1, -1):
        assert groups.consumer_heartbeat("b", epoch).error_code == E.UNKNOWN_MEMBER_ID


def test_full_group_is_refused() -> None:
    groups = Groups(GroupSettings(max_size=1))
    groups.consumer_heartbeat("a")
    assert groups.consumer_heartbeat("b").error_code == E.GROUP_MAX_SIZE_REACHED
    assert groups.consumer_heartbeat("a").error_code == E.NONE


def test_too_many_groups_and_members_are_refused() -> None:
    groups = Groups(GroupSettings(groups_max=1, members_max=1))
    groups.consumer_heartbeat("a")
    assert groups.consumer_heartbeat("a", group="h").error_code == E.COORDINATOR_NOT_AVAILABLE
    assert groups.consumer_heartbeat("b").error_code == E.COORDINATOR_NOT_AVAILABLE


def test_subscription_to_too_many_partitions_is_refused() -> None:
    catalog = TopicsInMemory({"orders": 4, "large": 7})
    groups = Groups(GroupSettings(group_partitions_max=10), catalog=catalog)
    groups.consumer_heartbeat("a")
    assert groups.consumer_heartbeat("b", topics=["large"]).error_code == E.INVALID_REQUEST
    assert list(groups.consumers().members) == ["a"]
    assert groups.consumer_heartbeat("a", 2, topics=["orders", "large"]).error_code == E.INVALID_REQUEST
    assert groups.consumers().members["a"].topics == ("orders",)
    catalog.topics["orders"] = 20
    assert groups.consumer_heartbeat("a", 2).error_code == E.NONE
    assert groups.consumers().epoch == 2


def test_heartbeat_that_names_too_much_is_refused() -> None:
    groups = Groups(GroupSettings(group_partitions_max=3))
    assert groups.consumer_heartbeat("a", topics=["a", "b", "c", "d"]).error_code == E.INVALID_REQUEST
    assert groups.consumer_heartbeat("a", 2, owned=orders(groups, 0, 1, 2, 3)).error_code == E.INVALID_REQUEST


def test_too_many_regular_expressions_are_refused() -> None:
    groups = Groups(GroupSettings(group_regexes_max=1))
    assert groups.consumer_heartbeat("a", subscribed_topic_regex="o.*").error_code == E.NONE
    assert groups.consumer_heartbeat("b", subscribed_topic_regex="o.*").error_code == E.NONE
    assert groups.consumer_heartbeat("c", subscribed_topic_regex="or.*").error_code == E.INVALID_REQUEST


# Static members


def test_static_member_that_comes_back_gets_its_partitions() -> None:
    groups = Groups()
    groups.consumer_heartbeat("a", instance_id="i")
    assert groups.consumer_heartbeat("a", -2, instance_id="i").member_epoch == -2
    assert assigned_numbers(groups.consumer_heartbeat("b", instance_id="i")) == [0, 1, 2, 3]
    assert groups.consumers().epoch == 2
    assert groups.consumer_heartbeat("a", 2, instance_id="i").error_code == E.FENCED_INSTANCE_ID
    again = groups.restarted()
    assert assigned_numbers(again.consumer_heartbeat("b", 2, instance_id="i")) is None
    assert again.consumer_heartbeat("b", -1, instance_id="i").member_epoch == -1
    assert again.consumers().state is State.EMPTY


def test_static_member_that_stays_away_is_removed() -> None:
    groups = Groups()
    groups.consumer_heartbeat("a", instance_id="i")
    groups.consumer_heartbeat("a", -2, instance_id="i")
    groups.pass_time(SESSION + 1000, 1000)
    assert groups.consumers().state is State.EMPTY


def test_instance_that_is_in_use_is_refused() -> None:
    groups = Groups()
    groups.consumer_heartbeat("a", instance_id="i")
    assert groups.consumer_heartbeat("b", instance_id="i").error_code == E.UNRELEASED_INSTANCE_ID
    assert groups.consumer_heartbeat("b", 2, instance_id="i").error_code == E.FENCED_INSTANCE_ID
    assert groups.consumer_heartbeat("b", 2, instance_id="j").error_code == E.UNKNOWN_MEMBER_ID


# GroupSubscriptions


def test_group_follows_new_partitions_and_topics() -> None:
    groups = Groups()
    groups.consumer_heartbeat("a", topics=["later", "orders"])
    groups.pass_time(1000)
    groups.catalog.topics.update(orders=5, later=2)
    answer = groups.consumer_heartbeat("a", 2)
    assert (answer.member_epoch, assigned_numbers(answer)) == (3, [0, 1, 0, 1, 2, 3, 4])


def test_changed_subscription_begins_an_epoch() -> None:
    groups = Groups(catalog=TopicsInMemory({"orders": 4, "more": 1}))
    groups.consumer_heartbeat("a")
    groups.pass_time(1000)
    answer = groups.consumer_heartbeat("a", 2, topics=["more"], owned=[])
    assert (answer.member_epoch, assigned_numbers(answer)) == (3, [0])
    assert groups.consumer_heartbeat("a", 3, topics=["more"]).member_epoch == 3


def test_regular_expression_finds_topics() -> None:
    groups = Groups(catalog=TopicsInMemory({"orders": 1, "my.orders": 1, "other": 1}))
    answer = groups.consumer_heartbeat("a", subscribed_topic_regex=".*orders")
    assert assigned_numbers(answer) == [0, 0]
    groups.catalog.topics["new-orders"] = 1
    groups.consumer_heartbeat("a", 2)
    assert groups.consumers().epoch == 2
    groups.pass_time(10_000)
    assert assigned_numbers(groups.consumer_heartbeat("a", 2)) == [0, 0, 0]
    again = groups.restarted()
    assert again.consumers().regexes[".*orders"].topics == {"orders", "my.orders", "new-orders"}
    groups.pass_time(1000)
    assert assigned_numbers(
        groups.consumer_heartbeat("a", 3, topics=["other"], subscribed_topic_regex="", owned=[])
    ) == [0]
    assert groups.consumers().regexes == {}
    assert groups.restarted().consumers().regexes == {}


def test_topics_that_the_client_may_not_see_do_not_match() -> None:
    groups = Groups(catalog=TopicsInMemory({"orders": 1, "secret": 2}))
    answer = groups.consumer_heartbeat("a", subscribed_topic_regex=".*", shows=lambda name: name != "secret")
    assert assigned_numbers(answer) == [0]


def test_long_search_of_topics_and_long_computation_are_tasks() -> None:
    catalog = TopicsInMemory({f"t{number}": 1 for number in range(6000)})
    groups = Groups(catalog=catalog)
    groups.held = []
    answer = groups.consumer_heartbeat("a", subscribed_topic_regex="t.*")
    assert (answer.member_epoch, assigned_numbers(answer)) == (2, [])
    assert groups.consumer_heartbeat("a", 2).member_epoch == 2
    assert len(groups.held) == 1
    groups.run_held()
    groups.pass_time(1000)
    assert groups.consumer_heartbeat("a", 2).member_epoch == 2
    assert groups.consumers().state is State.ASSIGNING
    groups.run_held()
    assert len(assigned_numbers(groups.consumer_heartbeat("a", 2)) or ()) == 6000


# Kinds of groups


def test_empty_classic_group_becomes_a_consumer_group_and_back() -> None:
    groups = Groups()
    groups.stable()
    assert groups.consumer_heartbeat("a").error_code == E.GROUP_ID_NOT_FOUND
    assert groups.consumer_heartbeat("a", 1).error_code == E.GROUP_ID_NOT_FOUND
    groups.commit(0, 7)
    groups.pass_time(11_000)
    assert assigned_numbers(groups.consumer_heartbeat("a")) == [0, 1, 2, 3]
    again = groups.restarted()
    assert again.consumers().state is State.STABLE and again.committed() == 7
    assert again.join().one.error_code == E.INCONSISTENT_GROUP_PROTOCOL
    again.consumer_heartbeat("a", -1)
    assert again.join("x").one.error_code == E.UNKNOWN_MEMBER_ID
    again.stable()
    assert again.consumer_heartbeat("a").error_code == E.GROUP_ID_NOT_FOUND
    last = again.restarted()
    assert last.group().state is GroupState.STABLE and last.committed() == 7


def test_classic_requests_of_members_of_a_consumer_group_are_refused() -> None:
    groups = Groups()
    groups.consumer_heartbeat("a")
    assert groups.heartbeat("a", 2) == E.UNKNOWN_MEMBER_ID


class History(RuleBasedStateMachine):
    """Clients that join, give up and take partitions, change subscriptions, leave and die, while time passes.

    `owned` are the partitions that each client uses. `epochs` are those of clients that run.
    """

    def __init__(self) -> None:
        super().__init__()
        self.groups = Groups(catalog=TopicsInMemory({"orders": 4, "more": 3, "last": 1}))
        self.owned: dict[str, set[TopicPartition]] = {}
        self.epochs: dict[str, int] = {}
        self.topics: dict[str, list[str]] = {}
        self.numbers = 0

    def _heartbeat(self, name: str, **more: Any) -> None:
        answer = self.groups.consumer_heartbeat(name, self.epochs[name], owned=self.owned[name], **more)
        if answer.error_code in (E.UNKNOWN_MEMBER_ID, E.FENCED_MEMBER_EPOCH):
            self._begin(name)
            return
        self._take(name, answer)

    def _begin(self, name: str) -> None:
        self.owned[name] = set()
        self._take(
            name, self.groups.consumer_heartbeat(name, topics=self.topics[name], rebalance_timeout_ms=30_000)
        )

    def _take(self, name: str, answer: ConsumerGroupHeartbeatResponse) -> None:
        assert answer.error_code == E.NONE
        self.epochs[name] = answer.member_epoch
        if answer.assignment is not None:
            self.owned[name] = {
                (topic.topic_id, index)
                for topic in answer.assignment.topic_partitions
                for index in topic.partitions
            }

    @precondition(lambda self: len(self.epochs) < 5)
    @rule(topics=st.sets(st.sampled_from(["orders", "more", "last", "none"])))
    def join(self, topics: set[str]) -> None:
        self.numbers += 1
        name = f"m{self.numbers}"
        self.topics[name] = sorted(topics)
        self._begin(name)

    @precondition(lambda self: self.epochs)
    @rule(data=st.data())
    def heartbeat(self, data: st.DataObject) -> None:
        self._heartbeat(data.draw(st.sampled_from(sorted(self.epochs))))

    @precondition(lambda self: self.epochs)
    @rule(data=st.data(), topics=st.sets(st.sampled_from(["orders", "more", "last"])))
    def subscribe(self, data: st.DataObject, topics: set[str]) -> None:
        name = data.draw(st.sampled_from(sorted(self.epochs)))
        self.topics[name] = sorted(topics)
        self._heartbeat(name, topics=self.topics[name])

    @precondition(lambda self: self.epochs)
    @rule(data=st.data(), leaves=st.booleans())
    def end(self, data: st.DataObject, leaves: bool) -> None:
        name = data.draw(st.sampled_from(sorted(self.epochs)))
        if leaves:
            self.groups.consumer_heartbeat(name, -1)
        else:
            self.groups.pass_time(40_000, 10_000)
            for other in sorted(self.epochs.keys() - {name}):
                self._heartbeat(other)
            self.groups.pass_time(10_000, 1000)
        del self.epochs[name], self.owned[name], self.topics[name]

    @rule(partitions=st.integers(1, 6))
    def grow(self, partitions: int) -> None:
        self.groups.catalog.topics["orders"] = max(self.groups.catalog.topics["orders"], partitions)

    @rule(millis=st.sampled_from([200, 1000, 5000]))
    def wait(self, millis: int) -> None:
        self.groups.pass_time(millis)

    @rule()
    def restart(self) -> None:
        self.groups = self.groups.restarted()

    @invariant()
    def no_partition_is_used_by_two(self) -> None:
        used = [one for partitions in self.owned.values() for one in partitions]
        assert len(used) == len(set(used))

    def teardown(self) -> None:
        """Check that the group comes to rest with all partitions, each used once."""
        for _ in range(12):
            self.groups.pass_time(1000)
            for name in sorted(self.epochs):
                self._heartbeat(name)
        if not self.epochs:
            return
        group = self.groups.consumers()
        assert group.state is State.STABLE
        assert all(one.position.state is AssignmentState.STABLE for one in group.members.values())
        wanted = {
            (topic.id, index)
            for names in self.topics.values()
            for name in names
            if (topic := self.groups.catalog.topic(name)) is not None
            for index in range(topic.partitions)
        }
        assert {one for partitions in self.owned.values() for one in partitions} == wanted


TestHistory = History.TestCase
TestHistory.settings = settings(deadline=None)
