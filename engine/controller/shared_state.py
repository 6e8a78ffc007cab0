"""Broker sets of several controllers, in a shared store.

    PREFIX/leader        {"address":"host:port","id":"n0"}, with a lease: the controller that put it leads
    PREFIX/sets/NAME     a set, in the form of `BrokerSet.to_json`

**Only the leader writes.** The term is the revision of the leader's key. Every write is one transaction that
compares it, and the revision of the set. If an answer is missing the write may still be applied. So the key
is put again, which fences all earlier writes, and the sets are read again before any request is answered.

**Only the leader answers.** An answer without a change is confirmed by a read that compares the term. In
addition, a leader relies on its lease by its own monotonic clock, from before the request, for four fifths of
the time; so clocks may differ by a fifth in speed. It reads its key first, which needs a majority, and then
renews the lease. The renewal counts only if the same server answers it: an isolated server that does not know
that it no longer leads the store renews expired leases. After the read it was no such server, and any later
leader of the store gives every lease its whole duration from then on.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from mqgateway.engine.clock import Clock, elapsed_millis
from mqgateway.engine.controller.broker_set import BrokerSet, changed
from mqgateway.engine.controller.events import Event
from mqgateway.engine.controller.key_values import (
    Delete,
    Kept,
    KeyRange,
    KeyValue,
    KeyValues,
    Lease,
    Outcome,
    Put,
    Transaction,
)
from mqgateway.engine.controller.state import Leader, NotLeading, OnAgreed
from mqgateway.engine.lenient_json import dumps, loads

log = logging.getLogger(__name__)

PAGE = 500
"""Number of sets read at once."""
CLOCKS_DIFFER = 5
"""One part in this many of a lease is not relied on."""
BEHIND_ALL = "\U0010ffff"

UNREADABLE = (AttributeError, KeyError, TypeError, ValueError)


class SharedState:
    """The sets in `place`, below `prefix`, with a lease of `seconds`. `me` is this controller."""

    def __init__(self, me: Leader, place: KeyValues, clock: Clock, prefix: str, seconds: int) -> None:
        self._me = me
        self._place = place
        self._clock = clock
        self._seconds = seconds
        self._leader_key = f"{prefix}/leader"
        self._sets_prefix = f"{prefix}/sets/"
        self._leads: Callable[[], None] = lambda: None
        self._seen: Leader | None = None
        self._seen_at = 0
        self._is_asking = self._is_over = False
        self._complaint = ""
        self._term = self._lease = self._until = 0
        self._is_read = self._is_announced = False
        self._sets: dict[str, BrokerSet] = {}
        self._revisions: dict[str, int] = {}

    # Interface of the state.

    @property
    def sets(self) -> Mapping[str, BrokerSet]:
        """See `State.sets`."""
        return self._sets

    @property
    def is_leader(self) -> bool:
        """See `State.is_leader`."""
        return self._is_read and self._now() < self._until

    @property
    def leader(self) -> Leader | None:
        """The leader at the last answer of the store, while its lease lasts; see `State.leader`."""
        if self.is_leader:
            return self._me
        is_old = self._now() - self._seen_at > self._seconds * 1000
        return None if is_old else self._seen

    @property
    def term(self) -> int:
        """The revision at which this controller put the leader's key; 0 if it did not."""
        return self._term

    def start(self, leads: Callable[[], None]) -> None:
        """See `State.start`."""
        self._leads = leads
        self.tick()

    def tick(self) -> None:
        """Check the leader: renew the lease, or campaign if there is none; to be called each second."""
        if self._is_asking or self._is_over:
            return
        self._is_asking = True
        began = self._now()

        def looked(outcome: Outcome | Exception) -> None:
            if isinstance(outcome, Exception):
                self._fail("the controllers' place does not answer", outcome)
                return
            found = _first(outcome)
            if found is None:
                self._lose()
                self._campaign()
            elif not self._lease or self._lease != found.lease:
                self._follow(found)
            else:
                self._is_read = self._is_read and self._term == found.mod_revision
                self._term = found.mod_revision
                self._keep(began, outcome.server)

        self._place.transact(Transaction({}, [KeyRange(self._leader_key)]), looked)

    def propose(self, event: Event, on_agreed: OnAgreed) -> None:
        """See `State.propose`; fails with `NotLeading`, or the reason why there was no answer."""
        if not self.is_leader:
            on_agreed(NotLeading("the lease of this controller is over"))
            return
        name, term = event.broker_name, self._term
        key = self._sets_prefix + name
        after = changed(self._sets.get(name), event)
        change = Delete(key) if after is None else Put(key, dumps(after.to_json()))
        compare = {self._leader_key: term, key: self._revisions.get(name, 0)}

        def done(outcome: Outcome | Exception) -> None:
            if term != self._term or not self._is_read:
                on_agreed(NotLeading(f"the term {term} is over; the change may have been agreed"))
            elif isinstance(outcome, Exception):
                log.error("no answer to a change of %s: %s", name, outcome)
                self._read_again()
                on_agreed(outcome)
            elif outcome.succeeded:
                self._apply(name, after, outcome.revision)
                on_agreed(None if self.is_leader else NotLeading("agreed, but the lease is over by now"))
            else:
                self._refused(name, _first(outcome))
                on_agreed(NotLeading(f"{key} or {self._leader_key} was changed by another"))

        self._place.transact(Transaction(compare, [change], [KeyRange(self._leader_key)]), done)

    def confirm(self, on_agreed: OnAgreed) -> None:
        """See `State.confirm`.

        A lease alone would not suffice: servers of etcd have ended leases too early (etcd
        issue 15247).
        """
        if not self.is_leader:
            on_agreed(NotLeading("the lease of this controller is over"))
            return
        term, look = self._term, [KeyRange(self._leader_key)]

        def done(outcome: Outcome | Exception) -> None:
            if isinstance(outcome, Exception):
                on_agreed(NotLeading(f"not known: {outcome}"))
                return
            if term == self._term and not outcome.succeeded:
                self._lose()
            is_so = term == self._term and self.is_leader
            on_agreed(None if is_so else NotLeading(f"the term {term} is over"))

        self._place.transact(Transaction({self._leader_key: term}, look, look), done)

    def close(self, on_closed: Callable[[], None]) -> None:
        """See `State.close`: another controller may lead at once."""
        self._is_over = True
        lease = self._lease
        self._lose()
        if lease:
            self._place.revoke(lease, lambda _: on_closed())
        else:
            on_closed()

    # Steps of a check; each ends with `_is_asking` False.

    def _keep(self, began: int, server: str) -> None:
        def kept(outcome: Kept | Exception) -> None:
            if isinstance(outcome, Exception):
                self._fail("the lease could not be kept", outcome)
            elif self._is_over or outcome.seconds <= 0:
                self._lose()
                self._is_asking = False
            elif outcome.server != server:
                self._is_asking = False
            else:
                self._counts_until(began, outcome.seconds)
                if self._is_read:
                    self._settle()
                else:
                    self._claim(self._term)

        self._place.keep(self._lease, kept)

    def _campaign(self) -> None:
        began = self._now()

        def granted(lease: Lease | Exception) -> None:
            if isinstance(lease, Exception):
                self._fail("there is no leader, and no lease could be had", lease)
                return
            self._lease = lease.number
            self._counts_until(began, lease.seconds)
            self._claim(0)

        self._place.grant(self._seconds, granted)

    def _claim(self, revision: int) -> None:
        """Put the leader's key, if it still has this revision."""
        if self._is_over:
            self._is_asking = False
            return

        def claimed(outcome: Outcome | Exception) -> None:
            if isinstance(outcome, Exception):
                self._fail("it is not known whether this controller leads", outcome)
            elif outcome.succeeded:
                self._term = outcome.revision
                self._read({}, {}, self._sets_prefix)
            else:
                found = _first(outcome)
                if found is not None and found.lease != self._lease:
                    self._follow(found)
                self._is_asking = False

        value = dumps({"address": self._me.address, "id": self._me.peer_id})
        put = Put(self._leader_key, value, self._lease)
        wanted = Transaction({self._leader_key: revision}, [put], [KeyRange(self._leader_key)])
        self._place.transact(wanted, claimed)

    def _read(self, sets: dict[str, BrokerSet], revisions: dict[str, int], first: str) -> None:
        """Read the sets, starting at this key, page by page, while this controller's term lasts."""
        end = self._sets_prefix + BEHIND_ALL

        def read(outcome: Outcome | Exception) -> None:
            if isinstance(outcome, Exception) or not outcome.succeeded:
                self._fail("the broker sets could not be read", outcome)
                return
            (page,) = outcome.found
            for one in page:
                name = one.key.removeprefix(self._sets_prefix)
                try:
                    sets[name] = BrokerSet.from_json(name, loads(one.value))
                except UNREADABLE as error:
                    self._fail(f"{one.key} was not written by a controller; repair or delete it", error)
                    return
                revisions[name] = one.mod_revision
            if len(page) == PAGE:
                self._read(sets, revisions, page[-1].key + "\0")
            else:
                self._sets, self._revisions = sets, revisions
                self._is_read = not self._is_over
                self._settle()

        self._place.transact(Transaction({self._leader_key: self._term}, [KeyRange(first, end, PAGE)]), read)

    def _settle(self) -> None:
        """End a check; call back once if this controller leads."""
        self._is_asking = False
        self._complaint = ""
        if self.is_leader and not self._is_announced:
            self._is_announced = True
            log.info("this controller leads in term %d, with %d broker sets", self._term, len(self._sets))
            self._leads()

    # Changes of the state.

    def _now(self) -> int:
        return elapsed_millis(self._clock)

    def _counts_until(self, began: int, seconds: int) -> None:
        self._until = began + seconds * 1000 * (CLOCKS_DIFFER - 1) // CLOCKS_DIFFER

    def _apply(self, name: str, after: BrokerSet | None, revision: int) -> None:
        if after is None:
            self._sets.pop(name, None)
            self._revisions.pop(name, None)
        else:
            self._sets[name], self._revisions[name] = after, revision

    def _refused(self, name: str, found: KeyValue | None) -> None:
        if found is not None and found.mod_revision == self._term:
            log.error("%s%s was changed by a controller that does not lead", self._sets_prefix, name)
            self._read_again()
        else:
            self._lose()

    def _read_again(self) -> None:
        """Read the sets again: memory may differ from what was agreed."""
        self._is_read = self._is_announced = False
        self.tick()

    def _follow(self, found: KeyValue) -> None:
        """Follow another leader."""
        self._lose()
        self._is_asking = False
        self._seen_at, self._seen = self._now(), None
        try:
            fields: Any = loads(found.value)
            seen = Leader(str(fields["id"]), str(fields["address"]))
        except UNREADABLE as error:
            self._fail(f"{self._leader_key} was not written by a controller", error)
            return
        # Its own key from before a restart: there is no leader until that lease expires.
        self._seen = None if seen.peer_id == self._me.peer_id else seen

    def _lose(self) -> None:
        if self._is_announced:
            log.warning("this controller is no longer the leader; its term was %d", self._term)
        self._forget()

    def _forget(self) -> None:
        self._term = self._lease = self._until = 0
        self._is_read = self._is_announced = False
        self._sets, self._revisions = {}, {}

    def _fail(self, what: str, why: object) -> None:
        self._is_asking = False
        text = f"{what}: {why}"
        if text != self._complaint:
            log.error("%s", text)
        self._complaint = text


def _first(outcome: Outcome) -> KeyValue | None:
    """Return the one key that was read, or None."""
    return next((one for found in outcome.found for one in found), None)
