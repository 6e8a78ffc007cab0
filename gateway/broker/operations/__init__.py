"""Operations of the broker: the only part of it that a protocol front end imports.

    gate        admission: principal, rights, lease, role; the end of a turn
    messages    messages as front ends hand them over
    produce     sends and recalls

`Operations` holds one object a subject. A method takes a `Permit` and values, and returns a value or a
Deferred of one. It raises `OperationError`. Names of other packages of the broker that are part of a
signature are exported here.
"""

from __future__ import annotations

from collections.abc import Callable

from mqgateway.gateway.access.asker import Admission
from mqgateway.gateway.access.errors import NotAdmitted
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.connection import ClientConnection
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.operations.gate import Gate, Permit, Principal, Runner, Use
from mqgateway.gateway.broker.operations.messages import ANY_QUEUE, NewMessage
from mqgateway.gateway.broker.operations.produce import Produce
from mqgateway.gateway.broker.outcomes import then
from mqgateway.gateway.broker.produce.send import SendOutcome, Sent
from mqgateway.gateway.broker.produce.timers import RecallOutcome

__all__ = [
    "ANY_QUEUE",
    "ClientConnection",
    "Gate",
    "NewMessage",
    "NotAdmitted",
    "OperationError",
    "Operations",
    "Permit",
    "Principal",
    "Produce",
    "Reason",
    "RecallOutcome",
    "Runner",
    "SendOutcome",
    "Sent",
    "Use",
    "then",
]


class Operations:
    """The operations of one broker, by subject. `runner` runs cooperative tasks; see `Gate` for the
    others."""

    def __init__(
        self,
        broker: Broker,
        runner: Runner,
        *,
        admission: Admission | None = None,
        is_turn: Callable[[], bool] = lambda: False,
        end_turn: Callable[[], None] | None = None,
    ) -> None:
        self.gate = Gate(broker, admission=admission, is_turn=is_turn, end_turn=end_turn)
        self.produce = Produce(broker, self.gate, runner)
