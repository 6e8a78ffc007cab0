"""What can be done with one queue, whether of a static topic or not."""

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
"""With queues of static topics, wherever they lie, and with the queues of this broker."""
