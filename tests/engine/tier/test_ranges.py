"""Which ranges count, with every kind of second writer."""

from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.tier.ranges import RangeKey, ranges_that_count


def test_ranges_of_one_epoch_count_from_its_start_on() -> None:
    ranges = [RangeKey(1, 200), RangeKey(1, 0), RangeKey(1, 100)]
    assert ranges_that_count({1: 100}, ranges) == [RangeKey(1, 100), RangeKey(1, 200)]


def test_ranges_after_the_start_of_a_later_epoch_do_not_count() -> None:
    ranges = [RangeKey(1, 0), RangeKey(1, 100), RangeKey(2, 100), RangeKey(1, 200)]
    assert ranges_that_count({1: 0, 2: 100}, ranges) == [RangeKey(1, 0), RangeKey(2, 100)]


def test_every_later_epoch_limits() -> None:
    """The epochs in between have begun later in the log, and are limited themselves."""
    ranges = [RangeKey(1, 0), RangeKey(1, 50), RangeKey(2, 100), RangeKey(3, 50)]
    assert ranges_that_count({1: 0, 2: 100, 3: 50}, ranges) == [RangeKey(1, 0), RangeKey(3, 50)]


def test_ranges_of_an_epoch_that_did_not_begin_do_not_count() -> None:
    assert ranges_that_count({}, [RangeKey(1, 0)]) == []


@given(
    st.dictionaries(st.integers(1, 6), st.integers(0, 9), max_size=6),
    st.sets(st.tuples(st.integers(1, 7), st.integers(0, 12)), max_size=40),
)
def test_no_offset_counts_twice(starts: dict[int, int], ranges: set[tuple[int, int]]) -> None:
    counted = ranges_that_count(starts, [RangeKey(*each) for each in ranges])
    begins = [each.begin for each in counted]
    assert begins == sorted(set(begins))
    for each in counted:
        assert all(each.begin < start for epoch, start in starts.items() if epoch > each.epoch)
        assert starts[each.epoch] <= each.begin
