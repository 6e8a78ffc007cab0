"""A choice by some of a message's properties, asked of records as they are stored.

Of a queue's messages an expression looks at one or two properties, and mostly at few different values of
them. So their values are looked up in the record's bytes, nothing else of it is taken apart, and what was
decided of values is kept: an expression is evaluated once for each of them.
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
"""Decisions that are kept; all are forgotten when there are more."""
VALUE_MAX: Final = 128
"""Bytes of a value beyond which a decision is not kept."""


class Limits(NamedTuple):
    """What an answer may have, and which records it may not look at. In this order, which C knows."""

    due_position: int
    """Position of the log before which records are to be inspected."""
    due_offset: int
    """Offset of the queue before which they are."""
    largest: int
    """The largest record."""
    fresh_from: int
    """Position from which on records are fresh."""
    fresh_count: int
    """Messages of an answer that reaches a fresh record; then bytes, and the same of one that does not."""
    fresh_bytes: int
    old_count: int
    old_bytes: int


_SEPARATOR: Final = PROPERTY_SEPARATOR.encode()
_SEPARATOR_BYTE: Final = _SEPARATOR[0]
_REPLACED: Final = "\ufffd"
"""Stands in a text for bytes that are none; no name with it is looked for among bytes."""


def values_of(record: bytes, marks: tuple[bytes, ...]) -> tuple[bytes | None, ...] | None:
    """The values of properties of a record that is known to be valid, each None where there is none; `marks`
    are their names with what separates them from values. None where it is not plain to see."""
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
    """`matches` decides by the properties `names` alone; it is asked of any properties, `takes` of a
    record."""

    def __init__(self, names: Sequence[str], matches: Accept) -> None:
        self._names = tuple(names)
        self._matches = matches
        marks = [(name + NAME_VALUE_SEPARATOR).encode("utf-8", "surrogatepass") for name in self._names]
        self._marks = tuple(marks)
        self._is_plain = all(name and name.isprintable() and _REPLACED not in name for name in self._names)
        self._values_of = values_of if native is None else native.property_values
        self.knows_many = native is not None and self._is_plain
        """Whether `take_known` can tell of many at once."""
        self._known: dict[tuple[bytes | None, ...], bool] = {}

    def __call__(self, properties: Mapping[str, str]) -> bool:
        """Whether a reader wants a message with these properties."""
        return self._matches(properties)

    def takes(self, record: bytes) -> bool:
        """Whether a reader wants a message, by its record."""
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
        """The same for many: what is wanted of units from the `first` on, as far as decisions are known and
        their records lie in the window of a log (see `Log.window`).

        Records and their queue offsets, from `number` on, are added to the lists, whose records have `total`
        bytes. How many were looked at, the bytes then, where the last record that was added lies (-1 for
        none), and whether the next one is too much; None where each has to be asked for. Needs `knows_many`.
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
