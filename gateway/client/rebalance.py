"""What a new division of a topic's queues means for one member; pure.

`share` asks the strategy; `changes` compares its answer with the queues the member has.
Standard: `RebalanceImpl.rebalanceByTopic`, `updateProcessQueueTableInRebalance`.
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
"""Time between two divisions when nothing has happened."""
INTERVAL_SECONDS_MIN = 1.0
"""Divisions are at least so far apart; one that could not be carried out is tried again after this."""
LOCK_RETRY_SECONDS = 0.5
"""After a queue could not be locked."""


class Changes(NamedTuple):
    """Queues to give up, and queues to begin with."""

    drop: list[MessageQueue]
    add: list[MessageQueue]


def share(
    strategy: Strategy, group: str, client_id: str, queues: Collection[MessageQueue], members: Collection[str]
) -> set[MessageQueue] | None:
    """The queues of `client_id`; None when nothing can be said: the strategy failed.

    A client that the broker does not count among the members yet gets nothing.
    """
    if client_id not in members or not queues:
        return set()
    try:
        # Java compares UTF-16 units.
        ordered = sorted(members, key=lambda member: member.encode("utf-16-be", "surrogatepass"))
        return set(strategy.allocate(group, client_id, sorted(queues), ordered))
    except Exception:
        log.exception("the strategy %s cannot share the queues of group %s", strategy.name, group)
        return None


def changes(
    topic: str, wanted: Collection[MessageQueue], held: Mapping[MessageQueue, ProcessQueue], now: int
) -> Changes:
    """From the queues that are held to those that are wanted; both in order.

    A queue that is kept but was not pulled for too long is dropped too, and begun anew at once.
    """
    drop = [
        queue
        for queue, process in held.items()
        if queue.topic == topic and (queue not in wanted or process.is_pull_overdue(now))
    ]
    add = [queue for queue in wanted if queue not in held or queue in drop]
    return Changes(sorted(drop), sorted(add))
