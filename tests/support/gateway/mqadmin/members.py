"""A member of a consumer group that consumes whatever comes."""

from __future__ import annotations

from collections.abc import Sequence

from mqgateway.gateway.client.listening import Consumed, Context
from mqgateway.gateway.client.message import ReceivedMessage
from mqgateway.gateway.client.push import PushConsumer
from tests.support.gateway.client.cluster import Cluster


def connect(
    cluster: Cluster, group: str, topic: str, wanted: str = "*", *, is_ordered: bool = False
) -> tuple[PushConsumer, list[bytes]]:
    """The member, and the bodies that it has consumed; time passes until it has what is there."""
    bodies: list[bytes] = []

    def listen(messages: Sequence[ReceivedMessage], context: Context) -> Consumed:
        bodies.extend(one.body for one in messages)
        return Consumed.SUCCESS

    given = cluster.settings({"consume_from_where": "CONSUME_FROM_FIRST_OFFSET"})
    consumer = PushConsumer(group, cluster.around, listen, is_ordered=is_ordered, **given)
    cluster.run(consumer.subscribe(topic, wanted))
    cluster.begin(consumer)
    cluster.settle(20.0)
    return consumer, bodies
