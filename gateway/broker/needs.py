"""What a request needs of the broker's role, stated where the request is: in its room's table."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from mqgateway.gateway.remoting.dispatch import LongRequestFunction, RequestFunction


class Needs(Enum):
    """Whom a request can be answered by; a broker that is about to be master answers like a fenced one.

    What outlives the answer is lost if another broker is the master already, so whatever writes needs at
    least `NOT_FENCED`. Standard: `SendMessageProcessor.rejectRequest`, `PopMessageProcessor`.
    """

    NOTHING = "nothing: it only reads, or concerns a broker's own state, such as connections"
    NO_TRACE = "nothing to read; a fenced broker ignores the offset in the request"
    NOT_FENCED = "a broker that is not fenced: acknowledged data must last"
    MASTER = "a master: it is a message"
    MASTER_OR_OTHER = "a master, or another broker: it is a message that a consumer sends back"
    MASTER_OR_ACTING = "a master, or a broker that acts for it: it records deliveries"


class Request(NamedTuple):
    """One request of a room's table."""

    function: RequestFunction | LongRequestFunction
    needs: Needs
