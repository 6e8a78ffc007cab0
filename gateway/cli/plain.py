"""Foreign text made safe for a terminal: it cannot move the cursor, set colours or end a line; pure.

Control characters (those of ASCII, and 0x80 to 0x9f, which terminals also take for escape sequences), line
separators and marks of the writing direction are shown as `\\xNN` and `\\uNNNN`. In JSON they are JSON's own
escapes, from which the text is read back unchanged.
"""

from __future__ import annotations

import base64
import re

_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_NAMES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def escaped(text: str) -> str:
    """Return the text on one line, with control characters escaped."""
    return _CONTROLS.sub(_escape, text) if not text.isprintable() else text


def escaped_json(text: str) -> str:
    """Escape the control characters in one line of JSON that JSON itself does not escape."""
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text) if not text.isprintable() else text


def body_text(body: bytes) -> str:
    """Return a body on one line; bytes that are not UTF-8 are escaped too."""
    return escaped(body.decode("utf-8", "backslashreplace"))


def body_fields(body: bytes) -> dict[str, str]:
    """Return a body's JSON fields: `body`, and `bodyBase64` if the body is not UTF-8."""
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
