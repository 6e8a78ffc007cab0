"""Settings of a group that Kafka clients see and change, by Kafka's names.

A group keeps those that differ from the default as attributes, with the prefix `kafka.`. Standard:
`GroupConfig`, `GroupCoordinatorConfig`, `ShareGroupConfig` of Apache Kafka 4.4.0; settings of its streams
groups are left out.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from mqgateway.engine.tables.kafka_configs import BOOLEAN, INT, INT_MAX, STRING, KafkaConfig

SHARE_RESET: Final = "share.auto.offset.reset"
DEAD_LETTER_TOPIC: Final = "errors.deadletterqueue.topic.name"
_RESET: Final = re.compile(
    r"earliest|latest|by_duration:P(?=\d|T)(?:\d+D)?(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+(?:\.\d{1,9})?S)?)?"
)


class KafkaGroupConfig(NamedTuple):
    """A setting, and the numbers that the broker allows."""

    config: KafkaConfig
    low: int = 0
    high: int = INT_MAX

    def problem(self, value: str) -> str | None:
        """Return why a value is not allowed, None if it is."""
        name = self.config.name
        problem = self.config.problem(value)
        if name == SHARE_RESET and _RESET.fullmatch(value) is None:
            problem = (
                f"Invalid value `{value}` for configuration {name}. The value must be either 'earliest', "
                "'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."
            )
        if problem is not None:
            return f"Invalid value {value} for configuration {name}: {problem}"
        if self.config.kind == INT and not self.low <= int(value) <= self.high:
            return f"{name} must be in the range {self.low} to {self.high} inclusive."
        if name == DEAD_LETTER_TOPIC and value.startswith("__"):
            return f"{name}: DLQ topic name must not start with '__'"
        return None


def _number(name: str, default: int, meaning: str, least: int, low: int, high: int) -> KafkaGroupConfig:
    """Return a number that has a default of the broker: at least `least`, and from `low` to `high`."""
    config = KafkaConfig(name, INT, str(default), meaning, least, INT_MAX, synonym=f"group.{name}")
    return KafkaGroupConfig(config, low, high)


_ROWS: Final = (
    _number("consumer.assignment.interval.ms", 1000, "Time between two assignments.", 0, 0, 15_000),
    _number("consumer.heartbeat.interval.ms", 5000, "Time between two heartbeats.", 1, 5000, 15_000),
    _number(
        "consumer.session.timeout.ms", 45_000, "Time until a silent member is removed.", 1, 45_000, 60_000
    ),
    KafkaGroupConfig(
        KafkaConfig(
            "errors.deadletterqueue.copy.record.enable",
            BOOLEAN,
            "false",
            "Whether dead letters have the record, or headers only.",
        )
    ),
    KafkaGroupConfig(
        KafkaConfig(DEAD_LETTER_TOPIC, STRING, "", "Topic of the group's dead letters; empty for none.")
    ),
    _number("share.assignment.interval.ms", 1000, "Time between two assignments.", 0, 0, 15_000),
    KafkaGroupConfig(
        KafkaConfig(
            SHARE_RESET,
            STRING,
            "latest",
            "Where a share partition begins: `earliest`, `latest` or `by_duration:` and a duration.",
        )
    ),
    _number("share.delivery.count.limit", 5, "Maximum number of deliveries of a record.", 2, 2, 10),
    _number("share.heartbeat.interval.ms", 5000, "Time between two heartbeats.", 1, 5000, 15_000),
    KafkaGroupConfig(
        KafkaConfig(
            "share.isolation.level",
            STRING,
            "read_uncommitted",
            "Whether records of open and aborted transactions are delivered.",
            choices=("read_committed", "read_uncommitted"),
        )
    ),
    _number("share.partition.max.record.locks", 2000, "Maximum number of records in flight.", 100, 100, 4000),
    _number(
        "share.record.lock.duration.ms",
        30_000,
        "Time for which a member acquires a record.",
        1000,
        15_000,
        60_000,
    ),
    KafkaGroupConfig(
        KafkaConfig(
            "share.renew.acknowledge.enable",
            BOOLEAN,
            "true",
            "Whether members may acquire a record for longer.",
        )
    ),
    _number("share.session.timeout.ms", 45_000, "Time until a silent member is removed.", 1, 45_000, 60_000),
)
KAFKA_GROUP_CONFIGS: Final = {row.config.name: row for row in _ROWS}
"""The settings by name."""
