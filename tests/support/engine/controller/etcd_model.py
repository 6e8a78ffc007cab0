"""etcd in memory: keys with revisions, transactions, leases that expire; and a controller's line to it.

`EtcdModel` serves requests at once and in order. A `Line` to it answers at once too, unless it is broken;
other behaviour of a network is simulated in the storms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mqgateway.engine.controller.key_values import (
    Delete,
    Kept,
    KeyRange,
    KeyValue,
    Lease,
    Outcome,
    Put,
    Transaction,
    Unanswered,
)

ELECTION = 1000
"""Duration of an election in milliseconds, in which no request is answered."""


@dataclass
class _Lease:
    seconds: int
    until: int


class EtcdModel:
    """All keys; `now` is true time in ms, moved by `advance`."""

    def __init__(self) -> None:
        self.now = 0
        self.revision = 1
        self.keys: dict[str, KeyValue] = {}
        self.history: list[tuple[int, str, bytes | None]] = []
        self.server = "s0"
        self.cut_off: set[str] = set()
        self._leases: dict[int, _Lease] = {}
        self._last_lease = 100
        self._electing_until = 0

    def advance(self, to: int) -> None:
        """Advance the time; leases expire with their keys, but not during an election."""
        self.now = max(self.now, to)
        if self._electing_until:
            if self.now < self._electing_until:
                return
            # A new leader restarts every lease.
            for lease in self._leases.values():
                lease.until = self._electing_until + lease.seconds * 1000
            self._electing_until = 0
        for number, lease in list(self._leases.items()):
            if lease.until <= self.now:
                self._end(number)

    def lose_leader(self) -> None:
        """Cut off the leading server, which does not notice it; the others elect another one."""
        self.cut_off = {self.server}
        self.server = "s1" if self.server == "s0" else "s0"
        self._electing_until = self.now + ELECTION

    def _check_answers(self) -> None:
        if self._electing_until:
            raise Unanswered("there is no leader")

    def transact(self, wanted: Transaction) -> Outcome:
        self._check_answers()
        good = all(self._revision_of(key) == value for key, value in wanted.compare.items())
        changes = [one for one in wanted.then if good and not isinstance(one, KeyRange)]
        if any(isinstance(one, Put) and one.lease and one.lease not in self._leases for one in changes):
            raise Unanswered("requested lease not found")
        if changes:
            self.revision += 1
        for one in changes:
            if isinstance(one, Put):
                self._set(one.key, KeyValue(one.key, one.value, self.revision, one.lease))
            elif one.key in self.keys:
                self._set(one.key, None)
        done = wanted.then if good else wanted.otherwise
        found = [self._range(one) for one in done if isinstance(one, KeyRange)]
        return Outcome(good, self.revision, found, self.server)

    def _revision_of(self, key: str) -> int:
        found = self.keys.get(key)
        return 0 if found is None else found.mod_revision

    def _range(self, one: KeyRange) -> list[KeyValue]:
        if not one.end:
            return [self.keys[one.key]] if one.key in self.keys else []
        within = sorted(key for key in self.keys if one.key <= key < one.end)
        return [self.keys[key] for key in within[: one.limit or None]]

    def _set(self, key: str, after: KeyValue | None) -> None:
        self.keys.pop(key, None)
        if after is not None:
            self.keys[key] = after
        self.history.append((self.now, key, None if after is None else after.value))

    def grant(self, seconds: int) -> Lease:
        self._check_answers()
        self._last_lease += 1
        self._leases[self._last_lease] = _Lease(seconds, self.now + seconds * 1000)
        return Lease(self._last_lease, seconds)

    def keep(self, number: int) -> Kept:
        self._check_answers()
        lease = self._leases.get(number)
        if lease is None:
            return Kept(0, self.server)
        lease.until = self.now + lease.seconds * 1000
        return Kept(lease.seconds, self.server)

    def revoke(self, number: int) -> None:
        self._check_answers()
        if number in self._leases:
            self._end(number)

    def end_too_early(self) -> None:
        """End the newest lease, as a former leader that hung did before etcd 3.4.29 and 3.5.11."""
        if self._leases:
            self._end(max(self._leases))

    def delete(self, key: str) -> None:
        """Delete a key, as an operator can."""
        self.transact(Transaction({}, [Delete(key)]))

    def put(self, key: str, value: bytes, lease: int = 0) -> None:
        self.transact(Transaction({}, [Put(key, value, lease)]))

    def _end(self, number: int) -> None:
        del self._leases[number]
        held = [key for key, one in self.keys.items() if one.lease == number]
        if held:
            self.revision += 1
        for key in held:
            self._set(key, None)


class Line:
    """A line to the model that answers at once; `broken` lines do not reach it, `lossy` ones lose answers."""

    def __init__(self, model: EtcdModel) -> None:
        self.model = model
        self.broken = self.lossy = False
        self.holds = False
        self.held: list[Callable[[], None]] = []
        self.asked: list[str] = []
        self.kept_by = ""

    def _do(self, what: str, work: Callable[[], object], on_answer: Callable[..., None]) -> None:
        self.asked.append(what)

        def answer() -> None:
            if self.broken:
                on_answer(Unanswered("broken"))
                return
            try:
                outcome = work()
            except Unanswered as error:
                outcome = error
            on_answer(Unanswered("lost") if self.lossy else outcome)

        if self.holds:
            self.held.append(answer)
        else:
            answer()

    def transact(self, wanted: Transaction, on_answer: Callable[[Outcome | Exception], None]) -> None:
        self._do("transact", lambda: self.model.transact(wanted), on_answer)

    def grant(self, seconds: int, on_answer: Callable[[Lease | Exception], None]) -> None:
        self._do("grant", lambda: self.model.grant(seconds), on_answer)

    def keep(self, lease: int, on_answer: Callable[[Kept | Exception], None]) -> None:
        def work() -> Kept:
            if self.kept_by:
                return Kept(5, self.kept_by)
            return self.model.keep(lease)

        self._do("keep", work, on_answer)

    def revoke(self, lease: int, on_answer: Callable[[Exception | None], None]) -> None:
        self._do("revoke", lambda: self.model.revoke(lease), on_answer)
