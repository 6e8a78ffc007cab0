"""The bits that stand for a consumer group in the bit map of a message.

When bit maps are written, a message's map has the bits of every group whose expression it matches; a reader
whose bits are not all set can pass the message by without reading it. Standard: `BloomFilter`, `BitsArray`.
"""

from __future__ import annotations

from math import ceil, e, log

_MASK_64 = (1 << 64) - 1
_MASK_32 = (1 << 32) - 1
_C1 = 0x87C37B91114253D5
_C2 = 0x4CF5AD432745937F


class BloomFilter:
    """`bits` bits, of which each name gets `hashes`, for about `expected` names and `error_rate` percent of
    names that seem to be there and are not.

    Raises `ValueError` for a rate that is not in 1..99, or nothing expected.
    """

    def __init__(self, error_rate: int, expected: int) -> None:
        if not 1 <= error_rate < 100 or expected < 1:
            raise ValueError(f"a filter for {expected} names with an error rate of {error_rate} %")
        rate = error_rate / 100
        self.hashes = ceil(log(rate) / log(0.5))
        wanted = ceil(expected * (log(1 / rate) / log(2)) * (log(e) / log(2)))
        self.bits = 8 * ceil(wanted / 8)

    def positions(self, name: str) -> tuple[int, ...]:
        """Return the bits of a name."""
        number = murmur3_low(name.encode())
        first, step = _signed(number & _MASK_32), _signed(number >> 32)
        found = []
        for i in range(1, self.hashes + 1):
            combined = _signed((first + i * step) & _MASK_32)
            found.append((~combined if combined < 0 else combined) % self.bits)
        return tuple(found)


def murmur3_low(data: bytes) -> int:
    """Return the low 64 bits of MurmurHash3 for 128 bits with seed 0, unsigned."""
    h1 = h2 = 0
    whole = len(data) // 16 * 16
    for at in range(0, whole, 16):
        k1 = int.from_bytes(data[at : at + 8], "little")
        k2 = int.from_bytes(data[at + 8 : at + 16], "little")
        h1 ^= _mixed(k1, _C1, 31, _C2)
        h1 = ((_rotated(h1, 27) + h2) * 5 + 0x52DCE729) & _MASK_64
        h2 ^= _mixed(k2, _C2, 33, _C1)
        h2 = ((_rotated(h2, 31) + h1) * 5 + 0x38495AB5) & _MASK_64
    rest = data[whole:]
    h2 ^= _mixed(int.from_bytes(rest[8:], "little"), _C2, 33, _C1)
    h1 ^= _mixed(int.from_bytes(rest[:8], "little"), _C1, 31, _C2)
    h1 ^= len(data)
    h2 ^= len(data)
    h1 = (h1 + h2) & _MASK_64
    h2 = (h2 + h1) & _MASK_64
    return (_finished(h1) + _finished(h2)) & _MASK_64


def _mixed(part: int, first: int, bits: int, second: int) -> int:
    return _rotated(part * first & _MASK_64, bits) * second & _MASK_64


def _rotated(number: int, bits: int) -> int:
    return (number << bits | number >> (64 - bits)) & _MASK_64


def _finished(number: int) -> int:
    number = (number ^ number >> 33) * 0xFF51AFD7ED558CCD & _MASK_64
    number = (number ^ number >> 33) * 0xC4CEB9FE1A85EC53 & _MASK_64
    return number ^ number >> 33


def _signed(word: int) -> int:
    return word - (1 << 32) if word >> 31 else word
