"""Declaration of headers, and the functions generated from it.

A header class lists its fields as annotations, nothing else:

    class PullMessageRequestHeader(TopicRequestHeader, code=RequestCode.PULL_MESSAGE):
        consumer_group: str                     # required
        queue_id: Int                           # Java int / Integer: checked to have 32 bits
        subscription: str | None = None         # optional
        client_id: str = wire("clientID")       # a wire name that is not the camelCase of the attribute's

From it `Header` generates, once per class, three plain functions without loops: the keyword constructor,
`decode` (text fields to typed header) and `encode` (the reverse). `code=` enters the class into the registry
behind `request_header`; `spelling=` gives a subclass other wire names for inherited fields.

A field without default is required. A Java primitive that may be missing has its Java default (0, false) and
is always written; a boxed one has None and is written if set. RocketMQ: `CommandCustomHeader`,
`RemotingCommand.decodeCommandCustomHeader`, `RemotingCommand.makeCustomHeaderToNet`.

RocketMQ requires no field, whatever its annotations say: it logs a missing or unreadable one and continues
with null or 0, which often fails later with code 1. Here a field is required where that happens, or where the
request would do harm without it (docs/decisions/0069). Other fields that cannot be read count as missing.
Classes with `is_strict` refuse them: RocketMQ reads those by another path (`FastCodesHeader`), or it would do
harm.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import NoneType
from typing import Annotated, Any, ClassVar, NamedTuple, Self, dataclass_transform, get_args

from mqgateway.engine.extension import FieldPlan, Native, native
from mqgateway.gateway.codec.errors import HeaderError

_SHOWN_VALUE_MAX = 100  # maximum characters of a bad value in a remark


class BoundaryType(StrEnum):
    """Message selected by a time that several messages have: the first or the last.

    RocketMQ: `BoundaryType`.
    """

    LOWER = "LOWER"
    UPPER = "UPPER"


class _IntTexts(dict[str, int]):
    """Text to int as Java's `parseInt` does; small numbers, which most are, by one lookup."""

    def __init__(self, bits: int) -> None:
        super().__init__({str(number): number for number in range(-1, 1024)})
        self._limit = 1 << (bits - 1)

    def __missing__(self, text: str) -> int:
        if text.isdecimal():  # int() alone would also accept blanks and underscores
            number = int(text)
            if number < self._limit:
                return number
        elif text[:1] in ("-", "+") and text[1:].isdecimal():
            number = int(text)
            if -self._limit <= number < self._limit:
                return number
        raise ValueError


class _BoolTexts(dict[str, bool]):
    """Text to bool as Java's `parseBoolean` does: anything but `true`, ignoring case, is false."""

    def __missing__(self, text: str) -> bool:
        return text.lower() == "true"


class _BoundaryTexts(dict[str, BoundaryType]):
    """Text to BoundaryType: `upper`, ignoring case, is UPPER, anything else is LOWER."""

    def __missing__(self, text: str) -> BoundaryType:
        return BoundaryType.UPPER if text.upper() == "UPPER" else BoundaryType.LOWER


@dataclass(frozen=True, eq=False)
class WireType:
    """Field type: its name in schemas, and the conversions from and to text.

    `texts` maps text to value (None: the text is the value) and raises ValueError for invalid text. `write`
    is a format whose `{}` stands for the value. `bits` are those of a whole number, 0 for others.
    """

    name: str
    texts: Mapping[str, Any] | None
    write: str
    bits: int = 0


_TEXT = WireType("String", None, "{}")
_INT = WireType("int", _IntTexts(32), "str({})", 32)
_LONG = WireType("long", _IntTexts(64), "str({})", 64)
_BOOL = WireType("boolean", _BoolTexts({"true": True, "false": False}), "('true' if {} else 'false')")
_BOUNDARY = WireType("BoundaryType", _BoundaryTexts(), "{}.value")

Int = Annotated[int, _INT]
"""Java int or Integer: 32 bits, signed."""
Long = Annotated[int, _LONG]
"""Java long or Long: 64 bits, signed."""
Bool = Annotated[bool, _BOOL]
"""Java boolean or Boolean."""
Boundary = Annotated[BoundaryType, _BOUNDARY]
"""BoundaryType by its name."""


class HeaderField(NamedTuple):
    """Declared field of a header class."""

    name: str
    wire_name: str
    type: WireType
    required: bool
    default: Any


class _Wire(NamedTuple):
    name: str
    default: Any


_REQUIRED: Any = object()


def wire(name: str, *, default: Any = _REQUIRED) -> Any:
    """Declare a field whose wire name is not the camelCase form of its attribute's name."""
    return _Wire(name, default)


def camel_case(name: str) -> str:
    """Convert `consumer_group` to `consumerGroup`."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


_REQUEST_HEADERS: dict[int, type["Header"]] = {}


@dataclass_transform(kw_only_default=True, field_specifiers=(wire,))
class Header:
    """Base of all headers. Headers are equal if they have the same class and the same values."""

    __fields__: ClassVar[tuple[HeaderField, ...]] = ()
    __is_strict__: ClassVar[bool] = False
    """True if fields with a default must be readable, too."""
    __plan__: ClassVar[tuple[FieldPlan, ...] | None] = None
    """Fields in the form of the extension, once compiled."""

    def __init_subclass__(
        cls,
        *,
        code: int | tuple[int, ...] = (),
        spelling: Mapping[str, str] | None = None,
        is_strict: bool = False,
    ) -> None:
        super().__init_subclass__()
        own = [_field(cls, name, hint) for name, hint in inspect.get_annotations(cls, eval_str=True).items()]
        fields = (*own, *cls.__fields__)
        if spelling:
            fields = tuple(one._replace(wire_name=spelling.get(one.name, one.wire_name)) for one in fields)
        cls.__fields__ = fields
        cls.__is_strict__ = is_strict
        _put_off(cls)
        for number in (code,) if isinstance(code, int) else code:
            if _REQUEST_HEADERS.setdefault(int(number), cls) is not cls:
                raise TypeError(f"request code {number} has two headers")

    @classmethod
    def decode(cls, ext: Mapping[str, str]) -> Self:
        """Decode the text fields of a command. Raises HeaderError. Unknown fields are ignored."""
        return cls()

    def encode(self) -> dict[str, str]:
        """Encode the header as text fields; None values are omitted."""
        return {}

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, field.name) == getattr(other, field.name) for field in self.__fields__)

    def __repr__(self) -> str:
        shown = ((field.name, getattr(self, field.name), field.default) for field in self.__fields__)
        inner = ", ".join(f"{name}={value!r}" for name, value, default in shown if value != default)
        return f"{type(self).__name__}({inner})"


def request_header(code: int) -> type[Header] | None:
    """Return the header class of a request code; None if the request has none, or is unknown.

    Complete once `gateway.codec.headers` is imported.
    """
    return _REQUEST_HEADERS.get(code)


def request_headers() -> dict[int, type[Header]]:
    """Return all registered header classes by request code."""
    return dict(_REQUEST_HEADERS)


def _field(cls: type[Header], name: str, hint: Any) -> HeaderField:
    declared = cls.__dict__.get(name, _REQUIRED)
    wire_name = camel_case(name)
    if isinstance(declared, _Wire):
        wire_name, declared = declared
        if declared is _REQUIRED:
            delattr(cls, name)
        else:
            setattr(cls, name, declared)
    return HeaderField(name, wire_name, _wire_type(hint), declared is _REQUIRED, declared)


def _wire_type(hint: Any) -> WireType:
    arguments = get_args(hint)
    (member,) = [one for one in arguments if one is not NoneType] if NoneType in arguments else [hint]
    if member is str:
        return _TEXT
    for note in getattr(member, "__metadata__", ()):
        if isinstance(note, WireType):
            return note
    raise TypeError(f"{hint} is not a type of a header field")


# The three functions of a class are generated as source and compiled, because a header is read for every
# request: straight code is about three times as fast as a loop over the fields. With the extension, the loop
# of `decode` is one in C.


def _put_off(cls: type[Header]) -> None:
    """Compile the functions on first use, for a fast start: most headers are never used."""

    def __init__(self: Header, **values: Any) -> None:
        _compile(cls)
        self.__init__(**values)  # type: ignore[misc]

    def decode(ext: Mapping[str, str]) -> Header:
        _compile(cls)
        return cls.decode(ext)

    def encode(self: Header) -> dict[str, str]:
        _compile(cls)
        return self.encode()

    cls.__plan__ = None
    _take_over(cls, {"__init__": __init__, "decode": decode, "encode": encode})


def _compile(cls: type[Header], extension: Native | None = native) -> None:
    fields = cls.__fields__
    names: dict[str, Any] = {"cls": cls, "new": cls.__new__, "read": _read_each}
    for field in fields:
        names[f"texts_{field.type.name}"] = field.type.texts
        names[f"default_{field.name}"] = field.default
    source = [*_constructor_source(fields), *_decode_source(fields), *_encode_source(fields)]
    functions: dict[str, Callable[..., Any]] = {}
    exec(compile("\n".join(source), f"<header {cls.__name__}>", "exec"), names, functions)
    if extension is not None:
        cls.__plan__ = tuple(
            (field.name, field.wire_name, field.type.texts, field.type.bits, field.required)
            for field in fields
        )
        functions["decode"] = _decode_natively(cls, extension, cls.__plan__)
    _take_over(cls, functions)


def _decode_natively(
    cls: type[Header], extension: Native, plan: tuple[FieldPlan, ...]
) -> Callable[[Mapping[str, str]], Header]:
    read = extension.header

    def decode(ext: Mapping[str, str]) -> Header:
        header = read(cls, plan, ext if isinstance(ext, dict) else dict(ext))
        return _read_each(cls, ext) if header is None else header

    return decode


def _take_over(cls: type[Header], functions: Mapping[str, Callable[..., Any]]) -> None:
    for name, function in functions.items():
        function.__qualname__ = f"{cls.__qualname__}.{name}"
        function.__module__ = cls.__module__
        function.__doc__ = getattr(Header, name).__doc__
        setattr(cls, name, staticmethod(function) if name == "decode" else function)


def _constructor_source(fields: tuple[HeaderField, ...]) -> list[str]:
    if not fields:
        return ["def __init__(self): pass"]
    parameters = [
        field.name if field.required else f"{field.name}=default_{field.name}"
        for field in sorted(fields, key=lambda field: not field.required)
    ]
    body = [f"  self.{field.name} = {field.name}" for field in fields]
    return [f"def __init__(self, *, {', '.join(parameters)}):", *body]


def _decode_source(fields: tuple[HeaderField, ...]) -> list[str]:
    """Return the source of `decode`. Missing optional fields are not set: the class default applies."""
    body = []
    for field in fields:
        read = "{}" if field.type.texts is None else f"texts_{field.type.name}[{{}}]"
        if field.required:
            body.append(f"    header.{field.name} = {read.format(f'ext[{field.wire_name!r}]')}")
        else:
            body.append(f"    if (text := get({field.wire_name!r})) is not None:")
            body.append(f"      header.{field.name} = {read.format('text')}")
    return [
        "def decode(ext):",
        "  header = new(cls)",
        "  get = ext.get",
        "  try:",
        *(body or ["    pass"]),
        "  except (KeyError, ValueError):",
        "    return read(cls, ext)",
        "  return header",
    ]


def _encode_source(fields: tuple[HeaderField, ...]) -> list[str]:
    always = [field for field in fields if field.default is not None]
    items = [f"{field.wire_name!r}: {field.type.write.format(f'self.{field.name}')}" for field in always]
    body = [f"  ext = {{{', '.join(items)}}}"]
    for field in fields:
        if field.default is None:
            body.append(f"  if (value := self.{field.name}) is not None:")
            body.append(f"    ext[{field.wire_name!r}] = {field.type.write.format('value')}")
    return ["def encode(self):", *body, "  return ext"]


def _read_each(cls: type[Header], ext: Mapping[str, str]) -> Header:
    """Return the header of fields of which one is missing or cannot be read. Raises HeaderError."""
    header = cls.__new__(cls)
    for field in cls.__fields__:
        name = field.wire_name
        text = ext.get(name)
        if text is None:
            if field.required:
                raise HeaderError(name, f"the custom field <{name}> is null")
            continue
        try:
            value = text if field.type.texts is None else field.type.texts[text]
        except ValueError:
            if field.required or cls.__is_strict__:
                shown = text[:_SHOWN_VALUE_MAX]
                remark = f"the custom field <{name}> is not of type {field.type.name}: {shown!r}"
                raise HeaderError(name, remark) from None
            continue
        setattr(header, field.name, value)
    return header


# Bases of nearly every request.


class RpcRequestHeader(Header):
    """Fields of every 5.x request: namespace, namespaced, broker name, oneway. RocketMQ: same name."""

    ns: str | None = None
    nsd: Bool | None = None
    bname: str | None = None
    oway: Bool | None = None


class TopicRequestHeader(RpcRequestHeader):
    """Request about a topic; `lo` false marks a physical queue of a static topic. RocketMQ: same name."""

    lo: Bool | None = None
