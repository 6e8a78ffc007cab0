"""The map of newest offsets, compared with a dictionary."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.cleaner.offset_map import OffsetMap, slots_for


@given(st.lists(st.tuples(st.binary(max_size=2), st.integers(0, 1 << 62)), max_size=40))
def test_map_equals_dictionary(puts: list[tuple[bytes, int]]) -> None:
    known = dict(puts)
    offsets = OffsetMap(slots_for(len(known)))
    for key, offset in puts:
        offsets.put(memoryview(key), offset)
    assert len(offsets) == len(known)
    assert {key: offsets.get(key) for key in known} == known
    assert offsets.get(b"unknown") == -1


@given(st.integers(0, 10_000))
def test_map_has_room_for_its_keys_and_a_free_slot(keys: int) -> None:
    offsets = OffsetMap(slots_for(keys))
    assert offsets.room == offsets.capacity >= keys
    assert offsets.capacity < slots_for(keys)


def test_full_map_finds_every_key() -> None:
    offsets = OffsetMap(100)
    for number in range(offsets.capacity):
        offsets.put(b"%d" % number, number)
    assert not offsets.room
    assert [offsets.get(b"%d" % number) for number in range(75)] == list(range(75))
    assert offsets.get(b"75") == -1
