"""Queue changes of one member after a reallocation of a topic's queues; no I/O.

`share` calls the strategy; `changes` compares its result with the queues that the member holds.
RocketMQ: `RebalanceImpl.rebalanceByTopic`, `updateProcessQueueTableInRebalance`.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import NamedTuple

from mqgateway.gateway.client.allocation import Strategy
from mqgateway.gateway.client.process_queue import ProcessQueue
from mqgateway.gateway.codec.bodies import MessageQueue

log = logging.getLogger(__name__)

INTERVAL_SECONDS = 20.0
"""Interval of regular rebalances."""
INTERVAL_SECONDS_MIN = 1.0
"""Minimum interval of rebalances, after which an incomplete one is retried."""
LOCK_RETRY_SECONDS = 0.5
"""Delay after a queue could not be locked."""


class Changes(NamedTuple):
    """Queues to release and queues to acquire."""

    drop: list[MessageQueue]
    add: list[MessageQueue]


def share(
    strategy: Strategy, group: str, client_id: str, queues: Collection[MessageQueue], members: Collection[str]
) -> set[MessageQueue] | None:
    """Return the queues of `client_id`; None if the strategy failed.

    The result is empty for a client that the broker does not list as a member yet.
    """
    if client_id not in members or not queues:
        return set()
    try:
        # As in Java, which compares UTF-16 code units.
        ordered = sorted(members, key=lambda member: member.encode("utf-16-be", "surrogatepass"))
        return set(strategy.allocate(group, client_id, sorted(queues), ordered))
    except Exception:
        log.exception("the strategy %s cannot share the queues of group %s", strategy.name, group)
        return None


def changes(
    topic: str, wanted: Collection[MessageQueue], held: Mapping[MessageQueue, ProcessQueue], now: int
) -> Changes:
    """Compare held with allocated queues; both results are sorted.

    A kept queue that was not pulled for too long is released too, and acquired again at once.
    """
    drop = [
        queue
        for queue, process in held.items()
        if queue.topic == topic and (queue not in wanted or process.is_pull_overdue(now))
    ]
    add = [queue for queue in wanted if queue not in held or queue in drop]
    return Changes(sorted(drop), sorted(add))
