"""Members of JSON objects from a file or a peer, read with a required type.

Conversions are as lenient as RocketMQ's, `engine.java_types`. A missing member has its default. A null one
has it too, or is zero for a number or a boolean. `ConfigError` names a member of another type, so that no
value of a wrong type gets into a table, or into its file.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar, cast

from mqgateway.engine import java_types
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.java_types import INT_BITS, LONG_BITS

__all__ = ["INT_BITS", "LONG_BITS", "others", "read", "read_enum", "read_name", "read_texts"]

T = TypeVar("T", bool, int, str, dict[str, Any], list[Any])

_READERS: dict[type, Callable[[Any], Any]] = {
    bool: java_types.to_boolean,
    str: java_types.to_text,
    dict: java_types.to_object,
    list: java_types.to_items,
}


def others(entry: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
    """Return the unknown members, such as those of a newer version; they are written back unchanged."""
    return {name: value for name, value in entry.items() if name not in known}


def read(entry: Mapping[str, Any], name: str, default: T, bits: int = INT_BITS) -> T:
    """Return the member with the type of `default`; whole numbers fit `bits`. Raises `ConfigError`."""
    found: Any = entry.get(name)
    kind = type(default)
    if type(found) is not kind:
        if name not in entry:
            return default
        try:
            found = java_types.to_integer(found, bits) if kind is int else _READERS[kind](found)
        except OverflowError:
            raise ConfigError(f"{name} has more than {bits} bits") from None
        except ValueError:
            raise ConfigError(f"{name} is not of type {kind.__name__}") from None
        if found is None:
            return kind() if kind in (bool, int) else default
    if kind is int and not -(1 << bits - 1) <= found < 1 << bits - 1:
        raise ConfigError(f"{name} has more than {bits} bits")
    return cast(T, found)


def read_enum(entry: Mapping[str, Any], name: str, names: tuple[str, ...]) -> str | None:
    """Return the member that is one of the names, in the order of Java's; None for another text.

    Raises `ConfigError`, also for an invalid ordinal.
    """
    try:
        return java_types.to_enum(entry.get(name), names)
    except (OverflowError, ValueError):
        raise ConfigError(f"{name} is not one of {', '.join(names)}") from None


def read_name(entry: object, name: str) -> str:
    """Return the required member that names an entry.

    Raises `ConfigError`, also if the entry is not an object.
    """
    if not isinstance(entry, Mapping):
        raise ConfigError(f"an entry with {name} is not an object")
    found = java_types.to_text(entry.get(name))
    if found is None:
        raise ConfigError(f"{name} is missing")
    return found


def read_texts(entry: Mapping[str, Any], name: str) -> dict[str, str]:
    """Return a copy of a member that is an object of texts, without nulls. Raises `ConfigError`."""
    given = read(entry, name, dict[str, Any]())
    texts = {str(key): java_types.to_text(value) for key, value in given.items()}
    return {key: text for key, text in texts.items() if text is not None}
