"""Operations on one queue, of a static topic or not."""

from mqgateway.gateway.broker.consume.operations import QueueOperations
from mqgateway.gateway.broker.static_topics import messages, offsets

OF_ANY_TOPIC = QueueOperations(
    messages.pull,
    offsets.search_offset,
    offsets.max_offset,
    offsets.min_offset,
    offsets.earliest_store_time,
    offsets.query_offset,
    offsets.update_offset,
)
"""Operations on queues of static topics on any broker, and on the queues of this broker."""
