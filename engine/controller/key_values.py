"""Interface of a store shared by several controllers: keys with revisions, transactions that compare them,
and leases with which keys expire. The terms are those of etcd.

Every call calls back once, with the answer or with an error; after an error it is unknown whether the request
was carried out, or will be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from mqgateway.engine.errors import EngineError


class Unanswered(EngineError):
    """The store did not answer, or reported that it is unavailable."""


class KeyValue(NamedTuple):
    """A key with its value: `mod_revision` is that of its last change, `lease` 0 for none."""

    key: str
    value: bytes
    mod_revision: int
    lease: int = 0


class Put(NamedTuple):
    """Set a key; with a lease it expires with that."""

    key: str
    value: bytes
    lease: int = 0


class Delete(NamedTuple):
    """Delete a key, if it exists."""

    key: str


class KeyRange(NamedTuple):
    """Read the keys from `key` to before `end`, at most `limit` of them; without an `end` the one key."""

    key: str
    end: str = ""
    limit: int = 0


class Transaction(NamedTuple):
    """Run `then` if all keys of `compare` have these revisions (0: no such key), else `otherwise`."""

    compare: Mapping[str, int]
    then: Sequence[Put | Delete | KeyRange]
    otherwise: Sequence[KeyRange] = ()


class Outcome(NamedTuple):
    """Result of a transaction:

    True for `then`, the revision, the keys found by each range, and the store's server
    that answered.
    """

    succeeded: bool
    revision: int
    found: Sequence[Sequence[KeyValue]] = ()
    server: str = ""


class Lease(NamedTuple):
    """A lease, and its duration in seconds."""

    number: int
    seconds: int


class Kept(NamedTuple):
    """Seconds that a lease lasts from now on, 0 if it has expired; and the server that answered."""

    seconds: int
    server: str = ""


class KeyValues(Protocol):
    """A client of the store.

    A transaction that changes or reads something is linearizable; one that only compares
    need not be.
    """

    def transact(self, wanted: Transaction, on_answer: Callable[[Outcome | Exception], None]) -> None:
        """Run a transaction."""

    def grant(self, seconds: int, on_answer: Callable[[Lease | Exception], None]) -> None:
        """Create a lease; it may last longer than requested."""

    def keep(self, lease: int, on_answer: Callable[[Kept | Exception], None]) -> None:
        """Renew a lease."""

    def revoke(self, lease: int, on_answer: Callable[[Exception | None], None]) -> None:
        """End a lease, and delete its keys."""
