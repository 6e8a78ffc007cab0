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
from functools import wraps
from typing import Any

from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.consume import pull_request
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
    needs = use.needs

    @wraps(translate)
    def serve(context: Context, call: Call) -> Any:
        broker, operations = context
        if broker.store.gate is not None:
            check_role(broker, needs)
        return translate(operations, operations.gate.pass_on(use, call.peer, call.now), call)

    return serve


def _of_all_roles(master: AnyRequestFunction, needs: Needs) -> AnyRequestFunction:
    if needs is Needs.NOTHING:
        return wraps(master)(lambda context, call: master(context.broker, call))
    pull_only = _pull_only(master) if needs is Needs.NO_TRACE else None

    @wraps(master)
    def serve(context: Context, call: Call) -> Any:
        broker = context.broker
        if broker.store.gate is None:
            return master(broker, call)
        if pull_only is not None:
            return master(broker, call) if broker.role.is_slave else pull_only(broker, call)
        check_role(broker, needs)
        return master(broker, call)

    return serve


def _pull_only(master: AnyRequestFunction) -> AnyRequestFunction:
    """A pull that leaves no trace."""

    def serve(broker: Broker, call: Call) -> Any:
        header: Any = call.header
        header.sys_flag &= ~pull_request.FLAG_COMMIT_OFFSET
        return master(broker, call)

    return serve
