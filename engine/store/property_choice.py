"""A filter on some properties of a message, applied to stored records.

An expression uses one or two properties, which mostly have few different values in a queue. So their values
are looked up in the record's bytes, without decoding the rest, and decisions are cached by values: an
expression is evaluated once for each combination.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from mqgateway.engine.disk import Slices
from mqgateway.engine.extension import native
from mqgateway.engine.message import NAME_VALUE_SEPARATOR, PROPERTY_SEPARATOR
from mqgateway.engine.store.properties_text import PropertiesText
from mqgateway.engine.store.record import properties_start, properties_text_of
from mqgateway.engine.store.results import Accept

KNOWN_MAX: Final = 1024
"""Maximum of cached decisions; all are dropped beyond it."""
VALUE_MAX: Final = 128
"""Maximum of bytes of a value in a cached decision."""


class Limits(NamedTuple):
    """Limits of a response, and the range of records to inspect. C code relies on this order."""

    due_position: int
    """Log position before which records have to be inspected."""
    due_offset: int
    """Queue offset before which records have to be inspected."""
    largest: int
    """Maximum size of a record."""
    fresh_from: int
    """Log position from which on records are fresh."""
    fresh_count: int
    """Maximum of messages once a fresh record is included; then bytes, and both for old records only."""
    fresh_bytes: int
    old_count: int
    old_bytes: int


_SEPARATOR: Final = PROPERTY_SEPARATOR.encode()
_SEPARATOR_BYTE: Final = _SEPARATOR[0]
_REPLACED: Final = "\ufffd"
"""Replaces invalid bytes in a text; names with it are not looked up in bytes."""


def values_of(record: bytes, marks: tuple[bytes, ...]) -> tuple[bytes | None, ...] | None:
    """Return property values of a valid record, None for missing ones; return None if ambiguous.

    `marks` are the names with the separator before the value.
    """
    start, end = properties_start(record), len(record)
    values: list[bytes | None] = []
    for mark in marks:
        at = record.rfind(mark, start)
        if at < 0:
            values.append(None)
            continue
        stop = record.find(_SEPARATOR, at)
        value = record[at + len(mark) : end if stop < 0 else stop]
        if not value or (at != start and record[at - 1] != _SEPARATOR_BYTE):
            return None
        values.append(value)
    return tuple(values)


class PropertyChoice:
    """A filter: `matches` decides by the properties `names` alone.

    It is called with properties, `takes` with a record.
    """

    def __init__(self, names: Sequence[str], matches: Accept) -> None:
        self._names = tuple(names)
        self._matches = matches
        marks = [(name + NAME_VALUE_SEPARATOR).encode("utf-8", "surrogatepass") for name in self._names]
        self._marks = tuple(marks)
        self._is_plain = all(name and name.isprintable() and _REPLACED not in name for name in self._names)
        self._values_of = values_of if native is None else native.property_values
        self.knows_many = native is not None and self._is_plain
        """True if `take_known` can be used."""
        self._known: dict[tuple[bytes | None, ...], bool] = {}

    def __call__(self, properties: Mapping[str, str]) -> bool:
        """Return True if a message with these properties matches."""
        return self._matches(properties)

    def takes(self, record: bytes) -> bool:
        """Return True if the message of a record matches."""
        if not self._is_plain:
            return self._matches(PropertiesText(properties_text_of(record)))
        key = self._values_of(record, self._marks)
        if key is None:
            return self._matches(PropertiesText(properties_text_of(record)))
        answer = self._known.get(key)
        return self._decide(key) if answer is None else answer

    def take_known(
        self,
        window: tuple[Slices, int, int],
        units: bytes | bytearray,
        first: int,
        number: int,
        records: list[bytes],
        offsets: list[int],
        total: int,
        limits: Limits,
    ) -> tuple[int, int, int, bool] | None:
        """Select messages of units, starting with the `first`, as far as decisions are cached.

        Stops at the first record that is not in the window of the log (see `Log.window`). Records and their
        queue offsets, from `number` on, are added to the lists, whose records have `total` bytes. Returns the
        number of units checked, the new total, the position of the last record added (-1 for none), and True
        if the next one exceeds the limits; None if each has to be checked alone. Needs `knows_many`.
        """
        assert native is not None
        buffer, begin, end = window
        return native.take_known(
            buffer=buffer,
            begin=begin,
            end=end,
            units=units,
            first=first,
            number=number,
            marks=self._marks,
            known=self._known,
            records=records,
            offsets=offsets,
            total=total,
            limits=limits,
        )

    def _decide(self, key: tuple[bytes | None, ...]) -> bool:
        answer = self._matches(
            {
                name: value.decode("utf-8", "replace")
                for name, value in zip(self._names, key, strict=True)
                if value is not None
            }
        )
        if all(value is None or len(value) <= VALUE_MAX for value in key):
            if len(self._known) >= KNOWN_MAX:
                self._known.clear()
            self._known[key] = answer
        return answer
