"""Why a broker writes nothing of its own, by its role.

A slave's log is its master's. What the services of a master put (a message whose delay is over, a
transaction, a copy for a retry) goes to another broker while the slave acts, by `engine.ha.escape`; at any
other time it is refused. A broker that is fenced may have a successor already, and one that is to be master
has yet to find out where the one before was.
"""

from __future__ import annotations

from mqgateway.engine.ha.role import RoleKind
from mqgateway.engine.store.write_gate import WriteGate

REFUSAL = "a slave writes nothing of its own"
REFUSALS = {
    RoleKind.MASTER: "this broker is about to be the master",
    RoleKind.SLAVE: REFUSAL,
    RoleKind.ACTING: REFUSAL,
    RoleKind.FENCED: "this broker is fenced: another one may be the master",
}


def closed_gate(kind: RoleKind) -> WriteGate:
    """What stands before the log of a broker in this role, a master's until it is ready."""
    return WriteGate(REFUSALS[kind])
