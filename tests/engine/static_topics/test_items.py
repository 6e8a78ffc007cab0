"""Mapping items of static topics: offsets converted both ways, and valid successions of items."""

from dataclasses import replace

import pytest

from mqgateway.engine.static_topics.items import (
    MappingItem,
    MappingRefused,
    check,
    check_follows,
    item_after,
    item_at,
)

FIRST = MappingItem(0, 2, "a", 0, 0, 100)
SECOND = MappingItem(1, 5, "b", 1000, 0)
ITEMS = [FIRST, SECOND]


def test_offsets_are_turned_there_and_back() -> None:
    item = MappingItem(1, 0, "a", 1000, 20, 50)
    assert [item.logical(offset) for offset in (0, 20, 21)] == [1000, 1000, 1001]
    assert item.physical(1001) == 21
    assert [item.logical_inside(offset) for offset in (49, 50, 99)] == [1029, 1030, 1030]
    assert (item.has_end, item.logical_end) == (True, 1030)
    assert replace(item, logic_offset=-1).logical_inside(30) == -1
    assert (SECOND.has_end, SECOND.logical_end) == (False, 1000)


def test_offsets_stay_numbers_of_java() -> None:
    most = 2**63 - 1
    item = MappingItem(0, 0, "a", most, 9, most)
    assert (item.logical(most), item.logical_end) == (most, most)
    assert (item.physical(-most - 1), replace(item, logic_offset=0).physical(most)) == (-most, most)


def test_an_offset_is_in_the_last_item_that_begins_before_it() -> None:
    assert [item_at(ITEMS, offset) for offset in (-5, 0, 999, 1000)] == [FIRST, FIRST, FIRST, SECOND]
    unknown = [FIRST, replace(SECOND, logic_offset=-1)]
    assert item_at(unknown, 5000) is FIRST
    assert item_at([], 0) is None
    assert item_after(ITEMS, FIRST) is SECOND
    assert (item_after(ITEMS, SECOND), item_after(unknown, FIRST)) == (None, None)


@pytest.mark.parametrize(
    ("items", "why"),
    [
        ([replace(FIRST, queue_id=-1)], "should not be negative"),
        ([replace(FIRST, logic_offset=-1), SECOND], "negative logic offset"),
        ([FIRST, replace(SECOND, gen=0)], "gen does not increase"),
        ([replace(FIRST, start_offset=101)], "smaller than the start"),
        ([FIRST, replace(SECOND, logic_offset=0)], "base logic offset"),
        ([FIRST, replace(SECOND, logic_offset=50)], "max logic offset"),
        ([FIRST, replace(SECOND, logic_offset=100)], "max logic offset"),
    ],
)
def test_items_that_do_not_follow_one_another(items: list[MappingItem], why: str) -> None:
    with pytest.raises(MappingRefused, match=why):
        check(items)


def test_items_that_do() -> None:
    for items in (
        ITEMS,
        [FIRST, replace(SECOND, logic_offset=-1)],
        [],
        [FIRST, replace(SECOND, logic_offset=101)],
    ):
        check(items)


def test_earlier_items_may_not_change() -> None:
    check_follows(ITEMS, [*ITEMS, MappingItem(2, 0, "c", -1)], False)
    check_follows([], ITEMS, True)
    check_follows([replace(SECOND, logic_offset=-1)], [SECOND], True)
    for after in ([replace(FIRST, broker_name="c"), SECOND], [FIRST, replace(SECOND, logic_offset=7)], []):
        with pytest.raises(MappingRefused):
            check_follows(ITEMS, after, False)
    with pytest.raises(MappingRefused, match="epoch equal"):
        check_follows(ITEMS, [*ITEMS, MappingItem(2, 0, "c", -1)], True)


def test_an_item_is_written_and_read() -> None:
    shape = FIRST.to_json()
    assert shape["bname"] == "a" and shape["endOffset"] == 100
    assert MappingItem.from_json(shape) == FIRST
