"""How far groups are behind, from what they committed: whether anybody of a group is connected or not.

The standard computes the lag of connected groups only, so a group that died raises no alarm. What is shown
is otherwise the standard's: queues without a commit do not count, retry topics do where messages are popped,
under the topic they belong to. Standard: `ConsumerLagCalculator`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from mqgateway.engine.message import RETRY_PREFIX, is_lmq
from mqgateway.engine.pop.inflight import InFlight
from mqgateway.engine.pop.names import normal_topic
from mqgateway.gateway.broker.broker import Broker


class GroupLag(NamedTuple):
    """How far a group is behind in a topic: `messages` = `ready` + `in_flight`; latencies in ms."""

    labels: tuple[str, str, str]
    """Group, topic, and whether these are retries, which are shown with the topic they come from."""
    messages: int
    in_flight: int
    ready: int
    latency: int
    """Age of the oldest message that is not consumed; 0 for none."""
    queueing: int
    """Age of the oldest message that was not given out; 0 for none."""


class StoreTimes:
    """When messages were stored. A group that stands still asks for the same message with every scrape: what
    the scrape before asked for is kept."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int, int], int] = {}
        self._asked: dict[tuple[str, int, int], int] = {}

    def get(self, broker: Broker, topic: str, queue_id: int, offset: int) -> int:
        """Milliseconds; -1 where the message is gone."""
        key = topic, queue_id, offset
        time = self._asked.get(key)
        if time is not None:
            return time
        time = self._known.get(key)
        if time is None:
            offset = max(offset, broker.store.min_offset(topic, queue_id))
            time = broker.store.store_time(topic, queue_id, offset)
        self._asked[key] = time
        return time

    def end_scrape(self) -> None:
        """Forget what was not asked for by the scrape that ends."""
        self._known, self._asked = self._asked, {}


def lags(broker: Broker, times: StoreTimes, now: int) -> Iterator[GroupLag | None]:
    """The lags of all groups in all topics that there are; None where one is not shown. `now` is the wall
    time in ms, as store times are.
    """
    for topic, group in broker.tables.offsets.pairs():
        is_shown = topic in broker.tables.topics and group in broker.tables.groups and not is_lmq(topic)
        if is_shown and topic.startswith(RETRY_PREFIX):
            is_shown = normal_topic(topic, group) in broker.tables.topics  # else nobody pops its topic
        yield lag_of(broker, topic, group, times, now) if is_shown else None


def lag_of(broker: Broker, topic: str, group: str, times: StoreTimes, now: int) -> GroupLag:
    """The lag of one group in one topic."""
    messages = in_flight = 0
    oldest = oldest_ready = now
    ends, offsets = broker.store.max_offsets(topic), broker.tables.offsets
    reads, pops = offsets.pulled_of(group, topic), _pops(broker, group)
    for queue_id, committed in offsets.queues_of(group, topic).items():
        end = ends.get(queue_id, 0)
        if pops is not None:
            popped = pops.count((topic, group, queue_id))
            messages += popped
            in_flight += popped
        if committed >= end:
            continue
        pulled = min(max(committed, reads.get(queue_id, committed)), end)
        messages += end - committed
        in_flight += pulled - committed
        stored = _stored(broker, times, topic, queue_id, committed, now)
        oldest = min(oldest, stored)
        if pulled < end:
            if pulled > committed:
                stored = _stored(broker, times, topic, queue_id, pulled, now)
            oldest_ready = min(oldest_ready, stored)
    ready = messages - in_flight
    labels = shown(topic, group)
    return GroupLag(labels, messages, in_flight, ready, now - oldest, now - oldest_ready)


def shown(topic: str, group: str) -> tuple[str, str, str]:
    """Group, topic, and "true" for one of retries, which is shown as what is retried; else "false"."""
    if topic.startswith(RETRY_PREFIX):
        return group, normal_topic(topic, group), "true"
    return group, topic, "false"


def _pops(broker: Broker, group: str) -> InFlight | None:
    """Messages that are out by pops, and before the group's offset: not so where it pops in order."""
    out = broker.pop.log.in_flight
    if not len(out):
        return None
    config = broker.tables.groups.get(group)
    return None if config is not None and config.consume_message_orderly else out


def _stored(broker: Broker, times: StoreTimes, topic: str, queue_id: int, offset: int, now: int) -> int:
    time = times.get(broker, topic, queue_id, offset)
    return now if time < 0 else time
