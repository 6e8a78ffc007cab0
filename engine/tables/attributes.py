"""Attributes of topics and consumer groups: names, valid values, and changes by request.

A request contains changes, not a state: `+name` with a value adds or alters, `-name` removes. A refusal is an
`AttributeRefused` with RocketMQ's text. RocketMQ: `AttributeParser`, `AttributeUtil`, `TopicAttributes`,
`SubscriptionGroupAttributes`.
"""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from mqgateway.engine.errors import EngineError
from mqgateway.engine.tables.kafka_configs import KAFKA_CONFIGS, PREFIX
from mqgateway.engine.tables.kafka_group_configs import KAFKA_GROUP_CONFIGS
from mqgateway.engine.tables.partition_layout import LayoutRule

LONG_MAX = 2**63 - 1

Changes = Mapping[str, str]


class AttributeRefused(EngineError):
    """A refused change; the text is RocketMQ's."""


class Rule(Protocol):
    """The values of an attribute of mqgateway's own."""

    def problem(self, value: str) -> str | None:
        """Return why a value is not allowed, None if it is."""
        ...


class Attribute(NamedTuple):
    """Valid values of an attribute: one of `choices`, a number from `low` to `high`, those of a rule, or any
    text.
    """

    changeable: bool = True
    choices: tuple[str, ...] = ()
    low: int | None = None
    high: int = LONG_MAX
    rule: Rule | None = None

    def check(self, value: str) -> None:
        """Check a value. Raises `AttributeRefused`."""
        problem = self.rule.problem(value) if self.rule is not None else None
        if problem is not None:
            raise AttributeRefused(problem)
        if self.choices and value not in self.choices:
            raise AttributeRefused(f"value is not in set: [{', '.join(self.choices)}]")
        if self.low is not None:
            try:
                number = int(value)
            except ValueError:
                raise AttributeRefused(f'For input string: "{value}"') from None
            if not self.low <= number <= self.high:
                raise AttributeRefused(f"value is not in range({self.low}, {self.high})")


MESSAGE_FORMAT = "message.format"
"""mqgateway's: the format of a topic's records; `kafka` for whole batches of Kafka."""
KAFKA_FORMAT = "kafka"
KAFKA_TOPIC_ID = "kafka.topic.id"
"""mqgateway's: the id of a topic created by Kafka clients, as they print it."""
KAFKA_PARTITIONS = "kafka.partition.groups"
"""mqgateway's: the broker groups of a topic's partitions; see `partition_layout`."""
KAFKA_DELETED = "kafka.topic.deleted"
"""mqgateway's: `true` while a topic of several broker groups is deleted in them."""

BOOLEAN = Attribute(choices=("true", "false"))

TOPIC_ATTRIBUTES: dict[str, Attribute] = {
    "queue.type": Attribute(changeable=False, choices=("BatchCQ", "SimpleCQ")),
    "cleanup.policy": Attribute(changeable=False, choices=("DELETE", "COMPACTION")),
    "message.type": Attribute(
        choices=("UNSPECIFIED", "NORMAL", "FIFO", "DELAY", "TRANSACTION", "MIXED", "PRIORITY", "LITE")
    ),
    "reserve.time": Attribute(low=-1),
    "lite.topic.expiration": Attribute(low=-1, high=43200),
    MESSAGE_FORMAT: Attribute(changeable=False, choices=(KAFKA_FORMAT,)),
    KAFKA_TOPIC_ID: Attribute(changeable=False),
    KAFKA_PARTITIONS: Attribute(rule=LayoutRule()),
    KAFKA_DELETED: Attribute(choices=("true",)),
    **{PREFIX + name: Attribute(rule=config) for name, config in KAFKA_CONFIGS.items()},
}
"""RocketMQ: `TopicAttributes` of 5.5; the last five kinds are mqgateway's, for topics of Kafka clients."""

GROUP_ATTRIBUTES: dict[str, Attribute] = {
    "priority.factor": Attribute(low=0, high=100),
    "lite.bind.topic": Attribute(),
    "lite.sub.model": Attribute(choices=("Shared", "Exclusive")),
    "lite.sub.reset.offset.exclusive": BOOLEAN,
    "lite.sub.reset.offset.unsubscribe": BOOLEAN,
    "lite.sub.client.quota": Attribute(low=-1),
    "lite.sub.client.max.event.cnt": Attribute(low=10),
    "lite.sub.wildcard": BOOLEAN,
    **{PREFIX + name: Attribute(rule=row.config) for name, row in KAFKA_GROUP_CONFIGS.items()},
}
"""RocketMQ: `SubscriptionGroupAttributes` of 5.5; the last kind is mqgateway's, for groups of Kafka."""


def parse_changes(text: str | None) -> dict[str, str]:
    """Parse the changes in `+name=value,-name`. Raises `AttributeRefused`. RocketMQ: `AttributeParser`."""
    changes: dict[str, str] = {}
    for part in (text or "").split(","):
        if not part:
            continue
        name, has_value, value = part.partition("=")
        if has_value and "+" not in name:
            raise AttributeRefused(f"add/alter attribute format is wrong: {name}")
        if not has_value and "-" not in name:
            raise AttributeRefused(f"delete attribute format is wrong: {name}")
        if name in changes:
            raise AttributeRefused(f"key duplication: {name}")
        changes[name] = value
    return changes


def altered(
    known: Mapping[str, Attribute], current: Mapping[str, str] | None, changes: Changes
) -> dict[str, str]:
    """Return the attributes after the changes; `current` is None when an entry is created.

    Raises `AttributeRefused`. RocketMQ: `AttributeUtil.alterCurrentAttributes`.
    """
    result = dict(current or {})
    seen = set()
    for key, value in changes.items():
        sign, name = key[:1], key[1:]
        if not name or "+" in name or "-" in name:
            raise AttributeRefused("kv string format wrong.")
        if name in seen:
            raise AttributeRefused(f"alter duplication key. key: {name}")
        seen.add(name)
        if current is None and sign != "+":
            raise AttributeRefused(f"only add attribute is supported while creating topic. key: {name}")
        if sign not in ("+", "-"):
            raise AttributeRefused(f"wrong format key: {name}")
        if sign == "-" and name not in result:
            raise AttributeRefused(f"attempt to delete a nonexistent key: {name}")
        _check(known, name, None if sign == "-" else value, is_new=current is None)
        if sign == "-":
            del result[name]
        else:
            result[name] = value
    return result


def _check(known: Mapping[str, Attribute], name: str, value: str | None, *, is_new: bool) -> None:
    attribute = known.get(name)
    if attribute is None:
        raise AttributeRefused(f"unsupported key: {name}")
    if not is_new and not attribute.changeable:
        raise AttributeRefused(f"attempt to update an unchangeable attribute. key: {name}")
    if value is not None:
        attribute.check(value)
