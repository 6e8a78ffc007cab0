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
    PARTITIONS_MAX,
    PartitionLayout,
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
    assert (layout.partitions("b"), layout.partitions("a"), layout.partitions("c")) == ([0, 2, 4], [1, 3], [])


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
