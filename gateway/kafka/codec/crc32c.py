"""CRC-32C (Castagnoli), which record batches carry.

`crcmod` computes it in C. Of the packages that do, it has no dependency, and its extension is a plain C file
that builds wherever the product does. Where it is missing, a table in Python gives the same numbers slowly.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Final

POLYNOMIAL: Final = 0x82F63B78
"""The polynomial, its bits reversed."""


def _table() -> tuple[int, ...]:
    rows = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (POLYNOMIAL if value & 1 else 0)
        rows.append(value)
    return tuple(rows)


_TABLE: Final = _table()


def crc32c_plain(data: bytes | bytearray | memoryview, crc: int = 0) -> int:
    """Compute the checksum in Python. `crc` is that of the bytes before."""
    table = _TABLE
    crc ^= 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def _fastest() -> Callable[[bytes | bytearray | memoryview], int]:
    try:
        made = importlib.import_module("crcmod.predefined").mkPredefinedCrcFun("crc-32c")
    except ImportError:
        return crc32c_plain

    def crc32c_in_c(data: bytes | bytearray | memoryview) -> int:
        return int(made(data))

    return crc32c_in_c


crc32c: Final = _fastest()
"""Return the CRC-32C of bytes."""
