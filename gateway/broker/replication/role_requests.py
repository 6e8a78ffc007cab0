"""One table of requests for all roles: the broker's current role decides which requests it answers.

The tables of the packages declare what each request requires of the role (`broker.needs`). A master, whose
log may be written, answers everything itself. A slave refuses requests that require a master (`role_checks`).
A broker that is fenced, or about to become master, refuses every request whose effect must last: another
broker may already be the master, and would not have what is acknowledged here. These are all messages, pops,
acknowledgements, ends of transactions, offsets, locks and tables. It still serves reads: messages by pull,
offset, time or key, tables and figures, and the log to its slaves. An offset in a pull is ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mqgateway.gateway.broker.needs import Needs, RequestDeclaration
from mqgateway.gateway.broker.replication.role_checks import check_role
from mqgateway.gateway.broker.translated import DispatchContext, Translated
from mqgateway.gateway.remoting.call import Call
from mqgateway.gateway.remoting.dispatch import LongRequestFunction, RequestFunction

AnyRequestFunction = RequestFunction | LongRequestFunction


def of_all_roles(requests: Mapping[int, RequestDeclaration | Translated]) -> dict[int, AnyRequestFunction]:
    """Return a function for each request code that checks the role first; it takes a `DispatchContext`.

    `requests` are the tables of the packages together.
    """
    return {
        code: _translated(request) if isinstance(request, Translated) else _of_all_roles(*request)
        for code, request in requests.items()
    }


def _translated(request: Translated) -> AnyRequestFunction:
    translate, use = request

    def serve(context: DispatchContext, call: Call) -> Any:
        permit = context.gate.pass_on(use, call.peer, call.now)
        return translate(context.operations, permit, call)

    return serve


def _of_all_roles(master: AnyRequestFunction, needs: Needs) -> AnyRequestFunction:
    def serve(context: DispatchContext, call: Call) -> Any:
        check_role(context.broker, needs)
        return master(context.broker, call)

    return serve
