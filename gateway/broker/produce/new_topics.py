"""Topics created for a message: its sender is answered once the name servers know them.

A consumer that starts next then finds a route. RocketMQ: `TopicConfigManager.createTopicInSendMessageMethod`,
which registers before it returns.
"""

from __future__ import annotations

from typing import TypeVar

from twisted.internet.defer import Deferred

from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.runtime.outcomes import then

T = TypeVar("T")

LONGEST_WAIT_SECONDS = 1.0
"""Maximum wait of a sender for name servers."""


def once_registered(broker: Broker, outcome: T | Deferred[T]) -> T | Deferred[T]:
    """Delay a result until the name servers know the current topics, or cannot be reached."""
    known = broker.cluster.registration.heard(LONGEST_WAIT_SECONDS)
    if known.called:
        return outcome
    return then(outcome, lambda done: known.addCallback(lambda _: done))
