"""Lag of consumer groups, from their positions, with or without connected clients.

RocketMQ computes the lag of connected groups only, so a group that died raises no alarm; and it leaves out
queues without a commit, so a member that hangs with its first messages raises none. Otherwise the values are
RocketMQ's. Retry topics count if messages are popped, under the topic they belong to. RocketMQ:
`ConsumerLagCalculator`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from mqgateway.engine.message import RETRY_PREFIX
from mqgateway.engine.names import is_lmq
from mqgateway.engine.pop.inflight import InFlight
from mqgateway.engine.pop.names import normal_topic
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.consume.positions import pairs, positions


class GroupLag(NamedTuple):
    """Lag of a group in a topic: `messages` = `ready` + `in_flight`; latencies in ms."""

    labels: tuple[str, str, str]
    """Group, topic, and the retry flag. Retries are shown under the topic they come from."""
    messages: int
    in_flight: int
    ready: int
    latency: int
    """Age of the oldest message that is not consumed; 0 for none."""
    queueing: int
    """Age of the oldest message that was not delivered; 0 for none."""


class StoreTimes:
    """Cache of the store times of messages, with the entries that the last scrape used.

    A group without progress needs the same message at every scrape.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, int, int], int] = {}
        self._queried: dict[tuple[str, int, int], int] = {}

    def get(self, broker: Broker, topic: str, queue_id: int, offset: int, now: int) -> int:
        """Return the store time in ms; `now` if the message was deleted."""
        key = topic, queue_id, offset
        time = self._queried.get(key)
        if time is None:
            time = self._known.get(key)
            if time is None:
                offset = max(offset, broker.store.min_offset(topic, queue_id))
                time = broker.store.store_time(topic, queue_id, offset)
            self._queried[key] = time
        return now if time < 0 else time

    def end_scrape(self) -> None:
        """Evict the entries that this scrape did not use."""
        self._known, self._queried = self._queried, {}


class GroupProgress(NamedTuple):
    """Progress of a group in a topic, under the names that both have in the tables."""

    topic: str
    group: str
    committed: int
    """Sum of the group's positions in the topic's queues."""
    behind: int
    """Number of messages of these queues after the positions."""
    lag: GroupLag | None
    """The lag that RocketMQ's metrics show; None if they show none."""


def progress(broker: Broker, times: StoreTimes, now: int) -> Iterator[GroupProgress | None]:
    """Yield the progress of all groups in all topics; None if only one of the two exists.

    `now` is the wall time in ms, as store times are.
    """
    topics, groups = broker.tables.topics, broker.tables.groups
    for topic, group in pairs(broker):
        if topic in topics and group in groups and not is_lmq(topic):
            yield _progress_of(broker, topic, group, times, now)
        else:
            yield None


def _progress_of(broker: Broker, topic: str, group: str, times: StoreTimes, now: int) -> GroupProgress:
    total = behind = popped = pulled = 0
    oldest = oldest_ready = now
    ends, offsets = broker.store.max_offsets(topic), broker.tables.offsets
    reads, pops = offsets.pulled_of(group, topic), _pops(broker, group)
    for queue_id, committed in positions(broker, group, topic).items():
        total += committed
        if pops is not None:
            popped += pops.count((topic, group, queue_id))
        end = ends.get(queue_id, 0)
        if committed >= end:
            continue
        read = min(max(committed, reads.get(queue_id, committed)), end)
        behind += end - committed
        pulled += read - committed
        stored = times.get(broker, topic, queue_id, committed, now)
        oldest = min(oldest, stored)
        if read < end:
            if read > committed:
                stored = times.get(broker, topic, queue_id, read, now)
            oldest_ready = min(oldest_ready, stored)
    labels = shown(topic, group)
    lag = None
    if labels[2] == "false" or labels[1] in broker.tables.topics:  # else its topic is not popped
        in_flight, ready = popped + pulled, behind - pulled
        lag = GroupLag(labels, popped + behind, in_flight, ready, now - oldest, now - oldest_ready)
    return GroupProgress(topic, group, total, behind, lag)


def shown(topic: str, group: str) -> tuple[str, str, str]:
    """Return the labels of a topic: group, topic, "true" for a retry topic, else "false".

    A retry topic is shown under the topic whose messages are retried.
    """
    if topic.startswith(RETRY_PREFIX):
        return group, normal_topic(topic, group), "true"
    return group, topic, "false"


def _pops(broker: Broker, group: str) -> InFlight | None:
    """Return the popped messages in flight before the group's offset; None for a group that pops in order,
    which has none there."""
    out = broker.pop.log.in_flight
    if not len(out):
        return None
    config = broker.tables.groups.get(group)
    return None if config is not None and config.consume_message_orderly else out
