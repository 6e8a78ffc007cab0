"""Topics whose partitions moved between broker groups, which RocketMQ's clients cannot use.

They know a queue by its group and its number there. Of a queue that moved they would read the messages again,
and write to what is no partition any more.
"""

from __future__ import annotations

from mqgateway.engine.tables.attributes import KAFKA_PARTITIONS
from mqgateway.engine.tables.partition_layout import MoveState, parse_layout
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.broker.errors import OperationError, Reason


def check_not_moved(config: TopicConfig) -> None:
    """Check that no partition of a topic has moved, or is moving. Raises `OperationError`."""
    text = config.attributes.get(KAFKA_PARTITIONS)
    layout = None if text is None else parse_layout(text)
    if layout is not None and any(move.state is not MoveState.CANCELLED for move in layout.moves):
        raise OperationError(
            Reason.NO_PERMISSION,
            f"topic[{config.topic_name}] has partitions that move between broker groups: only Kafka clients "
            "can use it",
        )
