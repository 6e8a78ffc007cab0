"""The standard's JSON, which is a little more than JSON: keys may be bare numbers or objects.

    {0:"127.0.0.1:10911"}                        a bare integer key, read as `int`
    {{"queueId":0,"topic":"t"}:{"offset":5}}     an object as key, read as `ObjectKey`

Text that happens to be JSON is read by orjson. The writer gives what the standard gives: keys in
alphabetical order, null members left out, bare integer keys; with `indent` one member a line,
indented by tabs, as the tables on disk are.

Standard: `RemotingSerializable` over fastjson.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from json import JSONDecodeError, JSONDecoder
from json.encoder import encode_basestring
from typing import Any

import orjson

DEPTH_MAX = 100
"""Levels of nesting that are read or written."""

# Control characters in strings are let through, as the standard does.
_STRINGS = JSONDecoder(strict=False)
_BLANKS = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"(-?(?:0|[1-9][0-9]*))(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WORDS = {"t": ("true", True), "f": ("false", False), "n": ("null", None)}
_INTEGER_DIGITS_MAX = 19


class JsonError(ValueError):
    """Text that is not even lenient JSON; `position` counts characters from 0."""

    def __init__(self, what: str, position: int) -> None:
        super().__init__(f"{what} at character {position}")
        self.what = what
        self.position = position


class ObjectKey(Mapping[str, Any]):
    """An object that is a key: a mapping that can be hashed. Equal when their JSON is."""

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


class Prepared:
    """A value that is text already, made by `dumps` with the same settings; `dumps` writes it as it is."""

    __slots__ = ("text",)

    def __init__(self, text: bytes) -> None:
        self.text = text.decode("utf-8")


def loads(text: bytes | str) -> Any:
    """Read JSON or the standard's kind of it. Raises `JsonError`."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return _read_leniently(text)


def dumps(value: Any, *, bare_keys: bool = True, sort: bool = True, indent: bool = False) -> bytes:
    """Write a value as the standard does.

    Mappings (with `str`, `int` or `ObjectKey` keys), lists, tuples, strings, numbers, booleans, None
    and `Prepared` text can be written. Without `bare_keys` number and object keys are put in quotes,
    which makes it plain JSON. Raises `TypeError` for other types and `ValueError` beyond `DEPTH_MAX`.
    """
    text = _text(value, bare_keys=bare_keys, sort=sort, indent=indent)
    # Half a surrogate pair cannot be sent; Java sends a question mark too.
    return text.encode("utf-8", "replace")


def _read_leniently(text: bytes | str) -> Any:
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError as error:
            raise JsonError("no UTF-8", error.start) from None
    reader = _Reader(text)
    value, position = reader.value(0, 0)
    position = reader.skip(position)
    if position != len(text):
        raise JsonError("more text after the value", position)
    return value


class _Reader:
    """Reads values by recursive descent; every method takes a position and gives the next."""

    def __init__(self, text: str) -> None:
        self._text = text

    def skip(self, position: int) -> int:
        match = _BLANKS.match(self._text, position)
        return match.end() if match else position

    def value(self, position: int, depth: int) -> tuple[Any, int]:
        position = self.skip(position)
        first = self._text[position : position + 1]
        if first == '"':
            return self._string(position)
        if first == "{":
            return self._object(position, depth + 1)
        if first == "[":
            return self._array(position, depth + 1)
        if first in _WORDS:
            word, value = _WORDS[first]
            if self._text.startswith(word, position):
                return value, position + len(word)
        return self._number(position)

    def _string(self, position: int) -> tuple[str, int]:
        string: str
        try:
            string, end = _STRINGS.raw_decode(self._text, position)
        except JSONDecodeError as error:
            raise JsonError(error.msg, error.pos) from None
        if not string.isascii():
            string = string.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return string, end

    def _number(self, position: int) -> tuple[int | float, int]:
        match = _NUMBER.match(self._text, position)
        if match is None:
            found = self._text[position : position + 1]
            raise JsonError(
                f"no value may begin with {found!r}" if found else "the text ends early", position
            )
        whole, fraction, exponent = match.groups()
        if fraction or exponent or len(whole) > _INTEGER_DIGITS_MAX + 1:
            return float(match[0]), match.end()
        return int(whole), match.end()

    def _array(self, position: int, depth: int) -> tuple[list[Any], int]:
        self._check_depth(position, depth)
        items: list[Any] = []
        position = self.skip(position + 1)
        if self._text.startswith("]", position):
            return items, position + 1
        while True:
            item, position = self.value(position, depth)
            items.append(item)
            more, position = self._more(position, "]")
            if not more:
                return items, position

    def _object(self, position: int, depth: int) -> tuple[dict[Any, Any], int]:
        self._check_depth(position, depth)
        members: dict[Any, Any] = {}
        position = self.skip(position + 1)
        if self._text.startswith("}", position):
            return members, position + 1
        while True:
            key, position = self._key(position, depth)
            position = self._expect(":", position)
            members[key], position = self.value(position, depth)
            more, position = self._more(position, "}")
            if not more:
                return members, position

    def _key(self, position: int, depth: int) -> tuple[str | int | ObjectKey, int]:
        position = self.skip(position)
        key, end = self.value(position, depth)
        if isinstance(key, str) or type(key) is int:
            return key, end
        if isinstance(key, dict):
            return ObjectKey(key), end
        raise JsonError("no string, whole number or object as key", position)

    def _more(self, position: int, closing: str) -> tuple[bool, int]:
        position = self.skip(position)
        found = self._text[position : position + 1]
        if found == ",":
            return True, position + 1
        if found == closing:
            return False, position + 1
        raise JsonError(f"neither ',' nor '{closing}'", position)

    def _expect(self, character: str, position: int) -> int:
        position = self.skip(position)
        if not self._text.startswith(character, position):
            raise JsonError(f"'{character}' is missing", position)
        return position + 1

    @staticmethod
    def _check_depth(position: int, depth: int) -> None:
        if depth > DEPTH_MAX:
            raise JsonError(f"nested more than {DEPTH_MAX} deep", position)


def _text(value: Any, *, bare_keys: bool, sort: bool, indent: bool = False) -> str:
    parts: list[str] = []
    _Writer(parts, bare_keys, sort, indent).write(value, 1)
    return "".join(parts)


class _Writer:
    """Puts the pieces of a text into a list."""

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
        elif isinstance(value, Prepared):
            # A line's end is none of a string's content, where it would be escaped.
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
