"""Settings of a topic that Kafka clients see and change, by Kafka's names.

A topic keeps those that differ from the default as attributes, with the prefix `kafka.`. `docs/kafka.md`
names those that have an effect; others are kept and shown. Standard: `TopicConfig`, `LogConfig` of Apache
Kafka 4.4.0.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

PREFIX: Final = "kafka."
MAX_MESSAGE_BYTES: Final = "max.message.bytes"
MIN_IN_SYNC: Final = "min.insync.replicas"
REMOTE_STORAGE: Final = "remote.storage.enable"
DEAD_LETTERS: Final = "errors.deadletterqueue.group.enable"
REPLICA: Final = r"\d+:\d+"
"""Expression of a partition and a broker."""
LONG_MAX: Final = 2**63 - 1
INT_MAX: Final = 2**31 - 1

BOOLEAN, STRING, INT, LONG, DOUBLE, LIST = "boolean", "string", "int", "long", "double", "list"


class KafkaConfig(NamedTuple):
    """A setting: its type, its default as text, what it may be, and what it is for.

    `synonym` is the broker's setting that has the default, by Kafka's name; empty if that one is not set.
    `words` is the expression that each entry of a list matches, if the list is not `*`; empty for any.
    """

    name: str
    kind: str
    default: str
    meaning: str
    low: int = 0
    high: int = LONG_MAX
    choices: tuple[str, ...] = ()
    synonym: str = ""
    words: str = ""

    def problem(self, value: str) -> str | None:
        """Return why a value is not allowed, None if it is."""
        if self.kind == BOOLEAN:
            return None if value in ("true", "false") else "Expected value to be either true or false"
        if self.kind == LIST:
            words = [word.strip() for word in value.split(",") if word.strip()]
            wrong = [word for word in words if self.choices and word not in self.choices]
            if self.words and value != "*" and not all(re.fullmatch(self.words, word) for word in words):
                return "The value must be '*' or a list of replicas: [partitionId]:[brokerId],..."
            return f"String must be one of: {', '.join(self.choices)}" if wrong else None
        if self.kind == STRING:
            wrong_choice = self.choices and value not in self.choices
            return f"String must be one of: {', '.join(self.choices)}" if wrong_choice else None
        try:
            number = float(value) if self.kind == DOUBLE else int(value)
        except ValueError:
            return f"Not a number of type {self.kind.upper()}"
        if number < self.low:
            return f"Value must be at least {self.low}"
        return f"Value must be no more than {self.high}" if number > self.high else None


_ROWS: Final = (
    KafkaConfig(
        "cleanup.policy", LIST, "delete", "What happens to old records.", choices=("delete", "compact")
    ),
    KafkaConfig("compression.gzip.level", INT, "-1", "Level of gzip if the broker compresses.", -1, 9),
    KafkaConfig("compression.lz4.level", INT, "9", "Level of lz4 if the broker compresses.", 1, 17),
    KafkaConfig(
        "compression.type",
        STRING,
        "producer",
        "Compression of stored batches; `producer` keeps what the producer chose.",
        choices=("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
    ),
    KafkaConfig("compression.zstd.level", INT, "3", "Level of zstd if the broker compresses.", -131072, 22),
    KafkaConfig("delete.retention.ms", LONG, "86400000", "Time that tombstones are kept."),
    KafkaConfig(DEAD_LETTERS, BOOLEAN, "false", "Whether share groups may dead-letter to it."),
    KafkaConfig("file.delete.delay.ms", LONG, "60000", "Time before a file is deleted."),
    KafkaConfig("flush.messages", LONG, str(LONG_MAX), "Messages between two syncs.", 1),
    KafkaConfig("flush.ms", LONG, str(LONG_MAX), "Time between two syncs."),
    KafkaConfig(
        "follower.replication.throttled.replicas",
        LIST,
        "",
        "Replicas that are throttled as followers.",
        words=REPLICA,
    ),
    KafkaConfig("index.interval.bytes", INT, "4096", "Bytes between two entries of the index.", high=INT_MAX),
    KafkaConfig(
        "leader.replication.throttled.replicas",
        LIST,
        "",
        "Replicas that are throttled as leaders.",
        words=REPLICA,
    ),
    KafkaConfig("local.retention.bytes", LONG, "-2", "Bytes kept on the broker; -2: retention.bytes.", -2),
    KafkaConfig("local.retention.ms", LONG, "-2", "Time kept on the broker; -2: retention.ms.", -2),
    KafkaConfig("max.compaction.lag.ms", LONG, str(LONG_MAX), "Time after which a record is compacted.", 1),
    KafkaConfig(
        "max.decompressed.message.bytes",
        INT,
        "2147483639",
        "Maximum size of a record without compression, in bytes.",
        high=INT_MAX,
    ),
    KafkaConfig(MAX_MESSAGE_BYTES, INT, "1048588", "Maximum size of a batch, in bytes.", high=INT_MAX),
    KafkaConfig(
        "message.timestamp.after.max.ms",
        LONG,
        "3600000",
        "Time by which a record may be ahead of the broker.",
    ),
    KafkaConfig(
        "message.timestamp.before.max.ms",
        LONG,
        str(LONG_MAX),
        "Time by which a record may be behind the broker.",
    ),
    KafkaConfig(
        "message.timestamp.type",
        STRING,
        "CreateTime",
        "Time of a record: the producer's or the broker's.",
        choices=("CreateTime", "LogAppendTime"),
    ),
    KafkaConfig(
        "min.cleanable.dirty.ratio", DOUBLE, "0.5", "Part of the log that starts a compaction.", 0, 1
    ),
    KafkaConfig("min.compaction.lag.ms", LONG, "0", "Time that a record is not compacted."),
    KafkaConfig(MIN_IN_SYNC, INT, "1", "Replicas in sync that acks=all needs.", 1, INT_MAX),
    KafkaConfig("preallocate", BOOLEAN, "false", "Whether files are preallocated."),
    KafkaConfig("remote.copy.lag.bytes", LONG, "-1", "Bytes after which a file is stored elsewhere.", -1),
    KafkaConfig("remote.copy.lag.ms", LONG, "0", "Time after which a file is stored elsewhere.", -1),
    KafkaConfig("remote.log.copy.disable", BOOLEAN, "false", "Whether nothing more is stored elsewhere."),
    KafkaConfig(
        "remote.log.delete.on.disable",
        BOOLEAN,
        "false",
        "Whether records that are stored elsewhere are deleted when that ends.",
    ),
    KafkaConfig(REMOTE_STORAGE, BOOLEAN, "false", "Whether old records are stored elsewhere."),
    KafkaConfig("retention.bytes", LONG, "-1", "Bytes of a partition that are kept; -1: no limit.", -1),
    KafkaConfig("retention.ms", LONG, "604800000", "Time that records are kept; -1: no limit.", -1),
    KafkaConfig("segment.bytes", INT, "1073741824", "Size of a file.", 1048576, INT_MAX),
    KafkaConfig("segment.index.bytes", INT, "10485760", "Size of an index file.", 4, INT_MAX),
    KafkaConfig("segment.jitter.ms", LONG, "0", "Spread of the time at which files are closed."),
    KafkaConfig("segment.ms", LONG, "604800000", "Time after which a file is closed.", 1),
    KafkaConfig(
        "unclean.leader.election.enable",
        BOOLEAN,
        "false",
        "Whether a replica that lags may become the leader.",
    ),
)
_SYNONYMS: Final = {
    "cleanup.policy": "log.cleanup.policy",
    "compression.gzip.level": "compression.gzip.level",
    "compression.lz4.level": "compression.lz4.level",
    "compression.type": "compression.type",
    "compression.zstd.level": "compression.zstd.level",
    "delete.retention.ms": "log.cleaner.delete.retention.ms",
    "file.delete.delay.ms": "log.segment.delete.delay.ms",
    "flush.messages": "log.flush.interval.messages",
    "index.interval.bytes": "log.index.interval.bytes",
    "local.retention.bytes": "log.local.retention.bytes",
    "local.retention.ms": "log.local.retention.ms",
    "max.compaction.lag.ms": "log.cleaner.max.compaction.lag.ms",
    "max.decompressed.message.bytes": "max.decompressed.message.bytes",
    MAX_MESSAGE_BYTES: "message.max.bytes",
    "message.timestamp.after.max.ms": "log.message.timestamp.after.max.ms",
    "message.timestamp.before.max.ms": "log.message.timestamp.before.max.ms",
    "message.timestamp.type": "log.message.timestamp.type",
    "min.cleanable.dirty.ratio": "log.cleaner.min.cleanable.ratio",
    "min.compaction.lag.ms": "log.cleaner.min.compaction.lag.ms",
    MIN_IN_SYNC: MIN_IN_SYNC,
    "preallocate": "log.preallocate",
    "remote.copy.lag.bytes": "log.remote.copy.lag.bytes",
    "remote.copy.lag.ms": "log.remote.copy.lag.ms",
    "retention.bytes": "log.retention.bytes",
    "segment.bytes": "log.segment.bytes",
    "segment.index.bytes": "log.index.size.max.bytes",
    "unclean.leader.election.enable": "unclean.leader.election.enable",
}
KAFKA_CONFIGS: Final = {
    config.name: config._replace(synonym=_SYNONYMS.get(config.name, "")) for config in _ROWS
}
"""The settings by name."""


def kafka_config(attributes: Mapping[str, str], name: str) -> str:
    """Return a setting of a topic with these attributes, or its default."""
    return attributes.get(PREFIX + name, KAFKA_CONFIGS[name].default)
