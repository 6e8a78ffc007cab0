"""Which ranges count, with every kind of second writer."""

from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.tier.ranges import RangeKey, epochs_without_use, ranges_that_count


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


def test_epochs_with_objects_and_the_newest_stay() -> None:
    assert epochs_without_use({1: 0, 2: 100, 3: 200}, {1, 2}) == []
    assert epochs_without_use({}, ()) == []
    assert epochs_without_use({4: 9}, ()) == []


def test_oldest_epochs_without_objects_are_deleted_in_order() -> None:
    assert epochs_without_use({1: 0, 2: 100, 3: 200, 4: 300}, {3}) == [1, 2]


def test_epoch_that_limits_an_earlier_one_stays() -> None:
    assert epochs_without_use({1: 0, 2: 100, 3: 200}, {1}) == []


def test_epoch_whose_limit_a_later_one_has_is_deleted() -> None:
    assert epochs_without_use({1: 0, 2: 100, 3: 100, 4: 100}, {1}) == [2, 3]


@given(
    st.dictionaries(st.integers(1, 8), st.integers(0, 6), max_size=8),
    st.sets(st.integers(1, 8)),
    st.integers(0, 8),
)
def test_limits_of_the_epochs_that_stay_are_as_before(
    starts: dict[int, int], used: set[int], done: int
) -> None:
    """After any number of the deletions, as a process may be killed."""
    left = dict(starts)
    for epoch in epochs_without_use(starts, used)[:done]:
        del left[epoch]
    assert used & starts.keys() <= left.keys()
    ranges = [RangeKey(epoch, begin) for epoch in left for begin in range(8)]
    assert ranges_that_count(left, ranges) == ranges_that_count(starts, ranges)
    assert max(left, default=0) == max(starts, default=0)
