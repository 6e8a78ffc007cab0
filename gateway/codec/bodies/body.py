"""How a body is declared: a dataclass whose annotations are the JSON.

    @dataclass(slots=True)
    class ProducerConnection(Body):
        connection_set: list[Connection] = field(default_factory=list)

A member's JSON name is the camelCase of the attribute's (`wired` gives another). Allowed types are str, int,
float, bool, Any (taken as it is), bodies, `list`, `set` (a JSON array, written sorted), `dict` with str, int
or MessageQueue keys, and `| None` of each. Null and missing members get the default; without one they are an
error. Members that are None are not written, unknown ones not read.

Written JSON has no spaces and sorted keys. Where a map has keys that are no text, the standard writes JSON
that is none: bare integers and whole objects as keys. `engine.lenient_json` reads and writes that.
Standard: `RemotingSerializable`.
"""

import dataclasses
import json
from collections.abc import Callable
from types import NoneType, UnionType
from typing import Any, NamedTuple, Self, Union, get_args, get_origin, get_type_hints

import orjson

from mqgateway.engine import lenient_json
from mqgateway.gateway.codec.errors import BodyError
from mqgateway.gateway.codec.fields import camel_case


class Body:
    """Base of all bodies; subclasses are dataclasses."""

    __slots__ = ()

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """The body in JSON text. Raises BodyError."""
        try:
            value = lenient_json.loads(data)
        except ValueError as error:
            raise BodyError("", f"{cls.__name__} is no JSON: {error}") from None
        return cls.from_json(value)

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """The body in a JSON value. Raises BodyError."""
        if not isinstance(value, dict):
            raise BodyError(cls.__name__, f"{cls.__name__} is no JSON object")
        values: dict[str, Any] = {}
        for member in _members(cls):
            found = value.get(member.wire_name)
            if found is not None:
                try:
                    values[member.name] = member.read(found)
                except (TypeError, ValueError):
                    text = f"the member {member.wire_name} of {cls.__name__} has a wrong type"
                    raise BodyError(member.wire_name, text) from None
            elif member.required:
                text = f"the member {member.wire_name} of {cls.__name__} is null"
                raise BodyError(member.wire_name, text)
        return cls(**values)

    def to_json(self) -> dict[str, Any]:
        """The JSON value; keys of maps are text, int, or an object key of `engine.lenient_json`."""
        result = {}
        for member in _members(type(self)):
            value = getattr(self, member.name)
            if value is not None:
                result[member.wire_name] = value if member.write is None else member.write(value)
        return result

    def encode(self) -> bytes:
        """The JSON text as the standard writes it: integer and object keys are bare."""
        value = self.to_json()
        try:
            return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
        except TypeError:  # a key that is no text
            return lenient_json.dumps(value)

    def encode_standard(self) -> bytes:
        """JSON that every reader takes: int keys are quoted, everything beyond ASCII is escaped.

        Not for bodies with MessageQueue keys.
        """
        return json.dumps(self.to_json(), sort_keys=True, separators=(",", ":")).encode("ascii")


def wired(name: str) -> dict[str, str]:
    """Field metadata for a JSON name that is not the camelCase of the attribute's name."""
    return {"wire": name}


class _Member(NamedTuple):
    name: str
    wire_name: str
    required: bool
    read: Callable[[Any], Any]
    write: Callable[[Any], Any] | None  # None: JSON has the value as it is


_Converter = tuple[Callable[[Any], Any], Callable[[Any], Any] | None]


_MEMBERS: dict[type[Body], tuple[_Member, ...]] = {}


def _members(cls: type[Body]) -> tuple[_Member, ...]:
    """The members of a body class, worked out when it is first used."""
    if cls not in _MEMBERS:
        _MEMBERS[cls] = _read_declaration(cls)
    return _MEMBERS[cls]


def _read_declaration(cls: type[Body]) -> tuple[_Member, ...]:
    hints = get_type_hints(cls)
    members = []
    for one in dataclasses.fields(cls):  # type: ignore[arg-type]
        read, write = _converter(hints[one.name])
        required = one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING
        members.append(
            _Member(one.name, one.metadata.get("wire", camel_case(one.name)), required, read, write)
        )
    return tuple(members)


def _converter(hint: Any) -> _Converter:
    """How values of a type are read from JSON and written to it."""
    if hint in _SCALARS:
        return _SCALARS[hint], None
    if isinstance(hint, type) and issubclass(hint, Body):
        return hint.from_json, Body.to_json
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        (member,) = (one for one in arguments if one is not NoneType)
        return _converter(member)
    if origin is list:
        return _list_converter(*_converter(arguments[0]))
    if origin is set:
        return _set_converter(*_converter(arguments[0]))
    if origin is dict:
        return _map_converter(arguments[0], *_converter(arguments[1]))
    raise TypeError(f"{hint} is no type of a body's member")


def _list_converter(read: Callable[[Any], Any], write: Callable[[Any], Any] | None) -> _Converter:
    def read_list(value: Any) -> list[Any]:
        return [read(one) for one in _array(value)]

    return read_list, None if write is None else lambda value: [write(one) for one in value]


def _set_converter(read: Callable[[Any], Any], write: Callable[[Any], Any] | None) -> _Converter:
    def read_set(value: Any) -> set[Any]:
        return {read(one) for one in _array(value)}

    return read_set, sorted if write is None else lambda value: [write(one) for one in sorted(value)]


def _map_converter(key: Any, read: Callable[[Any], Any], write: Callable[[Any], Any] | None) -> _Converter:
    read_key, write_key = _key_converter(key)

    def read_map(value: Any) -> dict[Any, Any]:
        if not isinstance(value, dict):
            raise TypeError
        return {read_key(one): read(found) for one, found in value.items()}

    def write_map(value: Any) -> dict[Any, Any]:
        return {
            write_key(one) if write_key else one: write(found) if write else found
            for one, found in value.items()
        }

    return read_map, write_map if write_key or write else None


def _key_converter(hint: Any) -> _Converter:
    if hint is str or hint is int:
        return hint, None

    def read_key(value: Any) -> Body:
        if isinstance(value, str):  # the quoted form
            value = lenient_json.loads(value)
        body: Body = hint.from_json(dict(value))
        return body

    return read_key, lambda value: lenient_json.ObjectKey(value.to_json())


def _array(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError
    return value


def _as_is(value: Any) -> Any:
    return value


def _read_text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _read_int(value: Any) -> int:
    if isinstance(value, str):
        return int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError
    return value


def _read_float(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TypeError
    return float(value)


def _read_bool(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


_SCALARS: dict[Any, Callable[[Any], Any]] = {
    str: _read_text,
    int: _read_int,
    float: _read_float,
    bool: _read_bool,
    Any: _as_is,
}
