"""Revived messages: a copy of each in the retry topic of its group.

A copy has the log offset of its original as prepared transaction offset, which RocketMQ leaves 0 there. After
a crash between the copies and the record that a checkpoint is done, the broker processes the checkpoint
again, and finds the messages that need no second copy (`known`). RocketMQ: `PopReviveService.reviveRetry`.
"""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import replace

from mqgateway.engine.counting import UNCOUNTED, Counting
from mqgateway.engine.message import (
    PROPERTY_FIRST_POP_TIME,
    PROPERTY_ORIGIN_GROUP,
    RETRY_PREFIX,
    Message,
    StoredMessage,
)
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.pop.names import normal_topic, retry_topic
from mqgateway.engine.pop.records import CheckPoint
from mqgateway.engine.store.message_store import MessageStore, PutResult, PutStatus
from mqgateway.engine.tables.offsets import UNKNOWN, ConsumerOffsets
from mqgateway.engine.tables.topics import PERM_READ, PERM_WRITE, TopicConfig, TopicTable

log = logging.getLogger(__name__)

RETRY_QUEUES = 1
_BATCH = 64


class Retries:
    """Makes the copies; `counts` counts each."""

    def __init__(
        self,
        store: MessageStore,
        topics: TopicTable,
        offsets: ConsumerOffsets,
        options: BrokerOptions,
        store_host: bytes,
        counts: Counting = UNCOUNTED,
    ) -> None:
        self._store = store
        self._topics = topics
        self._offsets = offsets
        self._options = options
        self._store_host = store_host
        self._counts = counts
        self._since: int | None = None
        self._known: dict[tuple[str, int], Counter[int]] = {}

    def expect_copies(self, since: int) -> None:
        """Expect copies made since a time (ms), as their checkpoints are read again."""
        self._since = since

    def forget_copies(self) -> None:
        """Expect no earlier copies: all checkpoints from now on are new."""
        self._since = None
        self._known.clear()

    def copy(self, point: CheckPoint, stored: StoredMessage, *, is_foreign: bool = False) -> PutResult | None:
        """Put the copy of a message into the retry topic; return None if it was made before.

        For a message of another broker, whose log offset means nothing here, that is unknown.
        """
        key = point.key
        topic = key.topic
        if not topic.startswith(RETRY_PREFIX):
            topic = retry_topic(topic, key.group, self._options.enable_retry_topic_v2)
        queue_id = self._queue(topic, key.group, stored.queue_id)
        if self._since is not None and not is_foreign:
            known = self._copies(topic, queue_id, self._since)
            if known[stored.physical_offset] > 0:
                known[stored.physical_offset] -= 1
                return None
        copy = self._message(point, stored, topic, queue_id)
        if is_foreign:
            copy.prepared_transaction_offset = 0
        result = self._store.put(copy)
        if result.status is PutStatus.PUT_OK and result.end_offset:
            self._counts.put(topic, 1, result.end_offset - result.physical_offset)
        if self._counts.meters is not None:
            self._counts.meters.revive_retries.add((key.group, key.topic, result.status.name))
        return result

    def _message(self, point: CheckPoint, stored: StoredMessage, topic: str, queue_id: int) -> Message:
        properties = dict(stored.properties)
        if stored.reconsume_times == 0 or PROPERTY_FIRST_POP_TIME not in properties:
            properties[PROPERTY_FIRST_POP_TIME] = str(point.key.pop_time)
        properties[PROPERTY_ORIGIN_GROUP] = point.key.group
        return Message(
            topic,
            queue_id,
            stored.body,
            properties,
            stored.born_timestamp,
            self._store_host,
            self._store_host,
            stored.flag,
            stored.sys_flag,
            stored.reconsume_times + (0 if point.is_suspended else 1),
            stored.physical_offset,
        )

    def _queue(self, topic: str, group: str, queue_id: int) -> int:
        """Return the queue of the retry topic, which is created or extended if needed."""
        config = self._topics.get(topic)
        queues = RETRY_QUEUES
        if self._options.use_separate_retry_queue:
            normal = self._topics.get(normal_topic(topic, group))
            queues = normal.write_queue_nums if normal is not None else RETRY_QUEUES
        if config is None:
            config = self._topics.create_for_send_back(topic, queues, PERM_READ | PERM_WRITE, 0)
            self._begin(topic, group, queues)
        elif self._options.use_separate_retry_queue and _fewest(config) < queues:
            # Never fewer: the others may have messages.
            read, write = max(queues, config.read_queue_nums), max(queues, config.write_queue_nums)
            self._topics.put(replace(config, read_queue_nums=read, write_queue_nums=write))
            self._begin(topic, group, queues)
        return queue_id if self._options.use_separate_retry_queue and queue_id < queues else 0

    def _begin(self, topic: str, group: str, queues: int) -> None:
        """Commit offset 0 for the queues, so that the group reads them from the beginning."""
        for queue_id in range(queues):
            if self._offsets.query(group, topic, queue_id) == UNKNOWN:
                self._offsets.commit(group, topic, queue_id, 0)

    def _copies(self, topic: str, queue_id: int, since: int) -> Counter[int]:
        """Count the copies of each original in a queue since a time; scanned backwards, once."""
        known = self._known.get((topic, queue_id))
        if known is not None:
            return known
        known = self._known[topic, queue_id] = Counter()
        store = self._store
        start, end = store.min_offset(topic, queue_id), store.max_offset(topic, queue_id)
        while end > start:
            begin = max(start, end - _BATCH)
            for unit in reversed(store.consume_queue_units(topic, queue_id, begin, end - begin)):
                stored = store.look_up(unit[0])
                if stored is None:
                    continue
                if stored.store_timestamp < since:
                    return known
                known[stored.prepared_transaction_offset] += 1
            end = begin
        return known


def _fewest(config: TopicConfig) -> int:
    return min(config.read_queue_nums, config.write_queue_nums)
