"""Header lists as HPACK compresses them (RFC 7541), read. Pure.

Nearly all fields of a gRPC call stand in the connection's table, so a field is found there as the text it
was made of when it came. Names and values are texts of bytes (latin-1). What is Huffman-coded the library
`hpack` decodes, which has the fixed table too; its own decoder, which took more than half of a call's time,
is what tests compare this with.
"""

from __future__ import annotations

from typing import Final

from hpack import HPACKDecodingError, InvalidTableIndexError, InvalidTableSizeError, OversizedHeaderListError
from hpack.huffman_table import decode_huffman
from hpack.table import HeaderTable

TABLE_SIZE: Final = 4096
"""Bytes of a connection's table, each entry with `ENTRY_SIZE` more: what HTTP/2 begins with, as we say
nothing of it."""
ENTRY_SIZE: Final = 32
_NUMBER_BYTES_MAX: Final = 5

Field = tuple[str, str]
Entry = tuple[Field, int]
"""A field and its size."""

_NOTHING: Final[Entry] = ("", ""), 0
_FIXED: Final[list[Entry]] = [
    _NOTHING,  # the table begins with 1
    *(
        ((name.decode(), value.decode()), ENTRY_SIZE + len(name) + len(value))
        for name, value in HeaderTable.STATIC_TABLE
    ),
]
_NEWEST: Final = len(_FIXED)


class HeaderListDecoder:
    """Reads one connection's header lists, in order; `limit` is the most bytes of one as HTTP/2 counts."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._table = list(_FIXED)
        self._size = 0
        self._size_max = TABLE_SIZE

    def decode(self, block: bytes) -> list[Field]:
        """Return the fields of a header block, in order.

        Raises `OversizedHeaderListError`, and another `hpack.HPACKError` for what cannot be read; nothing
        more can be read then.
        """
        fields: list[Field] = []
        table, room, at, end = self._table, self._limit, 0, len(block)
        try:
            while at < end:
                first = block[at]
                if 0x80 < first < 0xFF:  # nearly always
                    field, size = table[first & 0x7F]
                    at += 1
                elif first & 0x80:
                    index, at = _number(block, at, 0x7F)
                    field, size = self._entry(index)
                elif first & 0x40:
                    field, size, at = self._literal(block, at, 0x3F)
                    self._add(field, size)
                elif first & 0x20:
                    if fields:
                        raise HPACKDecodingError("Table size update not at the start of the block")
                    size, at = _number(block, at, 0x1F)
                    self._resize(size)
                    continue
                else:
                    field, size, at = self._literal(block, at, 0x0F)
                room -= size
                if room < 0:
                    raise OversizedHeaderListError(f"A header list of more than {self._limit} bytes")
                fields.append(field)
        except IndexError:
            raise HPACKDecodingError("Truncated header block, or an entry that is not in the table") from None
        return fields

    def _entry(self, index: int) -> Entry:
        if not 0 < index < len(self._table):
            raise InvalidTableIndexError(f"Invalid table index {index}")
        return self._table[index]

    def _literal(self, block: bytes, at: int, mask: int) -> tuple[Field, int, int]:
        """Return a field that is written out, its size, and where what follows begins."""
        index, at = _number(block, at, mask)
        if index:
            name = self._entry(index)[0][0]
        else:
            name, at = _text(block, at)
        value, at = _text(block, at)
        return (name, value), ENTRY_SIZE + len(name) + len(value), at

    def _add(self, field: Field, size: int) -> None:
        if size > self._size_max:
            del self._table[_NEWEST:]
            self._size = 0
            return
        self._table.insert(_NEWEST, (field, size))
        self._size += size
        self._shrink()

    def _resize(self, size: int) -> None:
        if size > TABLE_SIZE:
            raise InvalidTableSizeError("Encoder exceeded max allowable table size")
        self._size_max = size
        self._shrink()

    def _shrink(self) -> None:
        while self._size > self._size_max:
            self._size -= self._table.pop()[1]


def _number(block: bytes, at: int, mask: int) -> tuple[int, int]:
    """Return a number whose first bits are those of `mask`, and where what follows begins."""
    number = block[at] & mask
    at += 1
    if number < mask:
        return number, at
    for shift in range(0, 7 * _NUMBER_BYTES_MAX, 7):
        more = block[at]
        at += 1
        number += (more & 0x7F) << shift
        if more < 0x80:
            return number, at
    raise HPACKDecodingError("a number of too many bytes")


def _text(block: bytes, at: int) -> tuple[str, int]:
    is_huffman = block[at] & 0x80
    size, at = _number(block, at, 0x7F)
    after = at + size
    if after > len(block):
        raise HPACKDecodingError("Truncated header block")
    raw = block[at:after]
    return (decode_huffman(raw) if is_huffman else raw).decode("latin-1"), after
