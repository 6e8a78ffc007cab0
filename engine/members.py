"""Members of JSON objects that come from a file or a peer, read by the type they must have.

A member that is missing or null has its default. `ConfigError` names the one that is something else, so that
nothing of a wrong type gets into a table, or into its file.
"""

from collections.abc import Collection, Mapping
from typing import Any, TypeVar

from mqgateway.engine.errors import ConfigError

T = TypeVar("T", bool, int, str, dict[str, Any], list[Any])

INT_BITS, LONG_BITS = 32, 64
"""Widths of Java's numbers."""


def others(entry: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
    """The members that are not known here, such as those of a newer version; written back as they are."""
    return {name: value for name, value in entry.items() if name not in known}


def read(entry: Mapping[str, Any], name: str, default: T, bits: int = INT_BITS) -> T:
    """The member of the type that `default` has; whole numbers fit `bits`. Raises `ConfigError`."""
    value = entry.get(name)
    if value is None:
        return default
    if type(value) is not type(default):
        raise ConfigError(f"{name} is no {type(default).__name__}")
    if type(value) is int and not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise ConfigError(f"{name} has more than {bits} bits")
    found: T = value
    return found


def read_name(entry: object, name: str) -> str:
    """The member that an entry is called by, which must be there. Raises `ConfigError`, as for no object."""
    if not isinstance(entry, Mapping):
        raise ConfigError(f"an entry with {name} is no object")
    found = entry.get(name)
    if not isinstance(found, str):
        raise ConfigError(f"{name} is missing" if found is None else f"{name} is no str")
    return found


def read_texts(entry: Mapping[str, Any], name: str) -> dict[str, str]:
    """A member that is an object of texts, a copy. Raises `ConfigError`."""
    texts = dict(read(entry, name, dict[str, Any]()))
    if not all(isinstance(text, str) for pair in texts.items() for text in pair):
        raise ConfigError(f"{name} holds something that is no str")
    return texts
