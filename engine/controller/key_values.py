"""What a place in common must be able to do that several controllers keep their sets in: keys with revisions,
transactions that compare them, and leases that keys end with. These are the terms of etcd.

Every call is answered once, by calling back with the answer or with why there is none; then it is open
whether it was carried out, or will be yet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from mqgateway.engine.errors import EngineError


class Unanswered(EngineError):
    """The place did not answer, or answered that it cannot now."""


class KeyValue(NamedTuple):
    """A key as it is: `mod_revision` is that of its last change, `lease` 0 for none."""

    key: str
    value: bytes
    mod_revision: int
    lease: int = 0


class Put(NamedTuple):
    """Set a key; with a lease it ends with that."""

    key: str
    value: bytes
    lease: int = 0


class Delete(NamedTuple):
    """Delete a key, if it is there."""

    key: str


class Range(NamedTuple):
    """Read the keys from `key` to before `end`, at most `limit` of them; without an `end` the one key."""

    key: str
    end: str = ""
    limit: int = 0


class Transaction(NamedTuple):
    """If all keys of `compare` have these revisions (0: no such key), `then` is done, else `otherwise`."""

    compare: Mapping[str, int]
    then: Sequence[Put | Delete | Range]
    otherwise: Sequence[Range] = ()


class Outcome(NamedTuple):
    """What a transaction did: whether `then`, at which revision, what each range of it found; and which
    server of the place says so."""

    succeeded: bool
    revision: int
    found: Sequence[Sequence[KeyValue]] = ()
    server: str = ""


class Lease(NamedTuple):
    """A lease, and how many seconds it lasts when it is not kept."""

    number: int
    seconds: int


class Kept(NamedTuple):
    """For how many seconds a lease lasts from now on, 0 when it is over; and which server says so."""

    seconds: int
    server: str = ""


class KeyValues(Protocol):
    """The place, as one controller reaches it. A transaction that changes or reads something is linear; one
    that only compares need not be."""

    def transact(self, wanted: Transaction, told: Callable[[Outcome | Exception], None]) -> None:
        """Carry out a transaction."""

    def grant(self, seconds: int, told: Callable[[Lease | Exception], None]) -> None:
        """A new lease; it may last longer than was wanted."""

    def keep(self, lease: int, told: Callable[[Kept | Exception], None]) -> None:
        """Let a lease begin anew."""

    def revoke(self, lease: int, told: Callable[[Exception | None], None]) -> None:
        """End a lease, and its keys with it."""
