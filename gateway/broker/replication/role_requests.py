"""One table for all roles: who the broker is decides with each request what it answers.

A master, whose log may be written, answers everything by itself. A slave answers some requests otherwise
(`slave_requests`). A broker that is fenced, or about to be the master, is asked in vain for whatever would
have to last: another one may be the master already, and what is acknowledged here would not be known there.
That is every message, pop, acknowledgement, end of a transaction, offset, lock and table. It goes on
serving what only reads: messages by pull, offset, time or key, tables and figures, and the log to its slaves;
an offset that comes along with a pull is passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.consume import pull_request
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.replication.slave_requests import SLAVE_CHECKS
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.remoting.call import Call
from mqgateway.gateway.remoting.dispatch import LongRequestFunction, RequestFunction

AnyRequestFunction = RequestFunction | LongRequestFunction

REFUSED_WHILE_FENCED = frozenset(
    {
        # Messages
        RequestCode.SEND_MESSAGE,
        RequestCode.SEND_MESSAGE_V2,
        RequestCode.SEND_BATCH_MESSAGE,
        RequestCode.SEND_REPLY_MESSAGE,
        RequestCode.SEND_REPLY_MESSAGE_V2,
        RequestCode.CONSUMER_SEND_MSG_BACK,
        RequestCode.RECALL_MESSAGE,
        RequestCode.END_TRANSACTION,
        RequestCode.RESUME_CHECK_HALF_MESSAGE,
        # What consumers have, and where they are
        RequestCode.POP_MESSAGE,
        RequestCode.POP_LITE_MESSAGE,
        RequestCode.POP_ROLLBACK,
        RequestCode.ACK_MESSAGE,
        RequestCode.BATCH_ACK_MESSAGE,
        RequestCode.CHANGE_MESSAGE_INVISIBLETIME,
        RequestCode.UPDATE_CONSUMER_OFFSET,
        RequestCode.CLONE_GROUP_OFFSET,
        RequestCode.INVOKE_BROKER_TO_RESET_OFFSET,
        RequestCode.LOCK_BATCH_MQ,
        # Tables
        RequestCode.SET_MESSAGE_REQUEST_MODE,
        RequestCode.UPDATE_AND_CREATE_TOPIC,
        RequestCode.UPDATE_AND_CREATE_TOPIC_LIST,
        RequestCode.UPDATE_AND_CREATE_STATIC_TOPIC,
        RequestCode.DELETE_TOPIC_IN_BROKER,
        RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP,
        RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST,
        RequestCode.DELETE_SUBSCRIPTIONGROUP,
        RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN,
    }
)
PULLS = (RequestCode.PULL_MESSAGE, RequestCode.LITE_PULL_MESSAGE)


def of_all_roles(masters: Mapping[int, AnyRequestFunction]) -> dict[int, AnyRequestFunction]:
    """The table of every role, made of a master's."""
    return {code: _of_all_roles(code, function) for code, function in masters.items()}


def _of_all_roles(code: int, master: AnyRequestFunction) -> AnyRequestFunction:
    check = SLAVE_CHECKS.get(code)
    fenced: Callable[[Broker, Call], Any]
    if code in REFUSED_WHILE_FENCED:
        fenced = _refuse
    elif code in PULLS:
        fenced = _pull_only(master)
    else:
        return master

    @wraps(master)
    def serve(broker: Broker, call: Call) -> Any:
        if broker.store.gate is None:
            return master(broker, call)
        if not broker.role.is_slave:
            return fenced(broker, call)
        if check is not None:
            check(broker)
        return master(broker, call)

    return serve


def _refuse(broker: Broker, call: Call) -> Any:
    """What must not be acknowledged."""
    refusal = broker.store.refusal
    raise OperationError(Reason.SERVICE_NOT_AVAILABLE, f"service not available now. Here: {refusal}.")


def _pull_only(master: AnyRequestFunction) -> AnyRequestFunction:
    """A pull that leaves no trace."""

    def serve(broker: Broker, call: Call) -> Any:
        header: Any = call.header
        header.sys_flag &= ~pull_request.FLAG_COMMIT_OFFSET
        return master(broker, call)

    return serve
