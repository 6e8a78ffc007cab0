"""The gate that every operation of a front end passes.

A front end has each request admitted before it looks at the content (`Gate.admit`). In this order the
principal is authenticated and authorized, the front end validates what its protocol demands of every request,
the lease of a master under a controller is checked, and the role. The result is a `Permit` for one use.

An operation takes the permit. It checks that the permit is for its use, and lease and role again, as time may
have passed (`Gate.enter`). Outside of a turn it then makes readable what it stored (`Gate.leave`): in a turn,
which one read or one slice of a cooperative task opens, the end of the turn does so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import NamedTuple, Protocol, TypeVar

from twisted.internet.defer import Deferred

from mqgateway.engine.steps import Steps
from mqgateway.gateway.access.asker import Admission, Asker
from mqgateway.gateway.access.needs import Need
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.connection import ClientConnection
from mqgateway.gateway.broker.needs import Needs
from mqgateway.gateway.broker.replication.role_checks import check_role

T = TypeVar("T")


class Use(Enum):
    """A use of the broker, with its need of the broker's role."""

    SEND = "send", Needs.MASTER
    RECALL = "recall", Needs.NOT_FENCED
    RECEIVE = "receive", Needs.MASTER_OR_ACTING
    RECEIVE_LITE = "receive from lite topics", Needs.NOT_FENCED
    ACKNOWLEDGE = "acknowledge", Needs.MASTER_OR_ACTING
    CHANGE_INVISIBLE_TIME = "change the invisible time", Needs.MASTER_OR_ACTING
    DEAD_LETTER = "dead-letter", Needs.MASTER_OR_OTHER
    END_TRANSACTION = "end a transaction", Needs.NOT_FENCED
    PULL = "pull", Needs.NO_TRACE
    COMMIT_OFFSET = "commit an offset", Needs.NOT_FENCED
    QUERY = "query", Needs.NOTHING
    CONNECT = "connect", Needs.NOTHING
    ADMINISTER = "administer", Needs.NOT_FENCED
    CONFIGURE = "configure", Needs.NOTHING

    def __init__(self, label: str, needs: Needs) -> None:
        self.label = label
        self.needs = needs


class Principal(NamedTuple):
    """The author of a request: its connection, and the credentials that access control checks.

    `credentials` is None for a principal that the front end authenticated and authorized itself.
    """

    connection: ClientConnection
    credentials: Callable[[], Asker] | None


class Permit(NamedTuple):
    """An admitted request. Only `Gate` makes permits. `now` is the wall time of its admission, ms."""

    use: Use
    connection: ClientConnection
    now: int


class Runner(Protocol):
    """Runs cooperative tasks; tasks of one lane run one after another."""

    def run(self, lane: str, steps: Steps[T | Deferred[T]]) -> Deferred[T]:
        """Run a task and return its outcome; fails with the exception that the task raises."""
        ...


class InternalConnection:
    """A `ClientConnection` for what the broker does after a client is gone."""

    address = "-"
    host_bytes = b"\0" * 8
    is_open = True

    def close(self, reason: str) -> None:
        """Do nothing."""

    def on_lost(self, callback: object) -> None:
        """Do nothing: it is never lost."""


def no_rights() -> Sequence[Need]:
    """Return the rights of a request that needs none."""
    return ()


class Gate:
    """The gate of one broker.

    Without `admission` every principal is accepted. `is_turn` returns True while a turn is open, and
    `end_turn` does what the end of a turn does.
    """

    def __init__(
        self,
        broker: Broker,
        *,
        admission: Admission | None = None,
        is_turn: Callable[[], bool] = lambda: False,
        end_turn: Callable[[], None] | None = None,
    ) -> None:
        self._broker = broker
        self._admission = admission
        self._is_turn = is_turn
        self._end_turn = broker.store.dispatch if end_turn is None else end_turn

    def admit(
        self,
        principal: Principal,
        use: Use,
        rights: Callable[[], Sequence[Need]] = no_rights,
        validate: Callable[[], None] | None = None,
    ) -> Permit:
        """Admit a request that needs these rights. Raises `NotAdmitted`, `OperationError`.

        `rights` is called once the principal is authenticated, if authorization is on; `validate` next. Both
        may raise errors of the front end.
        """
        if self._admission is not None and principal.credentials is not None:
            self._admission.admit(principal.credentials(), rights)
        if validate is not None:
            validate()
        self._check(use)
        return Permit(use, principal.connection, self._broker.clock.millis())

    def pass_on(self, use: Use, connection: ClientConnection, now: int) -> Permit:
        """Return a permit for a request that was admitted on its way here: principal, lease and role are
        judged. `now` is the time of its admission, ms."""
        return Permit(use, connection, now)

    def internal(self, use: Use) -> Permit:
        """Return a permit for what the broker does of its own accord; the role is checked when it is used."""
        return Permit(use, InternalConnection(), self._broker.clock.millis())

    def enter(self, permit: Permit, *uses: Use) -> None:
        """Begin an operation that one of these uses allows. Raises `OperationError`."""
        if permit.use not in uses:
            raise ValueError(f"a permit to {permit.use.label} does not allow to {uses[0].label}")
        if self._broker.controlled is not None or self._broker.store.gate is not None:
            self._check(permit.use)

    def leave(self, outcome: T) -> T:
        """End an operation: outside of a turn, dispatch what it stored."""
        if not self._is_turn():
            self._end_turn()
        return outcome

    def _check(self, use: Use) -> None:
        if self._broker.controlled is not None:
            self._broker.controlled.is_authorized()
        check_role(self._broker, use.needs)
