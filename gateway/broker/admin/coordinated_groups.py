"""Groups that a front end coordinates, for requests of administration: their members and shared partitions.

RocketMQ has no such groups. Tools see their members as those of other groups, of another language.
"""

from __future__ import annotations

from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.clients.members import CLUSTERING, CONSUME_ACTIVELY
from mqgateway.gateway.broker.coordinated import CoordinatedGroup
from mqgateway.gateway.codec.bodies import (
    Connection,
    ConsumerConnection,
    MessageQueue,
    OffsetWrapper,
    SubscriptionData,
)

ALL = "*"
LANGUAGE = "OTHER"
"""Name of the language of clients without one of RocketMQ's."""
UNNUMBERED_VERSION = 2**31 - 1
"""Version of a client without one of RocketMQ's: tools show HIGHER_VERSION."""


def coordinated_group(broker: Broker, group: str) -> CoordinatedGroup | None:
    """Return a group that a front end coordinates, None if there is none with members."""
    found = None if broker.coordinated is None else broker.coordinated.group(group)
    return found if found is not None and found.members else None


def connections(group: CoordinatedGroup) -> ConsumerConnection:
    """Return the members of a group, with the topics that they subscribe to or have partitions of."""
    topics = {topic for member in group.members for topic, _ in member.assigned}
    for member in group.members:
        topics.update(member.subscriptions)
    return ConsumerConnection(
        connection_set=[
            Connection(member.client_id, member.host, LANGUAGE, UNNUMBERED_VERSION)
            for member in group.members
        ],
        subscription_table={topic: SubscriptionData(topic, ALL) for topic in sorted(topics)},
        consume_type=CONSUME_ACTIVELY,
        message_model=CLUSTERING,
    )


def shared_progress(broker: Broker, group: str) -> dict[MessageQueue, OffsetWrapper]:
    """Return the progress of a share group, whose offsets are not in the broker's table of offsets.

    An unknown lag counts as none. Records wait for a group without members too.
    """
    found = None if broker.coordinated is None else broker.coordinated.group(group)
    name = broker.options.broker_name
    table = {}
    for topic, partition, _, lag in () if found is None else found.shared:
        end = max(0, broker.store.readable_end(topic, partition))
        consumed = max(0, end - (lag or 0))
        table[MessageQueue(topic, name, partition)] = OffsetWrapper(end, consumed, consumed)
    return table
