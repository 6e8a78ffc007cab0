"""The columns that a reader can return, and their making from raw rows as buffers in Arrow's layout; pure.

`SOURCE` are the stock connector's nine, in its order; `STORE` those of the offline reader. Numbers become
native arrays, and texts one run of bytes with an array of offsets, so no object is made for a cell. Composite
cells (keys, the map of properties) are Python values.

`properties` is a JSON object of the stored properties. The stock connector adds MIN_OFFSET and MAX_OFFSET at
the time of the pull, so a range read twice would give different rows. RocketMQ: rocketmq-spark's
`RocketMQSourceProvider.ROCKETMQ_SCHEMA`.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

import orjson

from mqgateway.engine.message import (
    PROPERTY_KEYS,
    PROPERTY_TAGS,
    PROPERTY_UNIQ_KEY,
    format_host,
    offset_message_id,
    parse_properties,
)
from mqgateway.pipeline.errors import BadOption
from mqgateway.pipeline.options import names
from mqgateway.pipeline.rows import Rows


class TextColumn(NamedTuple):
    """Cells of bytes or text: offsets (native i4) and bytes. `validity`, None if no cell is null, has a bit
    for each cell that is not null, the least significant first."""

    offsets: bytes
    data: bytes
    validity: bytes | None = None


class NumberColumn(NamedTuple):
    """Cells of fixed width, as native bytes."""

    data: bytes


Cells = TextColumn | NumberColumn | list[Any]


class Place(NamedTuple):
    """Values that all rows of a batch from one queue share."""

    topic: str = ""
    broker_name: str = ""


@dataclass(frozen=True)
class Column:
    """A column: its name, its type in Spark's DDL, and the function that makes its cells."""

    name: str
    ddl: str
    cells: Callable[[Rows, Place], Cells]
    meaning: str


def texts(parts: Sequence[bytes]) -> TextColumn:
    """Return cells of which none is null."""
    return TextColumn(array("i", accumulate(map(len, parts), initial=0)).tobytes(), b"".join(parts))


def nullable(parts: Sequence[bytes | None]) -> TextColumn:
    """Return cells of which some may be null."""
    bits = bytearray((len(parts) + 7) // 8)
    for number, part in enumerate(parts):
        if part is not None:
            bits[number >> 3] |= 1 << (number & 7)
    plain = texts([part or b"" for part in parts])
    return plain._replace(validity=bytes(bits))


def same(text: str, count: int) -> TextColumn:
    """Return cells with the same text in each."""
    data = text.encode()
    end = len(data) * count
    offsets = range(0, end + 1, len(data)) if data else [0] * (count + 1)
    return TextColumn(array("i", offsets).tobytes(), data * count)


def ints(values: Iterable[int]) -> NumberColumn:
    """Return cells of 32 bits."""
    return NumberColumn(array("i", values).tobytes())


def longs(values: Iterable[int]) -> NumberColumn:
    """Return cells of 64 bits."""
    return NumberColumn(array("q", values).tobytes())


_SAFE = bytes(byte for byte in range(0x20, 0x7F) if byte not in b'"\\')
_QUICK_ROWS = b"\n"


def properties_json(rows: Sequence[bytes]) -> list[bytes]:
    """Return each row's stored properties as a JSON object.

    All rows are converted at once if they are plain: only printable ASCII without quotes and backslashes, and
    every pair complete. Otherwise each row is parsed.
    """
    joined = _QUICK_ROWS.join(rows)
    marks = joined.translate(None, _SAFE)
    is_plain = (
        marks.replace(b"\1\2", b"") == _QUICK_ROWS * (len(rows) - 1)
        and joined.endswith(b"\2")
        and not any(odd in joined for odd in (b"\1\2", b"\2\1", b"\n\1", b"\n\n"))
        and joined.count(b"\2\n") == len(rows) - 1
        and joined[:1] not in (b"\1", b"\n")
    )
    if not is_plain:
        return [orjson.dumps(_parsed(row)) for row in rows]
    text = joined[:-1].replace(b"\2\n", b'"}\n{"').replace(b"\1", b'":"').replace(b"\2", b'","')
    return b"".join((b'{"', text, b'"}')).split(_QUICK_ROWS)


def _parsed(row: bytes) -> dict[str, str]:
    return parse_properties(row.decode("utf-8", "replace"))


def _property(name: str) -> Callable[[Rows, Place], Cells]:
    mark = f"{name}\1".encode()

    def cells(rows: Rows, place: Place) -> Cells:
        found: list[bytes | None] = []
        for row in rows.properties:
            value = _parsed(row).get(name) if mark in row else None
            found.append(None if value is None else value.encode())
        return nullable(found)

    return cells


def _topics(rows: Rows, place: Place) -> Cells:
    return texts(rows.topics) if rows.topics else same(place.topic, len(rows))


def _keys(rows: Rows, place: Place) -> Cells:
    return [_parsed(row).get(PROPERTY_KEYS, "").split() for row in rows.properties]


def _maps(rows: Rows, place: Place) -> Cells:
    return [list(_parsed(row).items()) for row in rows.properties]


def _message_ids(rows: Rows, place: Place) -> Cells:
    found = []
    for head, row in zip(rows.heads, rows.properties, strict=True):
        found.append((_parsed(row).get(PROPERTY_UNIQ_KEY) or offset_message_id(head[11], head[6])).encode())
    return texts(found)


def _number(at: int, make: Callable[[Iterable[int]], NumberColumn]) -> Callable[[Rows, Place], Cells]:
    return lambda rows, _: make([head[at] for head in rows.heads])  # type: ignore[misc]


def _time(at: int) -> Callable[[Rows, Place], Cells]:
    return lambda rows, _: longs([head[at] * 1000 for head in rows.heads])  # type: ignore[misc]


def _host(at: int) -> Callable[[Rows, Place], Cells]:
    return lambda rows, _: texts([format_host(head[at]).encode() for head in rows.heads])  # type: ignore[arg-type]


def _notes(rows: Rows, place: Place) -> Cells:
    notes = rows.notes or [None] * len(rows)
    return nullable([None if note is None else note.encode() for note in notes])


ALL = {
    one.name: one
    for one in (
        Column("topic", "string", _topics, "Topic."),
        Column("flag", "int", _number(4, ints), "Number of the sender's own."),
        Column("body", "binary", lambda rows, _: texts(rows.bodies), "The body, made whole."),
        Column(
            "properties",
            "string",
            lambda rows, _: texts(properties_json(rows.properties)),
            "All stored properties, as a JSON object.",
        ),
        Column("brokerName", "string", lambda rows, place: same(place.broker_name, len(rows)), "Broker."),
        Column("queueId", "int", _number(3, ints), "Queue."),
        Column("queueOffset", "bigint", _number(5, longs), "Offset in the queue."),
        Column("bornTimestamp", "timestamp", _time(8), "When it was sent, by the sender's clock."),
        Column("storeTimestamp", "timestamp", _time(10), "When it was stored, by the broker's clock."),
        Column("tags", "string", _property(PROPERTY_TAGS), "The tag; null without one."),
        Column("keys", "array<string>", _keys, "The keys."),
        Column("propertyMap", "map<string,string>", _maps, "All stored properties, as a map."),
        Column("messageId", "string", _message_ids, "The id the sender gave, else where it is stored."),
        Column("bornHost", "string", _host(9), "Sender, `ip:port`."),
        Column("storeHost", "string", _host(11), "Broker, `ip:port`."),
        Column("reconsumeTimes", "int", _number(12, ints), "How often consumers refused it before."),
        Column("sysFlag", "int", _number(7, ints), "The broker's bits."),
        Column("physicalOffset", "bigint", _number(6, longs), "Where the record lies in the commit log."),
        Column("storeSize", "int", _number(0, ints), "Bytes of the record."),
        Column("corrupt", "string", _notes, "What is wrong with the record; null for a sound one."),
    )
}
SOURCE = (
    "topic",
    "flag",
    "body",
    "properties",
    "brokerName",
    "queueId",
    "queueOffset",
    "bornTimestamp",
    "storeTimestamp",
)
STORE = (*SOURCE, "physicalOffset", "storeSize")


def chosen(text: str, default: tuple[str, ...]) -> tuple[str, ...]:
    """Return the columns that the option includeColumns names, `default` if it is empty. Raises
    `BadOption`."""
    by_lower = {name.lower(): name for name in ALL}
    wanted = names(text)
    unknown = [name for name in wanted if name.lower() not in by_lower]
    if unknown:
        raise BadOption(
            "includeColumns", text, f"no column {', '.join(unknown)}", f"valid columns are {', '.join(ALL)}"
        )
    return tuple(by_lower[name.lower()] for name in wanted) or default


def ddl(wanted: Iterable[str]) -> str:
    """Return the schema of columns in Spark's DDL."""
    return ", ".join(f"{name} {ALL[name].ddl}" for name in wanted)
