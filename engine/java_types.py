"""Values of JSON, taken for the type that Java has them in.

The standard's reader is lenient: a number may stand where text is wanted, text where a number is, an enum's
place in its declaration for its name. What it takes for what was measured, and tests pin the table. Each
function gives the value, or None for what the reader takes as null, and raises `ValueError` for what it
refuses.

Standard: `RemotingSerializable.decode` over fastjson2.
"""

import re
from typing import Any

import orjson

from mqgateway.engine import lenient_json

INT_BITS, LONG_BITS = 32, 64
"""Widths of Java's numbers."""

_TRUE, _FALSE = ("1", "Y"), ("0", "N")
_WHOLE = re.compile(r"[+-]?[0-9]+")
_GROUPED = re.compile(r"[+-]?[0-9]{1,3}(?:,[0-9]{3})+")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NUMBER_WORDS = {"true": 1, "false": 0}
_DIGITS_MAX = 400
"""Characters of a whole number that are looked at; what is longer does not fit by far."""


def to_boolean(value: Any) -> bool | None:
    """A boolean: 1 and -1 are true, other numbers false; text is true, false, 1, 0, Y or N."""
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
    """A whole number: fractions are cut off, and what they overflow by; whole numbers must fit `bits`.

    An object is 0 where an int is wanted, not where a long is. Raises `OverflowError` for those that do not.
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
            # More digits are no int, and cost the more to read.
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
    """A number."""
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
    """Text: the JSON of what is none; an array of one text is that text."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list) and len(value) == 1 and (value[0] is None or isinstance(value[0], str)):
        one: str | None = value[0]
        return one
    try:
        return orjson.dumps(value).decode()  # a peer's list may have a hundred thousand items
    except TypeError:  # keys that are no text, numbers of more than 64 bits, half a surrogate pair
        return lenient_json.dumps(value, sort=False).decode()


def to_enum(value: Any, names: tuple[str, ...]) -> str | None:
    """One of the names, which stand in the order of Java's declaration.

    Text that is none of them, in whatever case, is null; so is a place out of range in text. As a number it
    is refused.
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
    """Whether a value stands for an array of one whole number."""
    return isinstance(value, int | float | dict) or _is_plain_number(value)


def is_text_item(value: Any) -> bool:
    """Whether a value stands for an array of one text."""
    return isinstance(value, dict) or (isinstance(value, str) and value != "")


def to_items(value: Any) -> list[Any] | None:
    """The items of an array: an object stands for an array of it."""
    if value is None or isinstance(value, list):
        return value
    if isinstance(value, dict):
        return [value]
    if value in ("", "null"):
        return None
    raise ValueError(f"{value!r} is not an array")


def to_object(value: Any) -> dict[Any, Any] | None:
    """An object."""
    if value is None or isinstance(value, dict):
        return value
    if value in ("", "null"):
        return None
    raise ValueError(f"{value!r} is not an object")


def _is_plain_number(value: Any) -> bool:
    return type(value) in (int, float) or (isinstance(value, str) and _WHOLE.fullmatch(value) is not None)


def _cut(value: float, bits: int) -> int:
    """As Java casts a double: no further than the largest and the smallest."""
    largest = (1 << bits - 1) - 1
    if value >= largest:
        return largest
    return max(int(value), -largest - 1) if value > -largest - 1 else -largest - 1
