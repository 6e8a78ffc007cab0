"""Assignors."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.steps import run
from mqgateway.gateway.kafka.consumer_groups.assignors import (
    RANGE,
    STEP,
    UNIFORM,
    Spec,
    SubscribedMember,
    assign,
)
from mqgateway.gateway.kafka.coordinator.target_updates import Targets
from mqgateway.gateway.kafka.coordinator.topic_catalog import TopicInfo

TOPICS = [TopicInfo(bytes([number]) * 16, count) for number, count in enumerate((4, 3, 1, 7))]


def subscribers(*topics: set[int]) -> list[SubscribedMember]:
    """Return members by the numbers of their topics."""
    return [
        SubscribedMember(f"m{number}", None, frozenset(TOPICS[one].id for one in numbers))
        for number, numbers in enumerate(topics)
    ]


def assigned(name: str, spec: Spec) -> Targets:
    """Return targets, after a check: all partitions with subscribers have one of them, and only one."""
    targets = run(assign(name, spec))
    assert set(targets) == {one.id for one in spec.subscribers}
    topics = {one.id: one.topics for one in spec.subscribers}
    found = [partition for partitions in targets.values() for partition in partitions]
    assert len(found) == len(set(found))
    wanted = {topic_id for one in spec.subscribers for topic_id in one.topics}
    assert set(found) == {
        (topic.id, index) for topic in spec.topics if topic.id in wanted for index in range(topic.partitions)
    }
    assert all(topic_id in topics[member] for member, parts in targets.items() for topic_id, _ in parts)
    return targets


def sizes(targets: Targets) -> list[int]:
    """Return the numbers of partitions of members."""
    return [len(partitions) for _, partitions in sorted(targets.items())]


def test_range_gives_partitions_in_a_row_and_the_first_members_one_more() -> None:
    targets = assigned(RANGE, Spec(subscribers({0, 1}, {0, 1}, {0}), TOPICS))
    numbers = {member: sorted((key[0], index) for key, index in one) for member, one in targets.items()}
    assert numbers == {
        "m0": [(0, 0), (0, 1), (1, 0), (1, 1)],
        "m1": [(0, 2), (1, 2)],
        "m2": [(0, 3)],
    }


def test_range_orders_static_members_by_their_instances_first() -> None:
    topics = frozenset((TOPICS[2].id,))
    members = [
        SubscribedMember("a", None, topics),
        SubscribedMember("z", "i2", topics),
        SubscribedMember("y", "i1", topics),
    ]
    targets = assigned(RANGE, Spec(members, TOPICS))
    assert targets["y"] == {(TOPICS[2].id, 0)}


def test_uniform_spreads_evenly_and_moves_little() -> None:
    spec = Spec(subscribers(*[{0, 1, 2, 3}] * 2), TOPICS)
    two = assigned(UNIFORM, spec)
    assert sizes(two) == [8, 7]
    three = assigned(UNIFORM, Spec(subscribers(*[{0, 1, 2, 3}] * 3), TOPICS, two))
    assert sizes(three) == [5, 5, 5]
    assert all(three[member] <= two[member] for member in two)
    again = assigned(UNIFORM, Spec(subscribers(*[{0, 1, 2, 3}] * 2), TOPICS, three))
    assert all(three[member] <= again[member] for member in two)
    assert assigned(UNIFORM, Spec(spec.subscribers, TOPICS, again)) == again


def test_uniform_gives_topics_of_few_members_first() -> None:
    targets = assigned(UNIFORM, Spec(subscribers({0}, {0, 3}), TOPICS))
    assert sizes(targets) == [4, 7]


def test_uniform_balances_members_with_different_subscriptions() -> None:
    previous = {"m0": {(TOPICS[0].id, index) for index in range(4)}}
    targets = assigned(UNIFORM, Spec(subscribers({0, 1}, {0, 1}, {1}), TOPICS, previous))
    assert max(sizes(targets)) - min(sizes(targets)) <= 1


@given(
    st.lists(st.sets(st.integers(0, 3), max_size=4), max_size=6),
    st.lists(st.sets(st.integers(0, 3), max_size=4), max_size=6),
    st.sampled_from([UNIFORM, RANGE]),
)
def test_targets_are_complete_disjoint_and_of_subscribers(
    first: list[set[int]], second: list[set[int]], name: str
) -> None:
    before = assigned(name, Spec(subscribers(*first), TOPICS))
    assigned(name, Spec(subscribers(*second), TOPICS, before))


@given(st.integers(1, 9), st.integers(1, 9), st.sets(st.integers(0, 3), min_size=1))
def test_members_with_the_same_subscriptions_differ_by_one_at_most(
    first: int, second: int, topics: set[int]
) -> None:
    before = assigned(UNIFORM, Spec(subscribers(*[topics] * first), TOPICS))
    after = assigned(UNIFORM, Spec(subscribers(*[topics] * second), TOPICS, before))
    for targets in (before, after):
        assert max(sizes(targets)) - min(sizes(targets)) <= 1
    stayed = Counter(len(after[one] & before[one]) for one in before if one in after)
    least = sum(TOPICS[one].partitions for one in topics) // max(first, second)
    assert all(count >= least for count in stayed)


def test_large_groups_are_assigned_in_steps() -> None:
    topic = TopicInfo(b"t" * 16, 10 * STEP)
    members = [SubscribedMember(str(number), None, frozenset((topic.id,))) for number in range(2 * STEP)]
    for name in (UNIFORM, RANGE):
        assert sum(1 for _ in assign(name, Spec(members, [topic]))) >= 10
    previous = {"0": {(topic.id, index) for index in range(10 * STEP)}}
    assert sizes(assigned(UNIFORM, Spec(members, [topic], previous))) == [5] * 2 * STEP
