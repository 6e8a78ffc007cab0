"""Role of a broker towards its replicas, as a value that changes at run time.

A *master* accepts messages and does background work. A *slave* follows one. An *acting* master is a slave
that does its master's background work, without writing to its own log. A *fenced* broker is neither for now:
a master whose lease or epoch has ended, which must not acknowledge anything, as another may be master
already. The epoch grows with each election and never decreases: a change with an older one is stale.

`ReplicationRole` notifies its subscribers of every change, in order, also if a subscriber changes the role
again. An exception of a subscriber is logged, and the others are notified all the same.

RocketMQ: `BrokerController.changeSpecialServiceStatus`, `ReplicasManager.changeToMaster`, `changeToSlave`.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from mqgateway.engine.errors import EngineError
from mqgateway.engine.ha.member_group import MASTER_ID
from mqgateway.engine.options import BrokerRole

log = logging.getLogger(__name__)


UNKNOWN_ID = -1
"""The id of a broker to which the controller has assigned none yet."""


class RoleKind(Enum):
    """Kind of a role."""

    MASTER = "master"
    SLAVE = "slave"
    ACTING = "acting master"
    FENCED = "fenced"


class RoleState(NamedTuple):
    """The role at one time. `broker_id` is the id at name servers: a master's is 0."""

    kind: RoleKind
    broker_id: int
    epoch: int


class RoleError(EngineError):
    """An invalid change of role: to an older epoch, or to a role that the broker cannot take from here."""


Changed = Callable[[RoleState, RoleState], None]
"""Called with the state before and the state after."""


class ReplicationRole:
    """The role of one broker, `state`; `is_slave` is True for an acting one too."""

    def __init__(self, kind: RoleKind, broker_id: int, epoch: int = 0) -> None:
        self._subscribers: list[Changed] = []
        self._changes: deque[tuple[RoleState, RoleState]] = deque()
        self._set(RoleState(kind, broker_id, epoch))

    @staticmethod
    def initial(configured: BrokerRole, broker_id: int, *, is_assigned: bool = False) -> ReplicationRole:
        """Return the role at the start, from `brokerRole` and `brokerId`.

        With `is_assigned` a controller or an election decides, and there is neither role nor id yet.
        """
        if is_assigned:
            return ReplicationRole(RoleKind.FENCED, UNKNOWN_ID)
        kind = RoleKind.SLAVE if configured is BrokerRole.SLAVE else RoleKind.MASTER
        return ReplicationRole(kind, broker_id)

    def _set(self, state: RoleState) -> None:
        kind = state.kind
        self.state = state
        self.is_master = kind is RoleKind.MASTER
        self.is_slave = kind in (RoleKind.SLAVE, RoleKind.ACTING)
        self.is_fenced = kind is RoleKind.FENCED

    def as_broker_role(self, configured: BrokerRole) -> BrokerRole:
        """Return the role as a value of `brokerRole`.

        A master that was configured as a slave is a SYNC_MASTER; a fenced broker is what its id implies.
        """
        if self.is_slave or (self.is_fenced and self.state.broker_id != MASTER_ID):
            return BrokerRole.SLAVE
        return BrokerRole.SYNC_MASTER if configured is BrokerRole.SLAVE else configured

    def on_change(self, callback: Changed) -> None:
        """Notify `callback` of every later change, after earlier subscribers."""
        self._subscribers.append(callback)

    def become(self, kind: RoleKind, *, broker_id: int | None = None, epoch: int | None = None) -> None:
        """Change the role, and notify subscribers; do nothing if it is the same.

        Without an epoch it is kept. A master's id is 0; a slave that was none before needs one, any other
        keeps its own. Raises `RoleError`; then nothing has changed.
        """
        after = _next(self.state, kind, broker_id, epoch)
        before = self.state
        if after == before:
            return
        self._set(after)
        self._changes.append((before, after))
        if len(self._changes) == 1:
            self._notify()

    def _notify(self) -> None:
        log.warning("the role is now: %s, id %d, epoch %d", *_in_words(self.state))
        while self._changes:
            before, after = self._changes[0]
            for callback in self._subscribers:
                try:
                    callback(before, after)
                except Exception:
                    log.exception("the change to %s, id %d, epoch %d fails", *_in_words(after))
            self._changes.popleft()


def _next(state: RoleState, kind: RoleKind, broker_id: int | None, epoch: int | None) -> RoleState:
    epoch = state.epoch if epoch is None else epoch
    if epoch < state.epoch:
        raise RoleError(f"epoch {epoch} is over, it is {state.epoch} now")
    if kind is RoleKind.ACTING and state.kind not in (RoleKind.SLAVE, RoleKind.ACTING):
        raise RoleError(f"only a slave acts for its master, this broker is {state.kind.value}")
    if kind is RoleKind.MASTER:
        broker_id = MASTER_ID
    elif broker_id is None:
        broker_id = state.broker_id
    if kind is RoleKind.SLAVE and broker_id == MASTER_ID:
        raise RoleError("a slave's id is more than 0")
    return RoleState(kind, broker_id, epoch)


def _in_words(state: RoleState) -> tuple[str, int, int]:
    return state.kind.value, state.broker_id, state.epoch
