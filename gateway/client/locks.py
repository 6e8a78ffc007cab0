"""Locks on queues that a group consumes in order, at the brokers that have them.

Standard: `RebalanceImpl.lock`, `RebalanceImpl.unlock`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from mqgateway.gateway.client.client import Client
from mqgateway.gateway.client.errors import ClientError
from mqgateway.gateway.codec.bodies import MessageQueue

log = logging.getLogger(__name__)


async def lock(client: Client, group: str, queues: Iterable[MessageQueue]) -> set[MessageQueue]:
    """Ask the brokers for queues; those that are ours now. A broker that does not answer gives none."""
    locked: set[MessageQueue] = set()
    for broker, theirs in _by_broker(queues).items():
        address = client.routes.master(broker)
        if address is None:
            continue
        try:
            locked |= await client.calls.lock(address, group, theirs)
        except ClientError as error:
            log.log(client.failure_level, "queues of %s cannot be locked: %s", broker, error)
    return locked


def unlock(client: Client, group: str, queues: Iterable[MessageQueue]) -> None:
    """Give queues back to their brokers."""
    for broker, theirs in _by_broker(queues).items():
        address = client.routes.master(broker)
        if address is not None:
            client.calls.unlock(address, group, theirs)


def _by_broker(queues: Iterable[MessageQueue]) -> dict[str, list[MessageQueue]]:
    brokers: dict[str, list[MessageQueue]] = {}
    for queue in queues:
        brokers.setdefault(queue.broker_name, []).append(queue)
    return brokers
