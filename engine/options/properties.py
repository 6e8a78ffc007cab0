"""Java properties text: what `broker.conf`, `namesrv.conf` and `tls.properties` are written in.

    # a comment, ! another
    key = value        separated by `=`, `:` or blanks
    long = first \\     a line ending in an odd number of backslashes goes on in the next,
           second      whose leading blanks are dropped
    escaped = \\u00e9\\t

Standard: `java.util.Properties.load`.
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from mqgateway.engine.errors import ConfigError

_BLANKS = " \t\f"
_KEY = re.compile(r"((?:[^\\=: \t\f]|\\.)*)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_NAMED_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


class Setting(NamedTuple):
    """One property as found; `line` counts from 1, 0 where there are no lines (a flag)."""

    key: str
    value: str
    line: int = 0
    source: str = ""


def load_properties(text: str, source: str) -> list[Setting]:
    """Read properties text in its order; a key may occur more than once (the last one counts).

    Raises `ConfigError` for a `\\u` that four hex digits do not follow.
    """
    settings = []
    for line, logical in _logical_lines(text):
        match = _KEY.fullmatch(logical)
        assert match is not None, "the pattern matches every text"
        try:
            key, value = _unescape(match[1]), _unescape(match[2])
        except ValueError as error:
            raise ConfigError(f"{source}:{line}: {error}") from None
        settings.append(Setting(key, value, line, source))
    return settings


def format_properties_text(properties: Mapping[str, str]) -> str:
    """Write properties text, one `key=value` a line, escaped so that reading gives the same back."""
    return "".join(f"{_escape(key, ' =:#!')}={_escape_value(value)}\n" for key, value in properties.items())


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Number of the first line and text of every logical line that is no comment."""
    pending, first = "", 0
    for number, natural in enumerate(re.split(r"\r\n|\r|\n", text), 1):
        line = natural.lstrip(_BLANKS)
        if not first and (not line or line[0] in "#!"):
            continue
        first = first or number
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            pending += line[:-1]
            continue
        yield first, pending + line
        pending, first = "", 0
    if first:
        yield first, pending


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
