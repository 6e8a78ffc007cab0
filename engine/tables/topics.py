"""Topics: their configuration, built-in topics, creation on use, and their file.

`TopicTable.get` serves sends and pulls. Every change raises the table's version, is appended to the journal
of `topics.json` and is reported to watchers. RocketMQ: `TopicConfig`, `TopicConfigManager`.
"""

import logging
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from mqgateway.engine import json_members
from mqgateway.engine.clock import Clock
from mqgateway.engine.disk import Disk
from mqgateway.engine.json_members import LONG_BITS
from mqgateway.engine.message import (
    BENCHMARK_TOPIC,
    DEFAULT_TOPIC,
    OFFSET_MOVED_EVENT,
    ROCKSDB_TRANS_HALF_TOPIC,
    ROCKSDB_TRANS_OP_HALF_TOPIC,
    SCHEDULE_TOPIC,
    SELF_TEST_TOPIC,
    TIMER_TOPIC,
    TRANS_HALF_TOPIC,
    TRANS_OP_HALF_TOPIC,
)
from mqgateway.engine.names import is_lmq, is_system_topic, validate_topic
from mqgateway.engine.steps import Steps, in_parts, run
from mqgateway.engine.tables.attributes import (
    KAFKA_FORMAT,
    MESSAGE_FORMAT,
    TOPIC_ATTRIBUTES,
    AttributeRefused,
    altered,
)
from mqgateway.engine.tables.config_table import ConfigTable
from mqgateway.engine.worker import Worker

if TYPE_CHECKING:
    from mqgateway.engine.options import BrokerOptions

log = logging.getLogger(__name__)

PERM_READ = 4
PERM_WRITE = 2
PERM_INHERIT = 1
"""Bits of a permission: consumers may pull, producers may send, topics may be created from this one."""

UNIT_FLAG = 1
UNIT_SUB_FLAG = 2
"""Bits of a topic's system flag: of a unit, or of its consumers. RocketMQ: `TopicSysFlag`."""

FILTER_TYPES = ("SINGLE_TAG", "MULTI_TAG")
"""Messages with one tag, or with several. RocketMQ: `TopicFilterType`."""

SCHEDULE_QUEUES = 18
REVIVE_QUEUES = 8
BENCHMARK_QUEUES = 1024
_NAMES_MAX = 20
DELETED = "deletedTopics"
"""Member of the file, mqgateway's: the log offset at which each deleted topic ended.

RocketMQ ignores it, and its next write drops it.
"""
_LOG_OFFSET = "logOffset"


@dataclass(slots=True)
class TopicConfig:
    """Configuration of a topic. RocketMQ: `TopicConfig`."""

    topic_name: str
    read_queue_nums: int = 16
    write_queue_nums: int = 16
    perm: int = PERM_READ | PERM_WRITE
    topic_filter_type: str = "SINGLE_TAG"
    topic_sys_flag: int = 0
    order: bool = False
    attributes: dict[str, str] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The name of the topic."""
        return self.topic_name

    def __str__(self) -> str:
        """Return RocketMQ's text, which some remarks contain."""
        bits = ((PERM_READ, "R"), (PERM_WRITE, "W"), (PERM_INHERIT, "X"))
        perm = "".join(letter if self.perm & bit else "-" for bit, letter in bits)
        attributes = ", ".join(f"{key}={value}" for key, value in self.attributes.items())
        return (
            f"TopicConfig [topicName={self.topic_name}, readQueueNums={self.read_queue_nums}, "
            f"writeQueueNums={self.write_queue_nums}, perm={perm}, "
            f"topicFilterType={self.topic_filter_type}, topicSysFlag={self.topic_sys_flag}, "
            f"order={'true' if self.order else 'false'}, attributes={{{attributes}}}]"
        )

    @property
    def has_batch_queues(self) -> bool:
        """True if its messages are in batch consume queues."""
        return self.attributes.get("queue.type") == "BatchCQ"

    @property
    def keeps_kafka_batches(self) -> bool:
        """Return True if record batches of Kafka are stored whole, and no others are."""
        return self.attributes.get(MESSAGE_FORMAT) == KAFKA_FORMAT

    @property
    def is_compacted(self) -> bool:
        """True if only the newest message of each key is kept. RocketMQ: `CleanupPolicyUtils`."""
        return self.attributes.get("cleanup.policy") == "COMPACTION"

    def to_json(self) -> dict[str, Any]:
        """Return the fields under RocketMQ's names."""
        return {
            "attributes": self.attributes,
            "order": self.order,
            "perm": self.perm,
            "readQueueNums": self.read_queue_nums,
            "topicFilterType": self.topic_filter_type,
            "topicName": self.topic_name,
            "topicSysFlag": self.topic_sys_flag,
            "writeQueueNums": self.write_queue_nums,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Parse the fields; missing ones have their defaults. Raises `ConfigError`."""
        return cls(
            json_members.read_name(value, "topicName"),
            json_members.read(value, "readQueueNums", 16),
            json_members.read(value, "writeQueueNums", 16),
            json_members.read(value, "perm", PERM_READ | PERM_WRITE),
            json_members.read_enum(value, "topicFilterType", FILTER_TYPES) or "SINGLE_TAG",
            json_members.read(value, "topicSysFlag", 0),
            json_members.read(value, "order", False),
            json_members.read_texts(value, "attributes"),
        )


class TopicTable(ConfigTable[TopicConfig]):
    """All topics of a broker, by name. `log_range` returns begin and end of its log. With `has_lmq_topics`
    each LMQ queue is a topic of one queue, which is not listed. RocketMQ: `LmqTopicConfigManager`."""

    entry = TopicConfig
    member = "topicConfigTable"
    sides = (DELETED,)

    def __init__(
        self,
        options: "BrokerOptions",
        disk: Disk,
        path: str,
        clock: Clock,
        worker: Worker | None = None,
        *,
        log_range: Callable[[], tuple[int, int]] = lambda: (0, 0),
    ) -> None:
        super().__init__(disk, path, clock, worker, built_in_topics(options))
        self._options = options
        self._log_range = log_range
        self._change_watchers: list[Callable[[Sequence[TopicConfig]], None]] = []
        self.has_lmq_topics = False
        self.left_out: Counter[str] = Counter()
        """Discarded messages and pops of deleted topics since the start, by topic."""
        self._built_in = frozenset(self._table)

    def watch_changes(self, callback: Callable[[Sequence[TopicConfig]], None]) -> None:
        """Call back with new or changed topics; with none when one was deleted."""
        self._change_watchers.append(callback)

    def _implied(self, name: str) -> TopicConfig | None:
        return TopicConfig(name, 1, 1) if self.has_lmq_topics and is_lmq(name) else None

    # Deleted topics. A record of the log belongs to the current topic of its name, unless it is before the
    # offset at which a topic of that name ended. Data about such records (timers, delays, half messages,
    # pops) is discarded, whether the topic was created again or not. A topic that is in no table, but was
    # never deleted, is not treated so: its messages may be newer than the table.

    def is_past(self, name: str, log_offset: int) -> bool:
        """Return True if a record at `log_offset` belongs to a topic of this name that was deleted since."""
        ended = self._sides[DELETED].get(name)
        return ended is not None and log_offset < ended[_LOG_OFFSET]

    def leaves_out(self, name: str, log_offset: int) -> bool:
        """Return `is_past`; count the record as discarded, and log the first one of each topic."""
        if not self.is_past(name, log_offset):
            return False
        if name not in self.left_out:
            log.warning("topic %s was deleted: its waiting messages are discarded", name)
        self.left_out[name] += 1
        return True

    def cut_ends(self) -> None:
        """Limit the ends of topics to the end of the log, which a crash or a truncation may have moved. To be
        called once this broker may write the log."""
        end = self._log_range()[1]
        beyond = [name for name, ended in self._sides[DELETED].items() if ended[_LOG_OFFSET] > end]
        for name in beyond:
            self._sides[DELETED][name] = {_LOG_OFFSET: end}
        if beyond:
            self._changed(sides=[(DELETED, name) for name in beyond])

    def ends(self) -> dict[str, dict[str, int]]:
        """Return the ends of topics, as reported to slaves."""
        return self._copied_sides().get(DELETED, {})

    def adopt(self, reported: Mapping[str, Any], log_offset: int = 0) -> bool:
        """Adopt a table as `ConfigTable.adopt`. RocketMQ's master does not report the ends of topics: those
        that its table lacks ended at `log_offset` at the earliest, the end of our log at the request."""
        before, ended = set(self._table), self._sides[DELETED]
        if not super().adopt(reported):
            return False
        if DELETED not in reported:
            gone = [name for name in before - self._table.keys() if not self.is_system(name)]
            self._sides[DELETED] = ended | {name: {_LOG_OFFSET: log_offset} for name in gone}
            self._file.save(self._chunks)
        return True

    def _copied_sides(self) -> dict[str, dict[str, dict[str, Any]]]:
        return {side: table for side, table in super()._copied_sides().items() if table}

    def _read_sides(self, table: Mapping[str, Any]) -> dict[str, dict[str, dict[str, Any]]]:
        sides = super()._read_sides(table)
        for name, ended in sides[DELETED].items():
            sides[DELETED][name] = {_LOG_OFFSET: json_members.read(ended, _LOG_OFFSET, 0, LONG_BITS)}
        return sides

    def _delete_beside(self, name: str) -> list[tuple[str, str]]:
        """Record the end of the topic, and drop ends before the beginning of the log."""
        ends, (begin, end) = self._sides[DELETED], self._log_range()
        if name not in self._table:
            return []
        forgotten = [each for each, ended in ends.items() if ended[_LOG_OFFSET] <= begin]
        if len(ends) - len(forgotten) >= self._options.max_topics:
            forgotten.append(min(ends, key=lambda each: ends[each][_LOG_OFFSET]))
        for each in set(forgotten):
            del ends[each]
            self.left_out.pop(each, None)
        ends[name] = {_LOG_OFFSET: end}
        self.left_out.pop(name, None)
        return [(DELETED, each) for each in dict.fromkeys([*forgotten, name])]

    def restore(self, queues: Mapping[str, int], attributes_of: Callable[[str], dict[str, str]]) -> list[str]:
        """Add topics that have messages and are not in the table, with the given queues; return their names.
        If the file could not be read, topics of an older one are extended to that number of queues."""
        missing = [name for name in queues if name not in self]
        for name in missing:
            count = queues[name]
            self._table[name] = TopicConfig(name, count, count, attributes=attributes_of(name))
        grown = [name for name in queues if self._file.was_lost and self._lacks_queues(name, queues[name])]
        for name in grown:
            config, count = self._table[name], queues[name]
            self._table[name] = replace(
                config,
                read_queue_nums=max(count, config.read_queue_nums),
                write_queue_nums=max(count, config.write_queue_nums),
            )
        for what, names in (("were in no table", missing), ("had fewer queues in it", grown)):
            if names:
                shown = ", ".join(sorted(names)[:_NAMES_MAX]) + (" ..." if len(names) > _NAMES_MAX else "")
                log.warning(
                    "%d topics have messages and %s: repaired from the log: %s", len(names), what, shown
                )
        if missing or grown:
            self._changed_all()
        return missing

    def _lacks_queues(self, name: str, count: int) -> bool:
        config = self._table.get(name)
        return config is not None and min(config.read_queue_nums, config.write_queue_nums) < count

    def has_batch_queues(self, name: str) -> bool:
        """Return True if the topic of this name has batch consume queues."""
        config = self._table.get(name)
        return config is not None and config.has_batch_queues

    def is_compacted(self, name: str) -> bool:
        """Return True if only the newest message of each key of the topic is kept."""
        config = self._table.get(name)
        return config is not None and config.is_compacted

    def compacted(self) -> list[tuple[str, int]]:
        """Return names and numbers of queues of all compacted topics."""
        return [
            (config.topic_name, config.write_queue_nums)
            for config in self._table.values()
            if config.is_compacted
        ]

    def is_system(self, name: str) -> bool:
        """Return True if the name is reserved, for every broker or for this one."""
        return name in self._built_in or is_system_topic(name)

    def put(self, *configs: TopicConfig) -> None:
        """Create or replace topics as `ConfigTable.put`, and notify the watchers."""
        super().put(*configs)
        changed = [config for config in configs if self._implied(config.key) is None]
        for callback in self._change_watchers:
            callback(changed)

    def why_not(self, config: TopicConfig) -> str | None:
        """Return the reason, in RocketMQ's words, why a request may not create or change this topic, or None.
        `attributes` are changes, see `update`. RocketMQ: `AdminBrokerProcessor.updateAndCreateTopic`."""
        name = config.topic_name
        illegal = validate_topic(name)
        if illegal is not None:
            return illegal
        if self._options.validate_system_topic_when_update_topic and self.is_system(name):
            return f"The topic[{name}] is conflict with system topic."
        mixed = config.attributes.get("+message.type") == "MIXED"
        if mixed and not self._options.enable_mixed_message_type:
            return "MIXED message type is not supported."
        if config.topic_filter_type not in FILTER_TYPES:
            return f"The topic[{name}] can not have the filter type {config.topic_filter_type[:100]}."
        if min(config.read_queue_nums, config.write_queue_nums) < 0:
            return f"The topic[{name}] can not have less than no queues."
        queues = max(config.read_queue_nums, config.write_queue_nums)
        if queues > self._options.max_queues_per_topic:
            return f"The topic[{name}] may not have more than {self._options.max_queues_per_topic} queues."
        return None

    def update(self, *configs: TopicConfig) -> None:
        """Create or change topics by request: keys of `attributes` begin with `+` or `-`. All or none: raises
        `AttributeRefused` before anything is changed. A topic without a difference is left alone; each other
        one raises the version by one. RocketMQ: `TopicConfigManager.updateTopicConfigList`."""
        run(self.update_in_steps(configs))

    def update_in_steps(self, configs: Sequence[TopicConfig]) -> Steps[None]:
        """Run `update` as a cooperative task; only the end of the process can interrupt it halfway."""
        changed: list[TopicConfig] = []
        for part in in_parts(configs):
            wanted = [self._altered(config) for config in part]
            changed += [config for config in wanted if self._table.get(config.topic_name) != config]
            yield
        for part in in_parts(changed):
            # Each topic is a change of its own, of which `put` counts one.
            self.data_version.next(self._clock.millis(), len(part) - 1)
            self.put(*part)
            yield

    def create_for_send(
        self, topic: str, default_topic: str, queue_nums: int, sys_flag: int
    ) -> TopicConfig | None:
        """Create a topic from `default_topic`, which must exist and be inheritable; return None if not
        allowed. `queue_nums` is the number of queues that the client requests. RocketMQ:
        `TopicConfigManager.createTopicInSendMessageMethod`."""
        known = self._table.get(topic)
        if known is not None:
            return known
        model = self._table.get(default_topic)
        if model is None:
            return None
        if default_topic == DEFAULT_TOPIC and not self._options.auto_create_topic_enable:
            return None
        if not model.perm & PERM_INHERIT or not self._has_room(topic):
            return None
        queues = max(0, min(queue_nums, model.write_queue_nums))
        perm = model.perm & ~PERM_INHERIT
        config = TopicConfig(topic, queues, queues, perm, model.topic_filter_type, sys_flag)
        log.info("topic %s created from %s for a send, %d queues", topic, default_topic, queues)
        self.put(config)
        return config

    def create_for_send_back(
        self, topic: str, queue_nums: int, perm: int, sys_flag: int, order: bool = False
    ) -> TopicConfig | None:
        """Return a retry or dead letter topic, created if there is none. None if the table is full. RocketMQ:
        `TopicConfigManager.createTopicInSendMessageBackMethod`."""
        known = self._table.get(topic)
        if known is not None and known.order == order:
            return known
        if known is not None:
            config = replace(known, order=order)
        elif not self._has_room(topic):
            return None
        else:
            queues = max(0, min(queue_nums, self._options.max_queues_per_topic))
            config = TopicConfig(topic, queues, queues, perm, topic_sys_flag=sys_flag, order=order)
        self.put(config)
        return config

    def set_ordered(self, names: Collection[str]) -> None:
        """Mark exactly these topics as ordered. RocketMQ: `TopicConfigManager.updateOrderTopicConfig`."""
        changed = [
            replace(config, order=not config.order)
            for config in self._table.values()
            if config.order != (config.topic_name in names)
        ]
        if changed:
            self.put(*changed)

    def delete(self, name: str) -> bool:
        """Delete a topic as `ConfigTable.delete`, and notify the watchers."""
        is_gone = super().delete(name)
        for callback in self._change_watchers if is_gone else ():
            callback(())
        return is_gone

    def _altered(self, config: TopicConfig) -> TopicConfig:
        known = self._table.get(config.topic_name)
        attributes = altered(TOPIC_ATTRIBUTES, known.attributes if known else None, config.attributes)
        if len(attributes) > self._options.max_attributes_per_topic:
            raise AttributeRefused(f"more than {self._options.max_attributes_per_topic} attributes")
        return replace(config, attributes=attributes)

    def _has_room(self, topic: str) -> bool:
        if len(self._table) < self._options.max_topics:
            return True
        log.warning(
            "topic %s is not created: there are already %d topics (maxTopics)", topic, len(self._table)
        )
        return False


def built_in_topics(options: "BrokerOptions") -> list[TopicConfig]:
    """Return the topics that a broker of 5.5 has from its start. RocketMQ: `TopicConfigManager.init`."""
    cluster, broker = options.broker_cluster_name, options.broker_name
    read_write = PERM_READ | PERM_WRITE
    of_cluster = PERM_INHERIT | (read_write if options.cluster_topic_enable else 0)
    of_broker = PERM_INHERIT | (read_write if options.broker_topic_enable else 0)
    shapes = [
        (SELF_TEST_TOPIC, 1, read_write),
        (BENCHMARK_TOPIC, BENCHMARK_QUEUES, read_write),
        (cluster, 16, of_cluster),
        (broker, 1, of_broker),
        (OFFSET_MOVED_EVENT, 1, read_write),
        (SCHEDULE_TOPIC, SCHEDULE_QUEUES, read_write),
        (f"{cluster}_REPLY_TOPIC", 1, read_write),
        (f"rmq_sys_REVIVE_LOG_{cluster}", REVIVE_QUEUES, read_write),
        (f"rmq_sys_SYNC_BROKER_MEMBER_{broker}", 1, PERM_INHERIT),
        (TRANS_HALF_TOPIC, 1, read_write),
        (TRANS_OP_HALF_TOPIC, 1, read_write),
        (ROCKSDB_TRANS_HALF_TOPIC, 1, read_write),
        (ROCKSDB_TRANS_OP_HALF_TOPIC, 1, read_write),
        (TIMER_TOPIC, 1, read_write),
    ]
    if options.auto_create_topic_enable:
        shapes.append((DEFAULT_TOPIC, options.default_topic_queue_nums, read_write | PERM_INHERIT))
    if options.trace_topic_enable:
        shapes.append((options.msg_trace_topic_name, 1, read_write))
    return [TopicConfig(name, queues, queues, perm) for name, queues, perm in shapes if name]
