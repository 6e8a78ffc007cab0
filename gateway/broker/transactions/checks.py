"""Checks of open transactions: selection of the client to query, and resumption of checks.

`engine/transactions` decides when a transaction is checked. Any member of the group may answer, from any
connection. RocketMQ: `AbstractTransactionalMessageCheckListener`, `ProducerManager.getAvailableChannel`,
`AdminBrokerProcessor.resumeCheckHalfMessage`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

from mqgateway.engine.message import TRANS_HALF_TOPIC, parse_offset_message_id
from mqgateway.engine.transactions import CheckBack, HalfMessage
from mqgateway.gateway.broker.clients.members import GroupClient
from mqgateway.gateway.broker.connection import MayUse
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.records import check_topic, look_up

if TYPE_CHECKING:
    from mqgateway.gateway.broker.broker import Broker
    from mqgateway.gateway.broker.clients.table import ClientTable

log = logging.getLogger(__name__)

RESUME_FAILED = f"Put message back to {TRANS_HALF_TOPIC} failed."
RESUME_IMPOSSIBLE = f"Exception was thrown when putting message back to {TRANS_HALF_TOPIC}."


def resume_check(broker: Broker, message_id: str, may_use: MayUse | None) -> None:
    """Check a transaction again whose half message was given up. Raises `OperationError`."""
    try:
        _, _, offset = parse_offset_message_id(message_id)
    except ValueError:
        raise OperationError(Reason.SYSTEM_ERROR, RESUME_IMPOSSIBLE) from None
    given_up = look_up(broker, offset, may_use)
    if given_up is None:
        raise OperationError(Reason.SYSTEM_ERROR, RESUME_IMPOSSIBLE)
    check_topic(offset, HalfMessage(given_up).topic, may_use)
    if not broker.transactions.resume(given_up):
        raise OperationError(Reason.SYSTEM_ERROR, RESUME_FAILED)


def is_reachable(clients: ClientTable, group: str, topic: str) -> bool:
    """Return True if a member of a producer group can be queried about a message of a topic."""
    return bool(_members(clients, group, topic))


def check_back(broker: Broker, checks: Iterable[CheckBack]) -> None:
    """Query one client of each check's group, in turn."""
    for check in checks:
        client = _client_of(broker.clients, check)
        if client is None:
            log.info("no member of producer group %s is connected for a transaction check", check.group)
        else:
            client.outgoing.check_transaction(check, broker.options.broker_name)


def _client_of(clients: ClientTable, check: CheckBack) -> GroupClient | None:
    members = _members(clients, check.group, check.topic)
    return members[check.number % len(members)] if members else None


def _members(clients: ClientTable, group: str, topic: str) -> list[GroupClient]:
    """Return the members that can be queried. The query contains the message: its topic must be allowed."""
    return [
        client
        for client in clients.producer_groups.get(group, {}).values()
        if client.outgoing.is_open and (client.may_use is None or client.may_use(topic))
    ]
