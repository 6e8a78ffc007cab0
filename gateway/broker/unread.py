"""Messages of a broker that its consumers have not consumed: what its removal would leave behind.

A group counts in the queues where it has committed an offset. Messages of a queue without any commit are
reported as read by no group, and so are those that only broadcast consumers read, which keep offsets
themselves. Messages that were popped count until they are acknowledged; delayed messages, timers and half
messages count until they are delivered or settled. System topics do not count otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from mqgateway.engine.message import DLQ_PREFIX, SCHEDULE_TOPIC, TIMER_TOPIC
from mqgateway.engine.steps import Steps
from mqgateway.gateway.broker.broker import Broker


class UnreadKind(StrEnum):
    """Reason why messages were not consumed yet."""

    LAG = "not consumed"
    NO_GROUP = "read by no group"
    DEAD = "dead letters"
    POPPED = "popped, not acknowledged"
    DELAYED = "delayed"
    TIMER = "timers"
    HALF = "half messages of transactions"


class Unread(NamedTuple):
    """Number of messages of a topic that were not consumed; `group` is empty unless it is one group's lag."""

    kind: UnreadKind
    topic: str
    group: str
    messages: int


def unread(broker: Broker, found: list[Unread]) -> Steps[None]:
    """Append what was not consumed to `found`, in a cooperative task with one step a topic."""
    for name in broker.tables.topics.names():
        if not broker.tables.topics.is_system(name):
            found += _of_topic(broker, name)
            yield
    found += _pending(broker)


def _of_topic(broker: Broker, topic: str) -> Iterator[Unread]:
    """Yield the lag of each group, and the messages of queues in which no group has committed."""
    tables, store = broker.tables, broker.store
    lags: dict[str, int] = {}
    without_group = 0
    offsets = {
        group: tables.offsets.queues_of(group, topic)
        for group in tables.offsets.groups_of(topic)
        if group in tables.groups
    }
    for queue_id, end in store.max_offsets(topic).items():
        begin = store.min_offset(topic, queue_id)
        committed = {group: queues[queue_id] for group, queues in offsets.items() if queue_id in queues}
        for group, offset in committed.items():
            lags[group] = lags.get(group, 0) + max(0, end - max(begin, offset))
        if not committed:
            without_group += max(0, end - begin)
    for group, messages in sorted(lags.items()):
        if messages:
            yield Unread(UnreadKind.LAG, topic, group, messages)
    if without_group:
        kind = UnreadKind.DEAD if topic.startswith(DLQ_PREFIX) else UnreadKind.NO_GROUP
        yield Unread(kind, topic, "", without_group)


def _pending(broker: Broker) -> Iterator[Unread]:
    """Yield the messages that are delivered or settled later."""
    popped: dict[tuple[str, str], int] = {}
    for (topic, group, _), messages in broker.pop.log.in_flight.items():
        popped[topic, group] = popped.get((topic, group), 0) + messages
    for (topic, group), messages in sorted(popped.items()):
        yield Unread(UnreadKind.POPPED, topic, group, messages)
    delivered = broker.delays.offsets
    delayed = sum(
        max(0, end - delivered.get(queue_id + 1, 0))
        for queue_id, end in broker.store.max_offsets(SCHEDULE_TOPIC).items()
    )
    if delayed:
        yield Unread(UnreadKind.DELAYED, SCHEDULE_TOPIC, "", delayed)
    timers = broker.timers.pending + broker.timers.enqueue.behind if broker.timers.is_enabled else 0
    if timers:
        yield Unread(UnreadKind.TIMER, TIMER_TOPIC, "", timers)
    for topic, messages in sorted(broker.transactions.counts.table.items()):
        if messages > 0:
            yield Unread(UnreadKind.HALF, topic, "", messages)
