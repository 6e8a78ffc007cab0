"""The contract of the store that controllers share, for the model and for etcd."""

from __future__ import annotations

from typing import Protocol

import pytest

from mqgateway.engine.controller.key_values import (
    Delete,
    Kept,
    KeyRange,
    Lease,
    Outcome,
    Put,
    Transaction,
    Unanswered,
)


class Place(Protocol):
    """A shared store that answers at once, or raises `Unanswered`."""

    def transact(self, wanted: Transaction) -> Outcome: ...

    def grant(self, seconds: int) -> Lease: ...

    def keep(self, number: int) -> Kept: ...

    def revoke(self, number: int) -> None: ...


def check_place(place: Place, prefix: str) -> None:
    """Check the contract; keys with this prefix belong to the test."""
    key, other, end = f"{prefix}a", f"{prefix}b", f"{prefix}\U0010ffff"
    assert place.transact(Transaction({}, [KeyRange(key)])).found == [[]]
    lease = place.grant(5)
    made = place.transact(
        Transaction({key: 0}, [Put(key, b"1", lease.number), KeyRange(key)], [KeyRange(key)])
    )
    assert made.succeeded
    assert made.found == [[(key, b"1", made.revision, lease.number)]]

    late = place.transact(Transaction({key: 0}, [Put(key, b"2")], [KeyRange(key)]))
    assert not late.succeeded and late.found == made.found
    assert late.revision == made.revision, "who only reads changes no revision"
    again = place.transact(Transaction({key: made.revision}, [Put(key, b"1", lease.number)], [KeyRange(key)]))
    assert again.succeeded and again.revision > made.revision

    both = Transaction({key: again.revision, other: 0}, [Put(other, "ä".encode()), KeyRange(key, end, 1)])
    written = place.transact(both)
    assert written.succeeded and [one.key for one in written.found[0]] == [key]
    rest = place.transact(Transaction({}, [KeyRange(key + "\0", end, 9)])).found
    assert rest == [[(other, "ä".encode(), written.revision, 0)]]
    assert not place.transact(both).succeeded
    assert place.transact(Transaction({}, [Delete(other)])).succeeded
    assert place.transact(Transaction({other: 0}, [KeyRange(other)])) == (
        *(True, written.revision + 1),
        *([[]], made.server),
    )

    assert place.keep(lease.number) == Kept(5, made.server), "the same server, as there is one"
    place.revoke(lease.number)
    assert place.transact(Transaction({key: 0}, [KeyRange(key)])).succeeded
    assert place.keep(lease.number).seconds == 0
    with pytest.raises(Unanswered):
        place.transact(Transaction({}, [Put(key, b"1", lease.number)]))
    assert place.transact(Transaction({key: 0}, [])).succeeded
