"""Gates that keep a broker from writing its own records, by role.

A slave's log is its master's. Records that the services of a master put (a delayed message, a transaction, a
copy for a retry) are sent to another broker while the slave acts, by `engine.ha.escape`; otherwise they are
refused. A fenced broker may already have a successor, and one that is about to become master has yet to find
the end of its predecessor's log.
"""

from __future__ import annotations

from collections.abc import Callable

from mqgateway.engine.ha.role import RoleKind
from mqgateway.engine.message import Message
from mqgateway.engine.store.results import PutResult
from mqgateway.engine.store.write_gate import WriteGate

REFUSAL = "a slave writes nothing of its own"
REFUSALS = {
    RoleKind.MASTER: "this broker is about to be the master",
    RoleKind.SLAVE: REFUSAL,
    RoleKind.ACTING: REFUSAL,
    RoleKind.FENCED: "this broker is fenced: another one may be the master",
}


def closed_gate(kind: RoleKind, elsewhere: Callable[[Message], PutResult] | None = None) -> WriteGate:
    """Return the closed gate of a broker in this role; a master's is closed until it is ready. `elsewhere`
    accepts single messages in place of the log."""
    return WriteGate(REFUSALS[kind], elsewhere)
