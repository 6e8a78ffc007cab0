"""Bits of consumer groups: every number here is the result of RocketMQ's `BloomFilter`."""

import pytest

from mqgateway.engine.filters.bloom import BloomFilter, murmur3_low

ONE, OTHER = "groupA#orders", "é#ü0123456789abcdef0123"


@pytest.mark.parametrize(
    ("error_rate", "expected", "hashes", "bits", "of_one", "of_other"),
    [
        (20, 32, 3, 112, (76, 19, 83), (80, 86, 19)),
        (10, 128, 4, 616, (468, 187, 531, 356), (136, 534, 299, 410)),
        (1, 1, 7, 16, (12, 3, 3, 12, 12, 3, 3), (0, 6, 3, 2, 8, 1, 4)),
        (99, 7, 1, 8, (4,), (0,)),
        (50, 64, 1, 96, (76,), (64,)),
    ],
)
def test_positions(
    error_rate: int,
    expected: int,
    hashes: int,
    bits: int,
    of_one: tuple[int, ...],
    of_other: tuple[int, ...],
) -> None:
    bloom = BloomFilter(error_rate, expected)
    assert (bloom.hashes, bloom.bits) == (hashes, bits)
    assert bloom.positions(ONE) == of_one
    assert bloom.positions(OTHER) == of_other


@pytest.mark.parametrize(("error_rate", "expected"), [(0, 1), (100, 1), (20, 0)])
def test_rejects_invalid_filter(error_rate: int, expected: int) -> None:
    with pytest.raises(ValueError, match="error rate"):
        BloomFilter(error_rate, expected)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("", 0),
        ("a", 9607679276477937801),
        ("12345678", 4272337174398058908),
        ("123456789", 4360720697772133540),
        ("0123456789abcdef", 5467490433528156583),
        ("0123456789abcdefg", 10246358950979434974),
        ("group-with-a-long-name#topic-with-a-long-name", 2038372811532693824),
    ],
)
def test_hashes(text: str, number: int) -> None:
    assert murmur3_low(text.encode()) == number
