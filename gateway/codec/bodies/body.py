"""Declaration of bodies: a dataclass whose annotations describe the JSON.

    @body
    class ProducerConnection(Body):
        connection_set: list[Connection] = field(default_factory=list)

A member's JSON name is the camelCase of the attribute's (`wired` gives another). Allowed types are str, int
(a long of Java's), `Int`, float, bool, `Annotated[str, Names(...)]` (an enum), Any (unchanged), bodies,
`list`, `set` (a JSON array, written sorted), `dict` with str, int or MessageQueue keys, and `| None` of each.
Values are converted as leniently as by RocketMQ, see `engine.java_types`. Missing members get the default;
without one numbers and booleans are zero, and others are an error. Null is None where that is allowed, zero
for numbers and booleans, else the default. Members that are None are not written, unknown members are not
read. Nulls in arrays and maps are dropped in the same way.

Written JSON has no spaces and sorted keys. Where a map has keys that are not text, RocketMQ writes invalid
JSON: bare integers and whole objects as keys. `engine.lenient_json` reads and writes that.
RocketMQ: `RemotingSerializable`.
"""

import dataclasses
import json
from collections.abc import Callable
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    NamedTuple,
    Self,
    TypeVar,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

import orjson

from mqgateway.engine import lenient_json
from mqgateway.engine.java_types import (
    INT_BITS,
    is_integer_item,
    is_text_item,
    to_boolean,
    to_double,
    to_enum,
    to_integer,
    to_items,
    to_object,
    to_text,
)
from mqgateway.gateway.codec.errors import BodyError
from mqgateway.gateway.codec.fields import camel_case

Int = Annotated[int, INT_BITS]
"""An integer that is an int in Java; a plain `int` is a long."""


def is_null(text: bytes) -> bool:
    """Return True for a body that RocketMQ's reader takes as null."""
    return text in (b"", b"null", b'""')


class Names(NamedTuple):
    """The names of an enum of Java's, in the order of their declaration."""

    names: tuple[str, ...]


class Body:
    """Base of all bodies; subclasses are dataclasses, most of them made by `body`."""

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Parse the body in JSON text. Raises BodyError."""
        try:
            value = lenient_json.loads(data)
        except ValueError as error:
            raise BodyError("", f"{cls.__name__} is not JSON: {error}") from None
        return cls.from_json(value)

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """Convert a JSON value to the body. Raises BodyError."""
        if not isinstance(value, dict):
            raise BodyError(cls.__name__, f"{cls.__name__} is not a JSON object")
        values: dict[str, Any] = {}
        for member in _members(cls):
            name = member.wire_name
            try:
                found = member.read(value.get(name))
            except (OverflowError, TypeError, ValueError):
                text = f"the member {name} of {cls.__name__} has a wrong type"
                raise BodyError(name, text) from None
            if found is not None:
                values[member.name] = found
            elif member.null is not _DEFAULT and (member.required or name in value):
                values[member.name] = member.null
            elif member.required:
                raise BodyError(name, f"the member {name} of {cls.__name__} is null")
        return cls(**values)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON value; keys of maps are text, int, or an object key of `engine.lenient_json`."""
        result = {}
        for member in _members(type(self)):
            value = getattr(self, member.name)
            if value is not None:
                result[member.wire_name] = value if member.write is None else member.write(value)
        return result

    def encode(self) -> bytes:
        """Return the JSON text as RocketMQ writes it: integer and object keys are bare."""
        value = self.to_json()
        try:
            return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
        except TypeError:  # a key that is not text
            return lenient_json.dumps(value)

    def encode_standard(self) -> bytes:
        """Return JSON that every reader accepts: int keys are quoted, everything beyond ASCII is escaped.

        Not for bodies with MessageQueue keys.
        """
        return json.dumps(self.to_json(), sort_keys=True, separators=(",", ":")).encode("ascii")


B = TypeVar("B", bound=Body)


@dataclass_transform(field_specifiers=(dataclasses.field,))
def body(cls: type[B]) -> type[B]:
    """Make a body a dataclass with slots.

    Its methods are compiled when the first one is made, for a fast start: most bodies are never used.
    """
    made = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True)(cls)

    def __init__(self: Body, *values: Any, **named: Any) -> None:
        _compile(made)
        made.__init__(self, *values, **named)

    _take_over(made, {"__init__": __init__})
    return made


def _compile(cls: type[Body]) -> None:
    """Replace the methods of a class by those of a dataclass with the same fields."""
    fields = [(one.name, one.type, one) for one in dataclasses.fields(cls)]
    compiled = dataclasses.make_dataclass(cls.__name__, fields)
    names = ("__hash__", "__eq__", "__repr__", "__init__")
    _take_over(cls, {name: getattr(compiled, name) for name in names})


def _take_over(cls: type[Body], functions: dict[str, Any]) -> None:
    for name, function in functions.items():
        setattr(cls, name, function)


def wired(name: str) -> dict[str, str]:
    """Return field metadata for a JSON name that is not the camelCase of the attribute's name."""
    return {"wire": name}


_DEFAULT = object()


class _Member(NamedTuple):
    name: str
    wire_name: str
    required: bool
    null: Any  # the value that null becomes
    read: Callable[[Any], Any]  # returns None for null
    write: Callable[[Any], Any] | None  # None: JSON has the value unchanged


_Converter = tuple[Callable[[Any], Any], Callable[[Any], Any] | None]
_IsOne = Callable[[Any], bool] | None


_MEMBERS: dict[type[Body], tuple[_Member, ...]] = {}


def _members(cls: type[Body]) -> tuple[_Member, ...]:
    """Return the members of a body class, computed at its first use."""
    if cls not in _MEMBERS:
        _MEMBERS[cls] = _read_declaration(cls)
    return _MEMBERS[cls]


def _read_declaration(cls: type[Body]) -> tuple[_Member, ...]:
    hints = get_type_hints(cls, include_extras=True)
    members = []
    for one in dataclasses.fields(cls):
        read, write = _converter(hints[one.name])
        required = one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING
        is_nullable = NoneType in get_args(hints[one.name])
        null = None if is_nullable else _ZEROS.get(hints[one.name], _DEFAULT)
        wire_name = one.metadata.get("wire", camel_case(one.name))
        members.append(_Member(one.name, wire_name, required, null, read, write))
    return tuple(members)


def _converter(hint: Any) -> _Converter:
    """Return the functions that read values of a type from JSON and write them."""
    if hint in _SCALARS:
        return _SCALARS[hint], None
    if isinstance(hint, type) and issubclass(hint, Body):
        return _body_reader(hint), Body.to_json
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        names: tuple[str, ...] = arguments[1].names
        return lambda value: to_enum(value, names), None
    if origin in (Union, UnionType):
        (member,) = (one for one in arguments if one is not NoneType)
        return _converter(member)
    if origin is list:
        return _list_converter(*_converter(arguments[0]), one=_SINGLE.get(arguments[0]))
    if origin is set:
        return _set_converter(*_converter(arguments[0]), one=_SINGLE.get(arguments[0]))
    if origin is dict:
        return _map_converter(arguments[0], *_converter(arguments[1]))
    raise TypeError(f"{hint} is not a type of a body's member")


def _body_reader(hint: type[Body]) -> Callable[[Any], Any]:
    def read_body(value: Any) -> Body | None:
        return None if value is None or value in ("", "null") else hint.from_json(value)

    return read_body


def _items(value: Any, read: Callable[[Any], Any], one: _IsOne) -> list[Any] | None:
    """Return the items of an array that are not null; `one` returns True for a value that stands for an array
    of one item.
    """
    items = [value] if one is not None and one(value) else to_items(value)
    return None if items is None else [found for item in items if (found := read(item)) is not None]


def _list_converter(
    read: Callable[[Any], Any], write: Callable[[Any], Any] | None, *, one: _IsOne
) -> _Converter:
    def read_list(value: Any) -> list[Any] | None:
        return _items(value, read, one)

    return read_list, None if write is None else lambda value: [write(one) for one in value]


def _set_converter(
    read: Callable[[Any], Any], write: Callable[[Any], Any] | None, *, one: _IsOne
) -> _Converter:
    def read_set(value: Any) -> set[Any] | None:
        items = _items(value, read, one)
        return None if items is None else set(items)

    return read_set, sorted if write is None else lambda value: [write(one) for one in sorted(value)]


def _map_converter(key: Any, read: Callable[[Any], Any], write: Callable[[Any], Any] | None) -> _Converter:
    read_key, write_key = _key_converter(key)

    def read_map(value: Any) -> dict[Any, Any] | None:
        members = to_object(value)
        if members is None:
            return None
        pairs = ((read_key(one), read(found)) for one, found in members.items())
        return {one: found for one, found in pairs if one is not None and found is not None}

    def write_map(value: Any) -> dict[Any, Any]:
        return {
            write_key(one) if write_key else one: write(found) if write else found
            for one, found in value.items()
        }

    return read_map, write_map if write_key or write else None


def _key_converter(hint: Any) -> _Converter:
    if hint in _SCALARS:
        return (str if hint is str else _SCALARS[hint]), None

    def read_key(value: Any) -> Body:
        if isinstance(value, str):  # the quoted form
            value = lenient_json.loads(value)
        body: Body = hint.from_json(dict(value))
        return body

    return read_key, lambda value: lenient_json.ObjectKey(value.to_json())


def _as_is(value: Any) -> Any:
    return value


def _read_int(value: Any) -> int | None:
    return to_integer(value, INT_BITS)


_SCALARS: dict[Any, Callable[[Any], Any]] = {
    str: to_text,
    int: to_integer,
    Int: _read_int,
    float: to_double,
    bool: to_boolean,
    Any: _as_is,
}
_ZEROS: dict[Any, Any] = {int: 0, Int: 0, float: 0.0, bool: False}
_SINGLE: dict[Any, _IsOne] = {str: is_text_item, int: is_integer_item, Int: is_integer_item}
"""Predicates by type, True for a value that stands for an array of one item."""
