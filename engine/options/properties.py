"""Java properties text: the format of `broker.conf`, `namesrv.conf`, `tls.properties` and of requests
that change settings.

    # a comment, ! another
    key = value        separated by `=`, `:` or blanks
    long = first \\     a line ending in an odd number of backslashes continues in the next,
           second      whose leading blanks are dropped
    escaped = \\u00e9\\t

Standard: `java.util.Properties.load`.
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from mqgateway.engine.errors import ConfigError

_BLANKS = " \t\f"
_LINE_END = re.compile(r"\r\n|\r|\n")
_KEY = re.compile(r"((?:[^\\=: \t\f]|\\.)*)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_NAMED_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
"""Byte order marks: of UTF-8, which is skipped, and of UTF-16, which is refused."""


class Setting(NamedTuple):
    """One property as found; `line` counts from 1, 0 where there are no lines (a flag)."""

    key: str
    value: str
    line: int = 0
    source: str = ""


class _Item(NamedTuple):
    """A property in a text, with its first line and the line after its last one, counted from 0."""

    key: str
    value: str
    first: int
    end: int


def load_properties(text: bytes | str, source: str) -> list[Setting]:
    """Read properties text in its order; a key may occur more than once (the last one counts).

    Bytes are read as UTF-8. A key or value that is not UTF-8 is read as ISO-8859-1, as Java reads all of
    them; what comments hold does not matter. Raises `ConfigError` for a `\\u` that four hex digits do not
    follow, and for UTF-16.
    """
    return [Setting(item.key, item.value, item.first + 1, source) for item in _items(text, source)]


def change_properties(text: bytes, changes: Mapping[str, str]) -> bytes:
    """Return properties text in which these properties have these values; all else keeps its bytes.

    A property that is missing is added below the rest. Raises `ConfigError` as `load_properties`.
    """
    mark = text[: len(_MARKS[0])] if text.startswith(_MARKS[0]) else b""
    parts = re.split(rb"(\r\n|\r|\n)", text[len(mark) :])
    lines, ends = parts[::2], parts[1::2]
    end_of_line = ends[0] if ends else b"\n"
    missing = dict(changes)
    for item in _items(text, ""):
        if item.key not in changes:
            continue
        # Lines keep their numbers until all are found: those that a value was continued in become empty.
        lines[item.first] = _line(item.key, changes[item.key])
        lines[item.first + 1 : item.end] = [b""] * (item.end - item.first - 1)
        missing.pop(item.key, None)
    whole = b"".join(line + end for line, end in zip(lines, [*ends, b""], strict=True))
    if whole and not whole.endswith((b"\r", b"\n")):
        whole += end_of_line
    if _is_continued(whole.rstrip(b"\r\n").decode("latin-1")):
        whole += 2 * end_of_line  # else a property after a continued last line would be part of its value
    return mark + whole + b"".join(_line(*pair) + end_of_line for pair in missing.items())


def format_properties_text(properties: Mapping[str, str]) -> str:
    """Write properties text, one `key=value` a line, escaped so that reading gives the same back."""
    return "".join(f"{_escape(key, ' =:#!')}={_escape_value(value)}\n" for key, value in properties.items())


def decode_text(data: bytes, source: str) -> str:
    """Decode a hand-written text file: UTF-8, with or without a byte order mark.

    A byte that is not UTF-8 becomes a surrogate. Raises `ConfigError` for UTF-16.
    """
    if data.startswith(_MARKS[1:]):
        raise ConfigError(f"{source}: the file is UTF-16; save it as UTF-8")
    return data.removeprefix(_MARKS[0]).decode("utf-8", "surrogateescape")


def _items(text: bytes | str, source: str) -> Iterator[_Item]:
    if isinstance(text, bytes):
        text = decode_text(text, source)
    for first, end, logical in _logical_lines(text):
        match = _KEY.fullmatch(logical)
        assert match is not None, "the pattern matches every text"
        try:
            key, value = (_unescape(_as_latin(part)) for part in match.groups())
        except ValueError as error:
            raise ConfigError(f"{source}:{first + 1}: {error}") from None
        yield _Item(key, value, first, end)


def _is_continued(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _as_latin(text: str) -> str:
    """Return text with bytes that were no UTF-8 as ISO-8859-1 has it, other text as it is."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogateescape").decode("latin-1")
    return text


def _line(key: str, value: str) -> bytes:
    return format_properties_text({key: value}).removesuffix("\n").encode()


def _logical_lines(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield each logical line that is no comment: its first line, the line after its last one, its text."""
    pending, first, number = "", -1, -1
    for number, natural in enumerate(_LINE_END.split(text)):
        line = natural.lstrip(_BLANKS)
        if not pending and (not line or line[0] in "#!"):
            first = -1
            continue
        if first < 0:
            first = number
        if _is_continued(line):
            pending += line[:-1]
            continue
        yield first, number + 1, pending + line
        pending, first = "", -1
    if pending:
        yield first, number + 1, pending


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text

    def plain(match: re.Match[str]) -> str:
        code = match[1]
        if code == "u":
            raise ValueError("\\u is not followed by four hex digits")
        if len(code) > 1:
            return chr(int(code[1:], 16))
        return _NAMED_ESCAPES.get(code, code)

    # Characters beyond the 16-bit plane are written as two escapes.
    return _ESCAPE.sub(plain, text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _escape(text: str, marked: str) -> str:
    escaped = []
    for character in text:
        if character == "\\" or character in marked:
            escaped.append("\\" + character)
        elif character in "\t\n\r\f":
            escaped.append({"\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f"}[character])
        elif not " " <= character <= "~":
            raw = character.encode("utf-16-be", "surrogatepass")
            escaped.extend(f"\\u{raw[i]:02x}{raw[i + 1]:02x}" for i in range(0, len(raw), 2))
        else:
            escaped.append(character)
    return "".join(escaped)


def _escape_value(value: str) -> str:
    escaped = _escape(value, "")
    return "\\" + escaped if escaped.startswith(" ") else escaped
