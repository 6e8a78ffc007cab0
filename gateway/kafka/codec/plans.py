"""Messages to bytes and back, by plans: how the fields of a class are laid out in one version.

A plan is built on first use and kept. Neighbouring fields of fixed size are packed and unpacked in one call.
Standard: `MessageDataGenerator`, whose generated methods define the layout.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any, Final, TypeVar, cast

from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.engine.record_batches.reader import ELEMENTS_MAX, Reader
from mqgateway.engine.record_batches.writer import write_unsigned_varint
from mqgateway.engine.steps import Steps
from mqgateway.gateway.kafka.codec.kinds import (
    FORMATS,
    Array,
    Bytes,
    Fixed,
    Nullable,
    NumberArray,
    RecordData,
    SchemaType,
    String,
)
from mqgateway.gateway.kafka.codec.schema import Field, Message, bounds, covers

M = TypeVar("M", bound=Message)


class Step:
    """Fields that follow one another: one, or some of fixed size."""

    def __init__(self, first: int, fields: list[Field], kind: SchemaType) -> None:
        self.first = first
        self.last = first + len(fields)
        self.kind = kind
        self.names = [field.name for field in fields]
        self.get: Callable[[Message], Any] = attrgetter(*self.names)
        self.is_uuid = any(field.kind == "uuid" for field in fields)
        formats = [FORMATS[field.kind] for field in fields if field.kind in FORMATS]
        self.struct = struct.Struct(">" + "".join(formats)) if len(fields) > 1 else None
        self.least = self.struct.size if self.struct else kind.least

    def read(self, reader: Reader, values: list[Any]) -> None:
        """Read the fields into their places."""
        if self.struct is None:
            values[self.first] = self.kind.read(reader)
        else:
            values[self.first : self.last] = reader.unpack(self.struct)

    def write(self, out: bytearray, message: Message) -> None:
        """Append the fields of a message."""
        if self.struct is None:
            self.kind.write(out, self.get(message))
            return
        values = self.get(message)
        if self.is_uuid and any(type(value) is bytes and len(value) != 16 for value in values):
            raise CodecError("a uuid has 16 bytes")
        out += self.struct.pack(*values)


class Tag:
    """A tagged field."""

    def __init__(self, place: int, field: Field, kind: SchemaType, default: Any) -> None:
        self.place = place
        self.name = field.name
        self.kind = kind
        self.default = default

    def is_default(self, value: Any) -> bool:
        """Return True if the value is not written. An empty list equals the default of an array."""
        return bool(value == self.default) or (self.default == () and value is not None and len(value) == 0)


class MessageLayout(SchemaType):
    """The layout of a class in one version."""

    def __init__(self, of: type[Message], version: int, flexible: bool) -> None:
        self.of = of
        self.flexible = flexible
        blank = of()
        self._template: list[Any] = [
            None if isinstance(value := getattr(blank, field.name), Message) else value for field in of.FIELDS
        ]
        present = [(place, field) for place, field in enumerate(of.FIELDS) if covers(field.versions, version)]
        plain = [(place, field) for place, field in present if not covers(field.tagged, version)]
        self._steps = list(steps(plain, version, flexible))
        self._tags = {
            field.tag: Tag(place, field, kind_of(field, version, flexible), getattr(blank, field.name))
            for place, field in present
            if covers(field.tagged, version)
        }
        names = {field.name for _, field in present}
        self._refused = [
            Tag(place, field, SchemaType(), getattr(blank, field.name))
            for place, field in enumerate(of.FIELDS)
            if field.name not in names and not field.ignorable
        ]
        super().__init__(sum([step.least for step in self._steps]) + flexible)
        self.is_long = any(step.kind.is_long for step in self._steps)

    def read(self, reader: Reader) -> Message:
        """Read a message."""
        values = self._template.copy()
        name = ""
        try:
            for step in self._steps:
                name = step.names[0]
                step.read(reader, values)
            if self.flexible:
                name = "tagged fields"
                self._read_tags(reader, values)
        except CodecError as error:
            error.within(name)
            raise
        return self.of(*values)

    def reading(self, reader: Reader) -> Steps[Message]:
        """Read a message as a cooperative task."""
        values = self._template.copy()
        name = ""
        try:
            for step in self._steps:
                name = step.names[0]
                if step.kind.is_long:
                    values[step.first] = yield from step.kind.reading(reader)
                else:
                    step.read(reader, values)
            if self.flexible:
                name = "tagged fields"
                self._read_tags(reader, values)
        except CodecError as error:
            error.within(name)
            raise
        return self.of(*values)

    def _read_tags(self, reader: Reader, values: list[Any]) -> None:
        count = reader.unsigned_varint()
        if not count:
            return
        reader.check_count(count, 2)
        for _ in range(count):
            number = reader.unsigned_varint()
            start = reader.position
            size = reader.unsigned_varint()
            inside = reader.position
            reader.take(size)
            tag = self._tags.get(number)
            if tag is None:
                continue
            limited = Reader(reader.data[: reader.position], inside, reader.elements)
            try:
                values[tag.place] = tag.kind.read(limited)
                if limited.left():
                    raise CodecError(f"{limited.left()} bytes follow the value of tag {number}", start)
            except CodecError as error:
                error.within(tag.name)
                raise
            reader.elements = limited.elements

    def write(self, out: bytearray, message: Message) -> None:
        """Append a message."""
        if type(message) is not self.of:
            raise CodecError(f"{type(message).__name__} where {self.of.__name__} is expected")
        name = ""
        try:
            for tag in self._refused:
                name = tag.name
                if not tag.is_default(getattr(message, name)):
                    raise CodecError("the version does not have this field")
            for step in self._steps:
                name = step.names[0]
                step.write(out, message)
            if self.flexible:
                name = "tagged fields"
                self._write_tags(out, message)
        except CodecError as error:
            error.within(name)
            raise
        except (struct.error, TypeError, AttributeError) as error:
            raised = CodecError(str(error))
            raised.within(name)
            raise raised from error

    def writing(self, out: bytearray, message: Message) -> Steps[None]:
        """Append a message as a cooperative task. It must be one that `write` accepts."""
        for step in self._steps:
            if step.kind.is_long:
                yield from step.kind.writing(out, step.get(message))
            else:
                step.write(out, message)
        if self.flexible:
            self._write_tags(out, message)

    def _write_tags(self, out: bytearray, message: Message) -> None:
        if not self._tags:
            out.append(0)
            return
        given = []
        for number in sorted(self._tags):
            value = getattr(message, self._tags[number].name)
            if not self._tags[number].is_default(value):
                given.append((number, value))
        write_unsigned_varint(out, len(given))
        for number, value in given:
            inner = bytearray()
            self._tags[number].kind.write(inner, value)
            write_unsigned_varint(out, number)
            write_unsigned_varint(out, len(inner))
            out += inner


def steps(fields: list[tuple[int, Field]], version: int, flexible: bool) -> Iterator[Step]:
    """Yield the steps of a plan; neighbours of fixed size make one."""
    run: list[Field] = []
    start = 0
    for place, field in fields:
        if run and (field.kind not in FORMATS or place != start + len(run)):
            yield Step(start, run, kind_of(run[0], version, flexible))
            run = []
        if field.kind in FORMATS:
            start = start if run else place
            run.append(field)
        else:
            yield Step(place, [field], kind_of(field, version, flexible))
    if run:
        yield Step(start, run, kind_of(run[0], version, flexible))


def kind_of(field: Field, version: int, flexible: bool) -> SchemaType:
    """Return the type of a field in a version."""
    nullable = covers(field.nullable, version)
    name = field.kind.removeprefix("[]")
    if name != field.kind:
        element = simple_kind(name, field, version, flexible, False)
        if isinstance(element, Fixed):
            return NumberArray(element, flexible, nullable)
        return Array(element, flexible, nullable)
    kind = simple_kind(name, field, version, flexible, nullable)
    return Nullable(kind) if nullable and name == "struct" else kind


def simple_kind(name: str, field: Field, version: int, flexible: bool, nullable: bool) -> SchemaType:
    """Return a type that is not an array."""
    if name == "struct":
        assert field.of is not None
        return MessageLayout(field.of, version, flexible)
    if name == "string":
        return String(flexible, nullable, short=True)
    if name == "bytes":
        return Bytes(flexible, nullable)
    if name == "records":
        return RecordData(flexible, nullable)
    return Fixed(name)


_PLANS: Final[dict[tuple[type[Message], int], MessageLayout]] = {}
"""One for each version of each message at most."""


def plan(of: type[Message], version: int) -> MessageLayout:
    """Return the layout of a message in a version. Raises `CodecError` if there is no such version."""
    known = _PLANS.get((of, version))
    if known is None:
        if not covers(of.VERSIONS, version):
            raise CodecError(f"{of.__name__} has no version {version}, only {of.VERSIONS}")
        known = _PLANS[of, version] = MessageLayout(of, version, covers(of.FLEXIBLE, version))
    return known


def versions(of: type[Message]) -> range:
    """Return the versions of a message."""
    first, last = bounds(of.VERSIONS)
    return range(first, last + 1)


def decode(
    of: type[M],
    data: bytes | bytearray | memoryview,
    version: int,
    position: int = 0,
    elements: int = ELEMENTS_MAX,
) -> M:
    """Return the message that begins at `position`. Bytes after it are ignored, as in Apache Kafka."""
    return read(of, Reader(data, position, elements), version)


def read(of: type[M], reader: Reader, version: int) -> M:
    """Read a message."""
    try:
        return cast(M, plan(of, version).read(reader))
    except CodecError as error:
        error.within(f"{of.__name__} v{version}")
        raise


def reading(of: type[M], reader: Reader, version: int) -> Steps[M]:
    """Read a message as a cooperative task; see `read`."""
    try:
        return cast(M, (yield from plan(of, version).reading(reader)))
    except CodecError as error:
        error.within(f"{of.__name__} v{version}")
        raise


def writing(out: bytearray, message: Message, version: int) -> Steps[None]:
    """Append a message as a cooperative task; see `encode_into`."""
    return plan(type(message), version).writing(out, message)


def encode(message: Message, version: int) -> bytearray:
    """Return the bytes of a message."""
    out = bytearray()
    encode_into(out, message, version)
    return out


def encode_into(out: bytearray, message: Message, version: int) -> None:
    """Append a message."""
    try:
        plan(type(message), version).write(out, message)
    except CodecError as error:
        error.within(f"{type(message).__name__} v{version}")
        raise
