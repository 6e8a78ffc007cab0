"""CRC-32C (Castagnoli), which record batches carry: in C of our own, or crcmod's without it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

from mqgateway.engine.extension import native

Data = bytes | bytearray | memoryview
POLYNOMIAL: Final = 0x82F63B78
"""The polynomial, its bits reversed."""


@cache
def crc32c_of_crcmod() -> Callable[[Data], int]:
    """Return the function of crcmod, whose import takes some time."""
    import crcmod.predefined

    checksum: Callable[[Data], int] = crcmod.predefined.mkCrcFun("crc-32c")
    return checksum


def _by_crcmod(data: Data) -> int:
    """Return the checksum. A broker imports crcmod with its first batch, not at its start."""
    return crc32c_of_crcmod()(data)


crc32c: Final[Callable[[Data], int]] = _by_crcmod if native is None else native.crc32c
"""Return the CRC-32C of bytes."""
