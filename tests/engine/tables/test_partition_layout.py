"""Layouts of partitions over broker groups, and their text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.tables.attributes import (
    KAFKA_PARTITIONS,
    TOPIC_ATTRIBUTES,
    AttributeRefused,
    altered,
)
from mqgateway.engine.tables.partition_layout import (
    MOVES_MAX,
    PARTITIONS_MAX,
    MoveState,
    PartitionLayout,
    PartitionMove,
    PartitionPlace,
    parse_layout,
    spread,
)

GROUPS = st.lists(st.sampled_from(["a", "b", "broker-c"]), min_size=1, max_size=12)


def test_partitions_of_a_group_are_its_queues_in_their_order() -> None:
    layout = PartitionLayout.of(["b", "a", "b", "a", "b"])
    assert layout.text == "5*b/a" and (layout.home, layout.groups) == ("b", ["b", "a"])
    assert layout.places == tuple(PartitionPlace(*one) for one in zip("babab", (0, 0, 1, 1, 2), strict=True))
    assert (layout.queues("b"), layout.queues("a"), layout.queues("c")) == (3, 2, 0)
    assert (layout.partitions("b"), layout.partitions("a")) == ({0: 0, 1: 2, 2: 4}, {0: 1, 1: 3})
    assert layout.partitions("c") == {} and layout.first_partitions("b") == layout.partitions("b")


def test_added_partitions_change_none_that_exist() -> None:
    layout = PartitionLayout.of(["a", "b"])
    more = layout.extended(["c", "a"])
    assert more.text == "2*a/b;2*c/a" and more.places[:2] == layout.places
    assert more.places[2:] == (PartitionPlace("c", 0), PartitionPlace("a", 1))
    assert more.extends(layout) and not layout.extends(more)
    assert not PartitionLayout.of(["a", "c", "c"]).extends(layout)


@given(GROUPS, st.lists(GROUPS, max_size=3))
def test_text_of_a_layout_has_all_of_it(first: list[str], more: list[list[str]]) -> None:
    layout = PartitionLayout.of(first)
    for groups in more:
        layout = layout.extended(groups)
    assert parse_layout(layout.text) == layout
    assert [place.group for place in layout.places] == [*first, *(one for part in more for one in part)]


def test_partition_that_moves_keeps_its_place_until_the_move_is_complete() -> None:
    layout = PartitionLayout.of(["a", "b", "a"])
    begun = layout.begun(2, "b")
    assert begun.text == "3*a/b;2>b" and begun.places == layout.places
    assert begun.pending == {2: PartitionMove(0, 2, PartitionPlace("b", 1))}
    assert (begun.queues("b"), begun.partitions("b")) == (2, {0: 1})
    done = begun.completed(2, 18)
    assert done.places == (*layout.places[:2], PartitionPlace("b", 1)) and done.pending == {}
    assert (done.epoch_base(2), done.epoch_base(0)) == (18, 0)
    assert (done.partitions("a"), done.first_partitions("a")) == ({0: 0}, {0: 0, 1: 2})
    assert done.extends(begun) and begun.extends(layout) and not begun.extends(done)
    assert done.extended(["a"]).places[3] == PartitionPlace("a", 2)


def test_cancelled_move_leaves_a_queue_that_is_no_partition() -> None:
    layout = PartitionLayout.of(["a"]).begun(0, "b").cancelled(0)
    assert layout.places == (PartitionPlace("a", 0),) and layout.groups == ["a"]
    assert (layout.moves[0].state, layout.queues("b")) == (MoveState.CANCELLED, 1)
    again = layout.begun(0, "b")
    assert again.pending[0] == PartitionMove(1, 0, PartitionPlace("b", 1)) and again.groups == ["a", "b"]
    assert not again.extends(PartitionLayout.of(["a"]).begun(0, "b").completed(0, 16))


def test_home_of_a_topic_stays_when_its_first_partition_moves() -> None:
    layout = PartitionLayout.of(["a", "b"]).begun(0, "b").completed(0, 16)
    assert (layout.home, layout.groups) == ("a", ["a", "b"])


@pytest.mark.parametrize(
    "text",
    [
        "0>b",
        "2*a/b;2>a",
        "2*a/b;0>a",
        "2*a/b;0>b;0>c",
        "2*a/b;0=16",
        "2*a/b;0!",
        "2*a/b;0>b;0=2147483648",
        "2*a/b;0>",
        "2*a/b;0>b/c",
        "1*a" + ";0>b;0!" * (MOVES_MAX + 1),
    ],
)
def test_moves_that_cannot_be_are_no_layouts(text: str) -> None:
    assert parse_layout(text) is None


@given(st.data())
def test_text_of_a_layout_with_moves_has_all_of_it(data: st.DataObject) -> None:
    layout = PartitionLayout.of(["a", "b", "c", "a"])
    for _ in range(data.draw(st.integers(0, 12))):
        before, partition = layout, data.draw(st.integers(0, len(layout.places) - 1))
        if partition in layout.pending:
            ends = data.draw(st.booleans())
            layout = layout.completed(partition, 16) if ends else layout.cancelled(partition)
        else:
            others = [group for group in ("a", "b", "c") if group != layout.places[partition].group]
            layout = layout.begun(partition, data.draw(st.sampled_from(others)))
        assert layout.extends(before) and not before.extends(layout)
    assert parse_layout(layout.text) == layout
    targets = [move.target for move in layout.pending.values()]
    assert len({*layout.places, *targets}) == len(layout.places) + len(targets)


@pytest.mark.parametrize(
    "text", ["", "a", "0*a", "x*a", "2*", "2*a/", "2*a;", "1*a;;1*b", f"{PARTITIONS_MAX + 1}*a", "9999999*a"]
)
def test_other_texts_are_no_layouts(text: str) -> None:
    assert parse_layout(text) is None
    with pytest.raises(AttributeRefused, match="no partitions of broker groups"):
        altered(TOPIC_ATTRIBUTES, {}, {f"+{KAFKA_PARTITIONS}": text})


def test_largest_layout_is_read() -> None:
    layout = parse_layout(f"{PARTITIONS_MAX}*a/b")
    assert layout is not None and layout.queues("b") == PARTITIONS_MAX // 2


def test_groups_get_equally_many_partitions_in_their_order_from_the_first_on() -> None:
    assert spread(("a", "b", "c"), 5, 1) == ["b", "c", "a", "b", "c"]
    assert spread(("a", "b", "c"), 1, 2) == ["c"]
    assert spread(("a", "b", "c"), 4, 0, ["a", "a", "b"]) == ["c", "b", "c", "a"]
    assert spread(("a", "b"), 2, 1, ["gone"]) == ["b", "a"]
