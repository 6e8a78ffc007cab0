"""Positions of groups in queues: the offsets from which they have messages left, as the broker knows them."""

from collections.abc import Iterator
from itertools import chain

from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.clients.members import CLUSTERING, CONSUME_PASSIVELY


def positions(broker: Broker, group: str, topic: str) -> dict[int, int]:
    """Return the positions of a group by queue: its commits, or where its members began to read.

    A member that hangs with its first messages commits nothing. RocketMQ: `ConsumerLagCalculator`, which
    leaves out queues without a commit.
    """
    offsets = broker.tables.offsets
    committed, begun = offsets.queues_of(group, topic), offsets.begun_of(group, topic)
    return {**begun, **committed} if begun and _will_commit(broker, group, topic) else committed


def pairs(broker: Broker) -> Iterator[tuple[str, str]]:
    """Yield topic and group of every position, as they are now."""
    return chain(broker.tables.offsets.pairs(), _begun_pairs(broker))


def topics_of(broker: Broker, group: str) -> set[str]:
    """Return the topics in which a group has a position."""
    begun = {topic for topic, of in _begun_pairs(broker) if of == group}
    return broker.tables.offsets.topics_of(group) | begun


def _begun_pairs(broker: Broker) -> Iterator[tuple[str, str]]:
    for topic, group in broker.tables.offsets.begun_pairs():
        if _will_commit(broker, group, topic):
            yield topic, group


def _will_commit(broker: Broker, group: str, topic: str) -> bool:
    """Return True if connected members consume a topic and commit to the broker.

    Broadcasting members, and those that pull by themselves, may keep their offsets elsewhere.
    """
    members = broker.clients.consumer_group(group)
    return (
        members is not None
        and members.message_model == CLUSTERING
        and members.consume_type == CONSUME_PASSIVELY
        and topic in members.subscriptions
    )
