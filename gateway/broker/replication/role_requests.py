"""One table for all roles: who the broker is decides with each request what it answers.

The tables of the rooms say what each request needs of the role (`broker.needs`). A master, whose log may be
written, answers everything by itself. A slave refuses what needs a master (`role_checks`). A broker that
is fenced, or about to be the master, is asked in vain for whatever would have to last: another one may be
the master already, and what is acknowledged here would not be known there. That is every message, pop,
acknowledgement, end of a transaction, offset, lock and table. It goes on serving what only reads: messages
by pull, offset, time or key, tables and figures, and the log to its slaves; an offset that comes along with
a pull is passed over.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mqgateway.gateway.broker.needs import Needs, Request
from mqgateway.gateway.broker.replication.role_checks import check_role
from mqgateway.gateway.broker.translated import Context, Translated
from mqgateway.gateway.remoting.call import Call
from mqgateway.gateway.remoting.dispatch import LongRequestFunction, RequestFunction

AnyRequestFunction = RequestFunction | LongRequestFunction


def of_all_roles(requests: Mapping[int, Request | Translated]) -> dict[int, AnyRequestFunction]:
    """Return a function for each request code that checks the role first; it takes a `Context`.

    `requests` are the tables of the packages together.
    """
    return {
        code: _translated(request) if isinstance(request, Translated) else _of_all_roles(*request)
        for code, request in requests.items()
    }


def _translated(request: Translated) -> AnyRequestFunction:
    translate, use = request

    def serve(context: Context, call: Call) -> Any:
        permit = context.gate.pass_on(use, call.peer, call.now)
        return translate(context.operations, permit, call)

    return serve


def _of_all_roles(master: AnyRequestFunction, needs: Needs) -> AnyRequestFunction:
    def serve(context: Context, call: Call) -> Any:
        check_role(context.broker, needs)
        return master(context.broker, call)

    return serve
