"""RocketMQ's dialect of JSON: keys may be bare numbers or objects.

    {0:"127.0.0.1:10911"}                        a bare integer key, read as `int`
    {{"queueId":0,"topic":"t"}:{"offset":5}}     an object as key, read as `ObjectKey`

Text that is plain JSON is read by orjson. The writer produces RocketMQ's form: keys in alphabetical order,
null members omitted, bare integer keys; with `indent` one member per line, indented by tabs, as in tables on
disk.

RocketMQ: `RemotingSerializable` over fastjson.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from json import JSONDecodeError, JSONDecoder
from json.encoder import encode_basestring
from typing import Any

import orjson

from mqgateway.engine.steps import Steps, run

DEPTH_MAX = 100
"""Maximum levels of nesting read or written."""

PARTS_MAX = 50_000
"""Maximum parts (numbers, texts, members) of one value passed to `take` while a long text is read."""

STRING_MAX = 1024 * 1024
"""Maximum characters of one string with escapes in such a text."""

Path = tuple[Any, ...]
"""The keys, and indexes in arrays, from the outermost value to an inner one."""

# Control characters in strings are accepted, as RocketMQ does.
_STRINGS = JSONDecoder(strict=False)
_BLANKS = re.compile(r"[ \t\n\r]{0,65536}+")
_NUMBER = re.compile(r"(-?(?:0|[1-9][0-9]*))(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WORDS = {"true": True, "false": False, "null": None}
_INTEGER_DIGITS_MAX = 19

# Each match is bounded. The simplest kinds of values by the number of their group, and the marks that may
# follow one:
_STRING, _INTEGER, _WORD = 1, 2, 3
_VALUE = re.compile(
    r'[ \t\n\r]{0,65536}+(?:"([^"\\]{0,65536}+)"|(-?(?:0|[1-9][0-9]{0,18}+))(?![0-9.eE])'
    r"|(true|false|null)|[\[{])"
)
_MARK = re.compile(r"[ \t\n\r]{0,65536}+([,:\]}])")
_WHOLE_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_FLAT = rf'(?:[^"{{}}\[\]]++|{_WHOLE_STRING.pattern})*+'
_PLAIN = re.compile(rf"[{{\[](?:{_FLAT}(?:[{{\[]{_FLAT}[\]}}])?+)*?[\]}}]", re.DOTALL)
_WINDOW = 4096
_TOKENS_PER_STEP = 256
_TOKENS_PER_VALUE = 10
"""Cost of passing a value on, besides its parts, in tokens read."""
_NO_SUCH_KEY = "no string, whole number or object as key"
_OPENED: Any = object()
_NO_KEY: Any = object()


class JsonError(ValueError):
    """Text that is not even lenient JSON; `position` counts characters from 0."""

    def __init__(self, what: str, position: int) -> None:
        super().__init__(f"{what} at character {position}")
        self.what = what
        self.position = position


class ObjectKey(Mapping[str, Any]):
    """An object used as key: a hashable mapping. Equal if the JSON is equal."""

    __slots__ = ("_members", "text")

    def __init__(self, members: Mapping[str, Any]) -> None:
        self._members = dict(members)
        self.text = _text(self._members, bare_keys=True, sort=True)

    def __getitem__(self, key: str) -> Any:
        return self._members[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def __hash__(self) -> int:
        return hash(self.text)

    def __eq__(self, other: object) -> bool:
        return self.text == other.text if isinstance(other, ObjectKey) else NotImplemented

    def __repr__(self) -> str:
        return f"ObjectKey({self.text})"


class PreparedText:
    """A value as text, made by `dumps` with the same settings; `dumps` writes it unchanged."""

    __slots__ = ("text",)

    def __init__(self, text: bytes) -> None:
        self.text = text.decode("utf-8")


def loads(text: bytes | str) -> Any:
    """Parse JSON or RocketMQ's dialect of it. Raises `JsonError`."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return run(loads_in_steps(text))


def dumps(value: Any, *, bare_keys: bool = True, sort: bool = True, indent: bool = False) -> bytes:
    """Serialize a value as RocketMQ does.

    Mappings (with `str`, `int` or `ObjectKey` keys), lists, tuples, strings, numbers, booleans, None and
    `PreparedText` are supported. Without `bare_keys` number and object keys are quoted, which makes it plain
    JSON. Raises `TypeError` for other types and `ValueError` beyond `DEPTH_MAX`.
    """
    text = _text(value, bare_keys=bare_keys, sort=sort, indent=indent)
    # Half a surrogate pair cannot be sent; Java sends a question mark too.
    return text.encode("utf-8", "replace")


def loads_in_steps(
    text: bytes | str, *, depth: int = 0, take: Callable[[Path, Any], None] | None = None
) -> Steps[Any]:
    """Parse as `loads`, as a cooperative task, for long text from a peer. Raises `JsonError`.

    With `take`, values that are `depth` containers deep are passed to it when read, each with the keys (of
    arrays: the indexes) that lead to it, and are not kept. No single value may have more than `PARTS_MAX`
    parts then, nor a string with escapes more than `STRING_MAX` characters.
    """
    if isinstance(text, bytes):
        text = _decoded(text)
    return _Reader(text, depth, take).read()


def _decoded(text: bytes) -> str:
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise JsonError("no UTF-8", error.start) from None


class _Reader:
    """Parses a value in one pass, without recursion: open containers are on a stack.

    Each token of the text is read once by Python. Where an array or object begins, a look-ahead of at most
    `_WINDOW` characters may find all of it, small and plain; then orjson parses it. If not, the next
    look-ahead is after its end, so that all look-aheads together are linear in the length of the text.
    """

    __slots__ = (
        "_began",
        "_depth",
        "_holder",
        "_in_key",
        "_key",
        "_parts",
        "_plain_from",
        "_stack",
        "_take",
        "_text",
        "_tokens",
    )

    def __init__(self, text: str, depth: int, take: Callable[[Path, Any], None] | None) -> None:
        self._text = text
        self._depth = depth
        self._take = take
        self._stack: list[tuple[Any, Any]] = []
        self._holder: Any = None  # the innermost open list or dict
        self._key: Any = _NO_KEY  # the key in it whose value comes next
        self._in_key = False  # True within an object that is a key
        self._plain_from = 0  # position of the next look-ahead
        self._parts = 0  # of the value for `take`
        self._tokens = 0  # read since the last step
        self._began = 0  # begin of the value or bracket just read, with blanks before it

    def read(self) -> Steps[Any]:
        position = 0
        text, match_value = self._text, _VALUE.match
        while True:
            self._began = position
            self._tokens += 1
            if self._tokens > _TOKENS_PER_STEP:
                self._tokens = 0
                yield
            match = match_value(text, position)
            if match is None:
                value, position = self._read_rest(position)
            else:
                position = match.end()
                kind = match.lastindex
                if kind == _STRING:
                    value = match[kind]
                elif kind == _INTEGER:
                    value = int(match[kind])
                elif kind == _WORD:
                    value = _WORDS[match[kind]]
                else:
                    value, position = self._open(position - 1)
                    if value is _OPENED:
                        continue
            value, position = self._put(value, position)
            if self._holder is None:
                position = _skip(text, position)
                if position != len(text):
                    raise JsonError("more text after the value", position)
                return value

    def _read_rest(self, position: int) -> tuple[Any, int]:
        """Read a value that is neither an opening bracket nor of the simplest kinds."""
        text = self._text
        position = _skip(text, position)
        if text.startswith('"', position):
            if self._take is not None and not _WHOLE_STRING.match(text, position, position + STRING_MAX):
                raise JsonError(f"no string of up to {STRING_MAX} characters", position)
            return _read_string(text, position)
        return _read_number(text, position)

    def _open(self, position: int) -> tuple[Any, int]:
        """Begin an array or object: return its value if it can be parsed at once, else `_OPENED`."""
        text = self._text
        is_key = type(self._holder) is dict and self._key is _NO_KEY
        if is_key and text[position] == "[":
            raise JsonError(_NO_SUCH_KEY, position)
        if position >= self._plain_from and len(self._stack) >= self._depth:
            plain = _PLAIN.match(text, position, position + _WINDOW)
            end = position + _WINDOW if plain is None else plain.end()
            if plain is not None:
                try:
                    value = orjson.loads(plain[0])
                except orjson.JSONDecodeError:
                    pass
                else:
                    self._count(plain[0].count(",") + 1)
                    return value, end
            self._plain_from = end
        if len(self._stack) >= DEPTH_MAX or self._in_key:
            what = "a key nested too deep" if self._in_key else f"nested more than {DEPTH_MAX} deep"
            raise JsonError(what, position)
        opening, closing = ("{", "}") if text[position] == "{" else ("[", "]")
        fresh: Any = {} if opening == "{" else []
        inside = _skip(text, position + 1)
        if text.startswith(closing, inside):
            return fresh, inside + 1
        self._stack.append((self._holder, self._key))
        self._holder, self._key = fresh, _NO_KEY
        self._in_key = is_key
        return _OPENED, position + 1

    def _put(self, value: Any, position: int) -> tuple[Any, int]:
        """Add a value to its container, and close containers; return the whole value once none is open."""
        text = self._text
        while self._holder is not None:
            match = _MARK.match(text, position)
            mark = "" if match is None else match[1]
            holder = self._holder
            if type(holder) is list:
                self._add(holder, len(holder), value)
                closing = "]"
            elif self._key is _NO_KEY:
                self._key = self._as_key(value)
                if mark != ":":
                    raise JsonError("':' is missing", _skip(text, position))
                return None, position if match is None else match.end()
            else:
                self._add(holder, self._key, value)
                self._key = _NO_KEY
                closing = "}"
            if match is None or (mark != "," and mark != closing):
                raise JsonError(f"neither ',' nor '{closing}'", _skip(text, position))
            position = match.end()
            if mark == ",":
                return None, position
            value = holder
            self._holder, self._key = self._stack.pop()
            self._in_key = False
        return value, position

    def _as_key(self, value: Any) -> str | int | ObjectKey:
        if isinstance(value, str) or type(value) is int:
            return value
        if isinstance(value, dict):
            return ObjectKey(value)
        raise JsonError(_NO_SUCH_KEY, _skip(self._text, self._began))

    def _add(self, holder: Any, key: Any, value: Any) -> None:
        if self._take is not None and len(self._stack) <= self._depth:
            if len(self._stack) == self._depth:
                self._take((*[key for _, key in self._stack[1:]], key), value)
                value = None
                # The consumer reads all of it again.
                self._tokens += self._parts + _TOKENS_PER_VALUE
            self._parts = 0
        self._count(1)
        if type(holder) is list:
            holder.append(value)
        elif value is not None or self._take is None or len(self._stack) != self._depth:
            holder[key] = value

    def _count(self, parts: int) -> None:
        self._parts += parts
        if self._take is not None and self._parts > PARTS_MAX:
            raise JsonError(f"a value of more than {PARTS_MAX} parts", self._plain_from)


def _skip(text: str, position: int) -> int:
    match = _BLANKS.match(text, position)
    return match.end() if match else position


def _read_string(text: str, position: int) -> tuple[str, int]:
    string: str
    try:
        string, end = _STRINGS.raw_decode(text, position)
    except JSONDecodeError as error:
        raise JsonError(error.msg, error.pos) from None
    if not string.isascii():
        string = string.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return string, end


def _read_number(text: str, position: int) -> tuple[int | float, int]:
    match = _NUMBER.match(text, position)
    if match is None:
        found = text[position : position + 1]
        raise JsonError(f"no value may begin with {found!r}" if found else "the text ends early", position)
    whole, fraction, exponent = match.groups()
    if fraction or exponent or len(whole) > _INTEGER_DIGITS_MAX + 1:
        return float(match[0]), match.end()
    return int(whole), match.end()


def _text(value: Any, *, bare_keys: bool, sort: bool, indent: bool = False) -> str:
    parts: list[str] = []
    _Writer(parts, bare_keys, sort, indent).write(value, 1)
    return "".join(parts)


class _Writer:
    """Appends the fragments of a text to a list."""

    __slots__ = ("_bare_keys", "_indent", "_parts", "_sort")

    def __init__(self, parts: list[str], bare_keys: bool, sort: bool, indent: bool) -> None:
        self._parts = parts
        self._bare_keys = bare_keys
        self._sort = sort
        self._indent = indent

    def write(self, value: Any, depth: int) -> None:
        if isinstance(value, str):
            self._parts.append(encode_basestring(value))
        elif value is None or isinstance(value, bool):
            self._parts.append({None: "null", True: "true", False: "false"}[value])
        elif isinstance(value, int):
            self._parts.append(int.__repr__(value))
        elif isinstance(value, float):
            self._parts.append(repr(value) if math.isfinite(value) else "null")
        elif isinstance(value, Mapping):
            self._write_all("{", self._members(value), "}", depth)
        elif isinstance(value, list | tuple):
            self._write_all("[", (("", item) for item in value), "]", depth)
        elif isinstance(value, PreparedText):
            # A line break is never inside a string, where it is escaped.
            self._parts.append(value.text.replace("\n", "\n" + "\t" * (depth - 1)))
        else:
            raise TypeError(f"{type(value).__name__} has no JSON")

    def _write_all(self, opening: str, members: Iterable[tuple[str, Any]], closing: str, depth: int) -> None:
        if depth > DEPTH_MAX:
            raise ValueError(f"nested more than {DEPTH_MAX} deep")
        between = "," + "\n" + "\t" * depth if self._indent else ","
        separator = opening + between[1:]
        empty = True
        for key, value in members:
            self._parts.append(separator + key)
            self.write(value, depth + 1)
            separator = between
            empty = False
        if empty:
            self._parts.append(opening + closing)
        else:
            self._parts.append("\n" + "\t" * (depth - 1) + closing if self._indent else closing)

    def _members(self, mapping: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
        members = [member for member in mapping.items() if member[1] is not None]
        if self._sort:
            members.sort(key=_order)
        for key, value in members:
            yield self._key(key) + ":", value

    def _key(self, key: Any) -> str:
        if isinstance(key, str):
            return encode_basestring(key)
        if isinstance(key, ObjectKey):
            text = key.text
        elif isinstance(key, int) and not isinstance(key, bool):
            text = int.__repr__(key)
        else:
            raise TypeError(f"{type(key).__name__} cannot be a key")
        return text if self._bare_keys else encode_basestring(text)


def _order(member: tuple[Any, Any]) -> tuple[int, Any]:
    key = member[0]
    if isinstance(key, str):
        return 0, key
    if isinstance(key, ObjectKey):
        return 2, key.text
    return 1, key
