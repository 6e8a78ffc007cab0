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
from typing import NamedTuple, Protocol, TypeVar

from twisted.internet.defer import Deferred

from mqgateway.engine.ha.role import RoleState
from mqgateway.engine.steps import Steps
from mqgateway.gateway.access.callers import CallerAccess, FrontEndCaller
from mqgateway.gateway.access.needs import Need
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.connection import ClientConnection
from mqgateway.gateway.broker.errors import OperationError
from mqgateway.gateway.broker.operations.uses import Use
from mqgateway.gateway.broker.replication.role_checks import check_role

T = TypeVar("T")


class Principal(NamedTuple):
    """The author of a request: its connection, and the credentials that access control checks.

    `credentials` is None for a principal that the front end authenticated and authorized itself.
    """

    connection: ClientConnection
    credentials: Callable[[], FrontEndCaller] | None


class Permit:
    """An admitted request. Only `Gate` makes permits. `now` is the wall time of its admission, ms."""

    __slots__ = ("connection", "now", "use")

    def __init__(self, use: Use, connection: ClientConnection, now: int) -> None:
        self.use = use
        self.connection = connection
        self.now = now

    @property
    def is_internal(self) -> bool:
        """True for what the broker does of its own accord."""
        return isinstance(self.connection, InternalConnection)


class Runner(Protocol):
    """Runs cooperative tasks; tasks of one lane run one after another."""

    def run(self, lane: str, steps: Steps[T | Deferred[T]]) -> Deferred[T]:
        """Run a task and return its outcome; fails with the exception that the task raises."""
        ...


class TurnState(Protocol):
    """The turn that front ends share: one read, or one slice of a cooperative task."""

    @property
    def is_open(self) -> bool:
        """True until its end, which makes readable what was stored in it."""
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

    Without `admission` every principal is accepted. `turn` is the turn that the front ends share, if there is
    one, and `end_turn` does what its end does. A broker is under a controller before its gate is made, or
    never.
    """

    def __init__(
        self,
        broker: Broker,
        *,
        admission: CallerAccess | None = None,
        turn: TurnState | None = None,
        end_turn: Callable[[], None] | None = None,
    ) -> None:
        self._broker, self._store = broker, broker.store
        self._controlled = broker.controlled
        self._admission = admission
        self._turn = turn
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

    def authenticate(self, caller: FrontEndCaller) -> None:
        """Authenticate a client whose connection gets a user by this. Raises `NotAdmitted`."""
        if self._admission is not None:
            self._admission.admit(caller, no_rights)

    @property
    def has_access_control(self) -> bool:
        """True if principals are authenticated or authorized."""
        return self._admission is not None

    def pass_on(self, use: Use, connection: ClientConnection, now: int) -> Permit:
        """Return a permit for a request whose principal and lease were checked on its way here.

        `now` is the time of its admission, ms. Raises `OperationError`.
        """
        if self._store.gate is not None:  # the check does nothing without one: it is not worth a call
            check_role(self._broker, use.needs)
        return Permit(use, connection, now)

    def internal(self, use: Use) -> Permit:
        """Return a permit for what the broker does of its own accord; the role is checked when it is used."""
        return Permit(use, InternalConnection(), self._broker.clock.millis())

    def allows(self, use: Use) -> bool:
        """Return True if lease and role allow a use now."""
        try:
            self._check(use)
        except OperationError:
            return False
        return True

    def on_role_change(self, callback: Callable[[], None]) -> None:
        """Call back whenever the kind of the broker's role changes."""

        def changed(before: RoleState, after: RoleState) -> None:
            if before.kind is not after.kind:
                callback()

        self._broker.role.on_change(changed)

    def enter(self, permit: Permit, use: Use, *others: Use) -> None:
        """Begin an operation that one of these uses allows. Raises `OperationError`."""
        permitted = permit.use
        if permitted is not use and permitted not in others:
            raise ValueError(f"a permit to {permitted.label} does not allow to {use.label}")
        if self._controlled is not None:
            self._controlled.is_authorized()
        if self._store.gate is not None:
            check_role(self._broker, permitted.needs)

    def may_leave_trace(self) -> bool:
        """Return True if a read may record the offset that comes with it: the broker is not fenced."""
        return self._store.gate is None or self._broker.role.is_slave

    def leave(self, outcome: T) -> T:
        """End an operation: outside of a turn, dispatch what it stored."""
        if self._turn is None or not self._turn.is_open:
            self._end_turn()
        return outcome

    def _check(self, use: Use) -> None:
        if self._controlled is not None:
            self._controlled.is_authorized()
        check_role(self._broker, use.needs)
