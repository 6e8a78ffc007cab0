"""Roles that a request requires of the broker, declared beside the request in its package's table."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from importlib import import_module
from typing import NamedTuple

from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.remoting.call import Call
from mqgateway.gateway.remoting.dispatch import LongRequestFunction, RequestFunction, Served


class Needs(Enum):
    """Role required to answer a request; a broker about to become master answers like a fenced one.

    State that outlives the answer is lost if another broker is already master, so every request that writes
    needs at least `NOT_FENCED`. RocketMQ: `SendMessageProcessor.rejectRequest`, `PopMessageProcessor`.
    """

    NOTHING = "nothing: it only reads, or concerns a broker's own state, such as connections"
    NO_TRACE = "nothing to read; a fenced broker ignores the offset in the request"
    NOT_FENCED = "a broker that is not fenced: acknowledged data must last"
    MASTER = "a master: it is a message"
    MASTER_OR_OTHER = "a master, or another broker: it is a message that a consumer sends back"
    MASTER_OR_ACTING = "a master, or a broker that acts for it: it records deliveries"


class RequestDeclaration(NamedTuple):
    """One request of a package's table."""

    function: RequestFunction | LongRequestFunction
    needs: Needs


def on_first_use(module: str, needs: Mapping[int, Needs]) -> dict[int, RequestDeclaration]:
    """Declare requests whose functions are in `REQUESTS` of a module, which is loaded with the first of them.

    `needs` has the role that each request code requires.
    """

    def serve(broker: Broker, call: Call) -> Served:
        functions: Mapping[int, LongRequestFunction] = import_module(module).REQUESTS
        return functions[call.command.code](broker, call)

    return {code: RequestDeclaration(serve, need) for code, need in needs.items()}
