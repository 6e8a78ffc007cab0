"""What others wrote, made fit for a terminal: nothing in it moves the cursor, colours or ends a line; pure.

Control characters (those of ASCII, and 0x80 to 0x9f, which terminals take for escape sequences too), what
ends lines and what turns the direction of writing are shown as `\\xNN` and `\\uNNNN`, in JSON as its own
escapes, which read back as what they were.
"""

from __future__ import annotations

import base64
import re

_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_NAMES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def escaped(text: str) -> str:
    """The text on one line."""
    return _CONTROLS.sub(_escape, text) if not text.isprintable() else text


def escaped_json(text: str) -> str:
    """JSON that was written on one line, with what JSON itself leaves as it is."""
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text) if not text.isprintable() else text


def body_text(body: bytes) -> str:
    """A body on one line; bytes that are no UTF-8 are escaped too."""
    return escaped(body.decode("utf-8", "backslashreplace"))


def body_fields(body: bytes) -> dict[str, str]:
    """A body for JSON: `body`, and `bodyBase64` where that is not all of it, because it is not UTF-8."""
    try:
        return {"body": body.decode()}
    except UnicodeDecodeError:
        encoded = base64.b64encode(body).decode()
        return {"body": body.decode("utf-8", "replace"), "bodyBase64": encoded}


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    if character in _NAMES:
        return _NAMES[character]
    number = ord(character)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"
