"""Offsets of the source as those of the target."""

from hypothesis import given
from hypothesis import strategies as st

from mqgateway.gateway.migration.kafka.offset_translation import OffsetTranslation


def test_offsets_in_gaps_are_those_of_the_next_record() -> None:
    offsets = OffsetTranslation(100)
    for source, count in ((5, 2), (7, 1), (10, 3)):
        offsets.add(source, count)
    assert offsets.spans == [[5, 100, 3], [10, 103, 3]]
    assert [offsets.target(one) for one in (0, 5, 7, 8, 9, 10, 12, 13, 99)] == [
        *(100, 100, 102, 103, 103, 103, 105, 106, 106)
    ]
    assert [offsets.source(one) for one in (0, 100, 102, 103, 105)] == [0, 5, 7, 10, 12]
    assert offsets.target_end == 106


def test_map_without_records_begins_at_the_end_of_the_target() -> None:
    assert OffsetTranslation(3).target(77) == OffsetTranslation(3).target_end == 3


@given(st.sets(st.integers(0, 60)), st.integers(0, 5), st.integers(0, 70))
def test_translated_offset_is_the_number_of_records_before_it(
    present: set[int], start: int, offset: int
) -> None:
    offsets = OffsetTranslation(start)
    for one in sorted(present):
        offsets.add(one, 1)
    assert offsets.target(offset) == start + sum(one < offset for one in present)
    assert OffsetTranslation(start, offsets.spans).target_end == offsets.target_end
