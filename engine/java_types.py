"""JSON values converted to the types of Java.

RocketMQ's reader is lenient: it accepts a number for text, text for a number, an enum's ordinal for its name.
The conversions were measured, and tests pin the table. Each function returns the value, or None for what the
reader takes as null, and raises `ValueError` for what it refuses.

RocketMQ: `RemotingSerializable.decode` over fastjson2.
"""

import re
from typing import Any

import orjson

from mqgateway.engine import lenient_json

INT_BITS, LONG_BITS = 32, 64
"""Widths of Java's numbers, in bits."""

_TRUE, _FALSE = ("1", "Y"), ("0", "N")
_WHOLE = re.compile(r"[+-]?[0-9]+")
_GROUPED = re.compile(r"[+-]?[0-9]{1,3}(?:,[0-9]{3})+")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NUMBER_WORDS = {"true": 1, "false": 0}
_DIGITS_MAX = 400
"""Maximum of parsed characters of a whole number; longer ones never fit."""


def to_boolean(value: Any) -> bool | None:
    """Convert to a boolean: 1 and -1 are true, other numbers false; text is true, false, 1, 0, Y or N."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return type(value) is int and abs(value) == 1
    if isinstance(value, str):
        word = value.lower()
        if word in ("", "null"):
            return None
        if word == "true" or value in _TRUE:
            return True
        if word == "false" or value in _FALSE:
            return False
    elif isinstance(value, list) and len(value) == 1:
        return to_boolean(value[0])
    raise ValueError(f"{value!r} is not a boolean")


def to_integer(value: Any, bits: int = LONG_BITS) -> int | None:
    """Convert to a whole number that fits `bits`; fractions are truncated and saturate on overflow.

    An object is 0 for an int, and refused for a long. Raises `OverflowError` for whole numbers that do not
    fit.
    """
    if isinstance(value, list) and len(value) == 1 and _is_plain_number(value[0]):
        value = value[0]
    if value is None or value in ("", "null"):
        return None
    if isinstance(value, float):
        return _cut(value, bits)
    if isinstance(value, dict) and bits == INT_BITS:
        return 0
    if isinstance(value, str):
        if _WHOLE.fullmatch(value) or _GROUPED.fullmatch(value):
            # More digits never fit, and cost more to parse.
            value = int(value.replace(",", "")[:_DIGITS_MAX])
        elif value in _NUMBER_WORDS:
            return _NUMBER_WORDS[value]
        elif _DECIMAL.fullmatch(value):
            return _cut(float(value), bits)
    if not isinstance(value, int):
        raise ValueError(f"{value!r} is not a whole number")
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise OverflowError(f"{value} has more than {bits} bits")
    return int(value)


def to_double(value: Any) -> float | None:
    """Convert to a number."""
    if isinstance(value, list) and len(value) == 1 and type(value[0]) in (int, float, str):
        value = value[0]
    if value is None or value in ("", "null"):
        return None
    if isinstance(value, str):
        text = value.strip()
        if text in _NUMBER_WORDS:
            return float(_NUMBER_WORDS[text])
        if _DECIMAL.fullmatch(text):
            return float(text)
    elif isinstance(value, int | float):
        return float(value)
    elif value in ([], {}):
        return 0.0
    raise ValueError(f"{value!r} is not a number")


def to_text(value: Any) -> str | None:
    """Convert to text: other values become their JSON; an array of one text is that text."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list) and len(value) == 1 and (value[0] is None or isinstance(value[0], str)):
        one: str | None = value[0]
        return one
    try:
        return orjson.dumps(value).decode()  # a peer's list may have a hundred thousand items
    except TypeError:  # keys that are not text, numbers of more than 64 bits, half a surrogate pair
        return lenient_json.dumps(value, sort=False).decode()


def to_enum(value: Any, names: tuple[str, ...]) -> str | None:
    """Convert to one of the names, which are in the order of Java's declaration.

    Unknown text, in any case, is null; so is an ordinal out of range in text. As a number it is refused.
    """
    if isinstance(value, str):
        if value in names:
            return value
        if _WHOLE.fullmatch(value):
            place = to_integer(value, INT_BITS)
            return names[place] if place is not None and 0 <= place < len(names) else None
        return next((name for name in names if name.lower() == value.lower()), None)
    if value is None:
        return None
    if type(value) not in (int, float):
        raise ValueError(f"{value!r} is neither a name nor a place among {len(names)}")
    place = to_integer(value, INT_BITS) or 0
    if not 0 <= place < len(names):
        raise ValueError(f"No enum ordinal {place}")
    return names[place]


def is_integer_item(value: Any) -> bool:
    """Return True if a value counts as an array of one whole number."""
    return isinstance(value, int | float | dict) or _is_plain_number(value)


def is_text_item(value: Any) -> bool:
    """Return True if a value counts as an array of one text."""
    return isinstance(value, dict) or (isinstance(value, str) and value != "")


def to_items(value: Any) -> list[Any] | None:
    """Convert to the items of an array: an object counts as an array of itself."""
    if value is None or isinstance(value, list):
        return value
    if isinstance(value, dict):
        return [value]
    if value in ("", "null"):
        return None
    raise ValueError(f"{value!r} is not an array")


def to_object(value: Any) -> dict[Any, Any] | None:
    """Convert to an object."""
    if value is None or isinstance(value, dict):
        return value
    if value in ("", "null"):
        return None
    raise ValueError(f"{value!r} is not an object")


def _is_plain_number(value: Any) -> bool:
    return type(value) in (int, float) or (isinstance(value, str) and _WHOLE.fullmatch(value) is not None)


def _cut(value: float, bits: int) -> int:
    """Cast a double as Java does: it saturates."""
    largest = (1 << bits - 1) - 1
    if value >= largest:
        return largest
    return max(int(value), -largest - 1) if value > -largest - 1 else -largest - 1
