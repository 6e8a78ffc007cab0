"""Variable-length numbers appended to a buffer; numbers of fixed size are packed by `struct`."""

from __future__ import annotations


def write_unsigned_varint(out: bytearray, value: int) -> None:
    """Append an unsigned varint."""
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def write_varint(out: bytearray, value: int) -> None:
    """Append a signed (zigzag) varint or varlong."""
    write_unsigned_varint(out, value << 1 if value >= 0 else (-value << 1) - 1)
