"""Hashes of the keys of a range: their order, pages, and checksums."""

import pytest

from mqgateway.engine.errors import CorruptFile
from mqgateway.engine.tier.format.keys import (
    KEY,
    KEY_PAGE_ENTRIES,
    KeyEntries,
    KeyPages,
    key_pages_of,
    number_of_pages,
    place_of_key_page,
)

HASH_MAX = (1 << 31) - 1
DISTANCE_MAX = (1 << 32) - 1


def encoded(*entries: tuple[int, int]) -> bytes:
    made = KeyEntries()
    for key_hash, distance in entries:
        made.add((key_hash,), distance)
    return made.encode()


def distances(keys: bytes, key_hash: int) -> list[int]:
    pages = KeyPages(key_pages_of(keys))
    found = list[int]()
    for page in pages.pages_with(key_hash):
        at, size = place_of_key_page(len(keys), page)
        found += pages.distances(page, keys[at : at + size], key_hash, "i")
    return found


def test_entries_are_sorted_and_each_is_kept_once() -> None:
    made = KeyEntries()
    for hashes, distance in (((9, 9), 5), ((HASH_MAX,), DISTANCE_MAX), ((9,), 2), ((0,), 7)):
        made.add(hashes, distance)
    keys = made.encode()
    assert list(KEY.iter_unpack(keys)) == [(0, 7), (9, 2), (9, 5), (HASH_MAX, DISTANCE_MAX)]


def test_entries_are_found_by_their_hash() -> None:
    keys = encoded((9, 5), (HASH_MAX, DISTANCE_MAX), (9, 2), (0, 7))
    assert distances(keys, 9) == [2, 5]
    assert distances(keys, HASH_MAX) == [DISTANCE_MAX]
    assert distances(keys, 0) == [7]
    assert distances(keys, 8) == distances(keys, 10) == []


@pytest.mark.parametrize("before", [0, 1, KEY_PAGE_ENTRIES - 1, KEY_PAGE_ENTRIES])
def test_hash_may_fill_several_pages(before: int) -> None:
    count = 2 * KEY_PAGE_ENTRIES + 1
    others = [(4, number) for number in range(before)]
    keys = encoded(*others, *((5, number) for number in range(count)), (6, 1))
    pages = -(-(before + count + 1) // KEY_PAGE_ENTRIES)
    assert number_of_pages(len(keys)) == len(key_pages_of(keys)) == pages
    assert distances(keys, 5) == list(range(count))
    assert distances(keys, 6) == [1]
    assert distances(keys, 4) == list(range(before))


def test_range_without_keys_has_no_pages() -> None:
    assert encoded() == b"" and key_pages_of(b"") == () and number_of_pages(0) == 0
    assert list(KeyPages().pages_with(5)) == []


def test_size_that_is_no_number_of_entries_has_no_pages() -> None:
    assert number_of_pages(KEY.size + 1) == -1


def test_damaged_page_is_rejected() -> None:
    keys = encoded((9, 5))
    pages = KeyPages(key_pages_of(keys))
    with pytest.raises(CorruptFile, match="page 0 of the keys does not match"):
        pages.distances(0, keys[:-1] + b"?", 9, "i")
