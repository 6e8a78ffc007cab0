"""Interface of an object store, in six verbs, and the rules for names of objects.

The verbs block until the store has answered, so they are called on a worker's thread. Only `create` is
conditional: of several writers of one name exactly one succeeds. Nothing needs compare-and-swap, which fewer
stores have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Protocol

from mqgateway.engine.errors import EngineError

NAME_MAX: Final = 1024
"""Maximum length of a name, in characters: the limit of S3, which counts bytes."""
PART_MAX: Final = 255
"""Maximum length of a part of a name, in characters: the limit of most file systems."""
_PART: Final = re.compile(r"[A-Za-z0-9_=%+-][A-Za-z0-9._=%+-]*")


class ObjectStoreError(EngineError):
    """An object store did not do what a verb says."""


class ObjectExists(ObjectStoreError):
    """An object of this name exists, so it was not created.

    It may be the caller's own: the answer to the first attempt was lost, and the store's client repeated it.
    """

    def __init__(self, name: str) -> None:
        super().__init__(f"the object {name} exists already")


class ObjectMissing(ObjectStoreError):
    """The store has no object of this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the object {name} does not exist")


class ObjectStoreUnavailable(ObjectStoreError):
    """The store cannot be used now, since it is not reached, or has no space, or for want of credentials or a
    bucket. The text has the reason.

    After a failed `create`, `put` or `delete` it is unknown if the store has carried it out.
    """


class ObjectStore(Protocol):
    """Named objects that are written whole and never changed in part.

    TierNames are parts separated by slashes, see `check_name`. Every verb raises `ObjectStoreUnavailable`.
    """

    def create(self, name: str, data: bytes | memoryview) -> None:
        """Write an object that does not exist yet. It is durable once this returns, and no reader ever sees a
        part of it. Raises `ObjectExists`."""

    def put(self, name: str, data: bytes) -> None:
        """Write an object or replace it, as durably and as indivisibly as `create`."""

    def get_range(self, name: str, start: int, length: int) -> bytes:
        """Return exactly `length` bytes of an object from byte `start` on. Raises `ObjectMissing`, and
        `CorruptFile` if the object ends before that."""

    def list_from(self, prefix: str, after: str = "") -> Iterator[tuple[str, int]]:
        """Yield name and size in bytes of the objects whose names begin with `prefix` and come after `after`,
        in the order of their names' bytes. Objects that are written or deleted meanwhile may be left out."""

    def delete(self, name: str) -> None:
        """Delete an object; a missing one is no error."""

    def head(self, name: str) -> int | None:
        """Return the size of an object in bytes, or None if it does not exist."""


def check_name(name: str) -> str:
    """Return a name if it is one of an object. Raises `ValueError`.

    Its parts have letters, digits and `._=%+-` of ASCII, and begin with no dot: so a name leads out of no
    folder, and is the same on every store and file system.
    """
    parts = name.split("/")
    if len(name) > NAME_MAX or not all(len(part) <= PART_MAX and _PART.fullmatch(part) for part in parts):
        raise ValueError(
            f"{name!r} is not a name of an object: parts of letters, digits and ._=%+-, separated by "
            f"slashes, each of at most {PART_MAX} characters and without a dot at its beginning"
        )
    return name
