"""Waking of what waits for messages: pulls, pops, notifications, clients of lite topics, slaves."""

from __future__ import annotations

from collections.abc import Sequence

from mqgateway.engine.store.message_store import Arrival
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.consume.long_polling import resume_all


def wake(broker: Broker, arrivals: Sequence[Arrival]) -> None:
    """Wake the requests that wait for these arrivals, and then send them to slaves.

    It is called for each read of a connection, often for one message that nothing waits for: so it looks
    before it calls.
    """
    pulls, pop, lite, replication = broker.consume.held_pulls, broker.pop, broker.lite, broker.replication
    if pulls.total:
        resume_all(pulls.arrived(arrivals))
    if pop.parked.total:
        pop.parked.arrived(arrivals)
    if pop.parked_notifications.total:
        pop.parked_notifications.arrived(arrivals)
    if lite.subscriptions.count:
        lite.arrived(arrivals)
    if replication is not None:
        replication.arrived()
