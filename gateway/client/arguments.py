"""Checks of arguments: an error names the argument, its value, and what would be right.

The core checks what it is given at the call, so that no wrong value goes to a broker, or fails later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, NoReturn, TypeVar

from mqgateway.gateway.client.errors import BadArgument

T = TypeVar("T")

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1
MILLIS_MIN, MILLIS_MAX = 10**11, 253_402_300_799_999
"""From March 1973 to the end of 9999. A time in seconds is below, one in microseconds above."""
_MILLISECOND = timedelta(milliseconds=1)


def refuse(name: str, value: object, right: str) -> NoReturn:
    """Raise `BadArgument` for an argument; `right` says what to pass."""
    shown = repr(value)
    raise BadArgument(f"{name}={shown if len(shown) <= 100 else shown[:97] + '...'}: {right}")


def mapping(name: str, value: Any, right: str) -> Mapping[Any, Any]:
    """Return the value if it is a mapping. Raises `BadArgument`."""
    if not isinstance(value, Mapping):
        refuse(name, value, f"pass {right}, not {type(value).__name__}")
    return value


def of_type(name: str, value: Any, kind: type[T], right: str) -> T:
    """Return the value if it is of a type. Raises `BadArgument`."""
    if not isinstance(value, kind):
        refuse(name, value, f"pass {right}, not {type(value).__name__}")
    return value


def with_methods(name: str, value: Any, *methods: str) -> None:
    """Raises `BadArgument` unless the value is an object with these methods."""
    right = f"pass an object with the methods {' and '.join(methods)}"
    for method in methods:
        if not callable(getattr(value, method, None)):
            refuse(name, value, f"{right}, not without {method}")


def with_name_servers(namesrv: str | None, settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the settings with the name servers that were given beside them. Raises `BadArgument`."""
    if namesrv is None:
        return settings
    if not isinstance(namesrv, str):
        refuse("namesrv", namesrv, 'pass text, as "127.0.0.1:9876"; several joined by ";"')
    return {"namesrv_addr": namesrv, **settings}


def text(name: str, value: Any) -> str:
    """Return the value if it is text. Raises `BadArgument`."""
    return of_type(name, value, str, "text")


def whole(name: str, value: Any, low: int = 0, high: int = LONG_MAX) -> int:
    """Return the value if it is a whole number of a range. Raises `BadArgument`."""
    if not isinstance(value, int) or isinstance(value, bool):
        refuse(name, value, f"pass a whole number, not {type(value).__name__}")
    if not low <= value <= high:
        refuse(name, value, f"must be from {low} to {high}")
    return value


def seconds(name: str, value: Any) -> float:
    """Return the seconds of a number of seconds or a timedelta. Raises `BadArgument`."""
    if isinstance(value, timedelta):
        value = value.total_seconds()
    elif not isinstance(value, int | float) or isinstance(value, bool):
        refuse(name, value, f"pass seconds or a timedelta, not {type(value).__name__}")
    if not 0 <= value <= INT_MAX:
        refuse(name, value, f"must be from 0 to {INT_MAX} seconds")
    return float(value)


def duration_millis(name: str, value: Any) -> int:
    """Return the milliseconds of a whole number of them or a timedelta. Raises `BadArgument`."""
    if isinstance(value, timedelta):
        value = -(-value // _MILLISECOND)
    elif not isinstance(value, int) or isinstance(value, bool):
        refuse(name, value, f"pass whole milliseconds or a timedelta, not {type(value).__name__}")
    return whole(name, value)


def time_millis(name: str, value: Any) -> int:
    """Return the milliseconds since the epoch of a number of them or an aware datetime.

    Raises `BadArgument`, also for what is a time in another unit.
    """
    if isinstance(value, datetime):
        if value.utcoffset() is None:
            refuse(name, value, "has no time zone: pass datetime.now(timezone.utc), or value.astimezone()")
        return round(value.timestamp() * 1000)
    if not isinstance(value, int) or isinstance(value, bool):
        kind = type(value).__name__
        refuse(name, value, f"pass an aware datetime, or whole milliseconds since the epoch, not {kind}")
    if not MILLIS_MIN <= value <= MILLIS_MAX:
        unit = "seconds" if 0 < value < MILLIS_MIN else "a time"
        refuse(name, value, f"is not milliseconds since the epoch (is it {unit}?): pass an aware datetime")
    return value


def search_millis(name: str, value: Any) -> int:
    """As `time_millis`, for a search, to which any number of milliseconds means something."""
    return time_millis(name, value) if isinstance(value, datetime) else whole(name, value, -2)


def topics(value: str | Iterable[str]) -> list[str]:
    """Return the topics of one name or several. Raises `BadArgument`."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, bytes) or not isinstance(value, Iterable):
        refuse("topic", value, f"pass a topic's name, or a list of names, not {type(value).__name__}")
    several = list(value)
    if not several:
        refuse("topic", value, "pass at least one name")
    for one in several:
        text("topic", one)
    return several


def each_of_type(name: str, value: Any, kind: type[T], right: str) -> list[T]:
    """Return the members of an iterable if all are of a type. Raises `BadArgument`."""
    if isinstance(value, str | bytes | kind) or not isinstance(value, Iterable):
        refuse(name, value, f"pass a list of {right}s, not {type(value).__name__}")
    several = list(value)
    for one in several:
        of_type(name, one, kind, f"a list of {right}s")
    return several
