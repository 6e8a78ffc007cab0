"""Fields and messages as Kafka's schemas declare them.

A range of versions is written as in the schemas: `3`, `3-5`, `3+`; an empty one covers no version.
"""

from __future__ import annotations

from typing import ClassVar

NO_UUID = bytes(16)
"""The uuid that stands for none."""
Records = bytes | memoryview
"""Record batches; decoded, a view of the buffer they were received in."""


class Field:
    """A field of a message: its type (`[]int32` is an array) and the versions it is in."""

    __slots__ = ("ignorable", "kind", "name", "nullable", "of", "tag", "tagged", "versions")

    def __init__(
        self,
        name: str,
        kind: str,
        versions: str,
        *,
        nullable: str = "",
        ignorable: bool = False,
        tag: int = -1,
        tagged: str = "",
        of: type[Message] | None = None,
    ) -> None:
        self.name = name
        self.kind = kind
        self.versions = versions
        self.nullable = nullable
        self.ignorable = ignorable
        self.tag = tag
        self.tagged = tagged
        self.of = of


class Message:
    """A message or a struct in one.

    The parameters of a class are its fields, in the order of `FIELDS`. Arrays are decoded as tuples.
    """

    __slots__ = ()
    FIELDS: ClassVar[tuple[Field, ...]] = ()
    KEY: ClassVar[int] = -1
    """API key of a request or response; type of a record of a coordinator."""
    VERSIONS: ClassVar[str] = ""
    """Versions of a message; empty for a struct."""
    FLEXIBLE: ClassVar[str] = ""
    """Versions with compact lengths and tagged fields."""

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, field.name) == getattr(other, field.name) for field in self.FIELDS)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        values = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in self.FIELDS)
        return f"{type(self).__name__}({values})"


def covers(versions: str, version: int) -> bool:
    """Return True if the range has the version."""
    first, last = bounds(versions)
    return first <= version <= last


def bounds(versions: str) -> tuple[int, int]:
    """Return the first and last version of a range; the last is large if the range has no end."""
    if not versions:
        return 1, 0
    if versions.endswith("+"):
        return int(versions[:-1]), 1 << 15
    first, _, last = versions.partition("-")
    return int(first), int(last or first)
