"""Topics that are made for a message: who sent it hears of it once the name servers know them.

A consumer that starts next finds a route then. Standard: `TopicConfigManager.createTopicInSendMessageMethod`,
which registers before it goes on.
"""

from __future__ import annotations

from typing import TypeVar

from twisted.internet.defer import Deferred

from mqgateway.gateway.broker.broker import Broker

T = TypeVar("T")

LONGEST_WAIT_SECONDS = 1.0
"""How long a sender waits for name servers at most."""


def once_registered(broker: Broker, outcome: T | Deferred[T]) -> T | Deferred[T]:
    """The outcome, but not before the name servers have heard of the topics as they are now, or cannot."""
    known = broker.cluster.registration.heard(LONGEST_WAIT_SECONDS)
    if known.called:
        return outcome
    if isinstance(outcome, Deferred):
        return outcome.addCallback(lambda done: known.addCallback(lambda _: done))
    return known.addCallback(lambda _: outcome)
