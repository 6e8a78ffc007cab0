"""The assignor of share groups."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.steps import run
from mqgateway.gateway.kafka.coordinator.target_updates import Targets
from mqgateway.gateway.kafka.coordinator.topic_catalog import TopicPartition
from mqgateway.gateway.kafka.share_groups.assignor import Previous, ShareSubscriber, share_targets

COUNTS = (4, 3, 1, 7)
IDS = [bytes([number]) * 16 for number in range(len(COUNTS))]
PARTITIONS = [(topic, index) for topic, count in zip(IDS, COUNTS, strict=True) for index in range(count)]


def assigned(
    *topics: set[int], previous: Previous | None = None, partitions: list[TopicPartition] | None = None
) -> Targets:
    """Return targets of members by the numbers of their topics, after checks that hold always."""
    subscribers = [
        ShareSubscriber(f"m{number}", frozenset(IDS[one] for one in own)) for number, own in enumerate(topics)
    ]
    given = PARTITIONS if partitions is None else partitions
    given = [one for one in given if any(one[0] in member.topics for member in subscribers)]
    targets = run(share_targets(subscribers, given, previous or {}))
    assert set(targets) == {one.id for one in subscribers}
    for member in subscribers:
        assert targets[member.id] <= {one for one in given if one[0] in member.topics}
    assert set().union(*targets.values()) == set(given)
    return targets


def sizes(targets: Targets) -> list[int]:
    """Return the numbers of partitions of members, in the order of their names."""
    return [len(targets[f"m{number}"]) for number in range(len(targets))]


def test_partitions_are_spread_over_fewer_members() -> None:
    assert sizes(assigned({0, 1}, {0, 1}, {0, 1})) == [3, 2, 2]


def test_more_members_than_partitions_share_them() -> None:
    targets = assigned(*[{1}] * 5)
    counts = Counter(one for own in targets.values() for one in own)
    assert sorted(counts.values()) == [2, 2, 2]
    assert sorted(sizes(targets)) == [1, 1, 1, 1, 2]


def test_new_member_takes_no_more_than_its_part() -> None:
    two = assigned({0}, {0})
    three = assigned({0}, {0}, {0}, previous=two)
    assert all(three[member] <= two[member] for member in two)
    assert sorted(sizes(three)) == [1, 1, 2]


def test_partitions_of_a_member_that_left_are_taken_over() -> None:
    three = assigned({0}, {0}, {0})
    two = assigned({0}, {0}, previous={name: three[name] for name in ("m0", "m1")})
    assert sizes(two) == [2, 2]
    assert all(three[name] <= two[name] for name in two)


def test_topics_are_shared_one_by_one_if_members_differ() -> None:
    targets = assigned({0, 1}, {0}, {1})
    assert {name: Counter(one[0] for one in own) for name, own in targets.items()} == {
        "m0": Counter({IDS[0]: 2, IDS[1]: 2}),
        "m1": Counter({IDS[0]: 2}),
        "m2": Counter({IDS[1]: 1}),
    }


def test_members_of_no_partitions_get_none() -> None:
    assert run(share_targets([], PARTITIONS, {})) == {}
    assert assigned({0}, partitions=[]) == {"m0": set()}


@given(st.data())
def test_members_of_one_subscription_are_balanced(data: st.DataObject) -> None:
    """Each member has one partition at least, and each partition no more members than must share it."""
    topics = data.draw(st.sets(st.integers(0, 3), min_size=1))
    own = [one for one in PARTITIONS if IDS.index(one[0]) in topics]
    count = data.draw(st.integers(1, 20))
    before = data.draw(
        st.dictionaries(
            st.integers(0, 22).map("m{}".format), st.frozensets(st.sampled_from(PARTITIONS), max_size=8)
        )
    )
    targets = assigned(*[topics] * count, previous=before)
    sharing = -(-count // len(own))
    shared = Counter(one for target in targets.values() for one in target)
    assert max(shared.values()) <= sharing
    most = -(-sharing * len(own) // count)
    assert min(sizes(targets)) >= 1 and max(sizes(targets)) <= most
    assert assigned(*[topics] * count, previous=targets) == targets


@given(
    st.lists(st.sets(st.integers(0, 3), min_size=1), min_size=1, max_size=8),
    st.dictionaries(
        st.integers(0, 9).map("m{}".format), st.frozensets(st.sampled_from(PARTITIONS), max_size=8)
    ),
)
def test_each_partition_has_members_of_its_topic(topics: list[set[int]], before: Previous) -> None:
    targets = assigned(*topics, previous=before)
    assert assigned(*topics, previous=targets) == targets
