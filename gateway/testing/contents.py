"""Messages of a topic and progress of a group, for assertions of tests."""

from __future__ import annotations

from mqgateway.engine.store.message_store import MessageStore
from mqgateway.gateway.broker.operations import Operations, QueueProgress
from mqgateway.gateway.client.message import ReceivedMessage
from mqgateway.gateway.client.reading import read_messages


def stored_messages(store: MessageStore, broker_name: str, topic: str) -> list[ReceivedMessage]:
    """Return all messages of a topic of a broker, in the order of the log."""
    found: list[ReceivedMessage] = []
    for queue in store.queues().get(topic, ()):
        offset, end = store.min_offset(topic, queue), store.max_offset(topic, queue)
        while offset < end:
            got = store.get(topic, queue, offset, 1000, accept=None)
            found += read_messages(got.body, broker_name)
            if got.next_offset <= offset:
                break
            offset = got.next_offset
    return sorted(found, key=lambda message: message.physical_offset)


def unacknowledged(operations: Operations, group: str, topic: str) -> int:
    """Return the number of a topic's popped messages without acknowledgement; their offsets are committed."""
    return sum(one.in_flight for one in _progress(operations, group, topic))


def lag(operations: Operations, group: str, topic: str) -> int:
    """Return the number of a topic's messages that are behind the committed offsets of a group."""
    progress = _progress(operations, group, topic)
    return sum(one.range.end - max(one.offset, one.range.begin) for one in progress)


def _progress(operations: Operations, group: str, topic: str) -> list[QueueProgress]:
    return operations.offsets.progress(group, topic, operations.topics.queues(topic))
