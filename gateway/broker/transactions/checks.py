"""Checks of transactions that stay open: who of a producer group is asked, and to be asked anew.

When one is to be checked is decided in `engine/transactions`. Any member of the group may answer, from any
connection. Standard: `AbstractTransactionalMessageCheckListener`, `ProducerManager.getAvailableChannel`,
`AdminBrokerProcessor.resumeCheckHalfMessage`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

from mqgateway.engine.message import TRANS_HALF_TOPIC, parse_offset_message_id
from mqgateway.engine.transactions import CheckBack
from mqgateway.gateway.broker.clients.table import Client
from mqgateway.gateway.broker.errors import OperationError, Reason

if TYPE_CHECKING:
    from mqgateway.gateway.broker.broker import Broker
    from mqgateway.gateway.broker.clients.table import ClientTable

log = logging.getLogger(__name__)

RESUME_FAILED = f"Put message back to {TRANS_HALF_TOPIC} failed."
RESUME_IMPOSSIBLE = f"Exception was thrown when putting message back to {TRANS_HALF_TOPIC}."


def resume_check(broker: Broker, message_id: str) -> None:
    """Check a transaction anew whose half message was given up. Raises `OperationError`."""
    try:
        _, _, offset = parse_offset_message_id(message_id)
    except ValueError:
        raise OperationError(Reason.SYSTEM_ERROR, RESUME_IMPOSSIBLE) from None
    given_up = broker.store.look_up(offset)
    if given_up is None:
        raise OperationError(Reason.SYSTEM_ERROR, RESUME_IMPOSSIBLE)
    if not broker.transactions.resume(given_up):
        raise OperationError(Reason.SYSTEM_ERROR, RESUME_FAILED)


def is_reachable(clients: ClientTable, group: str) -> bool:
    """Whether anybody of a producer group can be asked."""
    return any(client.outgoing.is_open for client in clients.producer_groups.get(group, {}).values())


def check_back(broker: Broker, checks: Iterable[CheckBack]) -> None:
    """Ask one client of each check's group, all of them in turn."""
    for check in checks:
        client = _asked(broker.clients, check)
        if client is None:
            log.info("nobody of producer group %s is there to be asked", check.group)
        else:
            client.outgoing.check_transaction(check, broker.options.broker_name)


def _asked(clients: ClientTable, check: CheckBack) -> Client | None:
    members = [
        client for client in clients.producer_groups.get(check.group, {}).values() if client.outgoing.is_open
    ]
    return members[check.number % len(members)] if members else None
