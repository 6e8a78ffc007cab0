"""Consumer groups: their configuration, built-in groups, creation on use, and their file.

RocketMQ: `SubscriptionGroupConfig`, `SubscriptionGroupManager`.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from mqgateway.engine import json_members
from mqgateway.engine.clock import Clock
from mqgateway.engine.disk import Disk
from mqgateway.engine.lenient_json import dumps
from mqgateway.engine.message import SYSTEM_GROUP_PREFIX
from mqgateway.engine.names import is_lmq, validate_group
from mqgateway.engine.options import camel_case
from mqgateway.engine.steps import Steps, in_parts, run
from mqgateway.engine.tables.attributes import GROUP_ATTRIBUTES, AttributeRefused, altered
from mqgateway.engine.tables.config_table import ConfigTable
from mqgateway.engine.worker import Worker

if TYPE_CHECKING:
    from mqgateway.engine.options import BrokerOptions

log = logging.getLogger(__name__)

BUILT_IN_GROUPS = (
    "TOOLS_CONSUMER",
    "FILTERSRV_CONSUMER",
    "SELF_TEST_C_GROUP",
    "CID_ONS-HTTP-PROXY",
    "CID_ONSAPI_PULL",
    "CID_ONSAPI_PERMISSION",
    "CID_ONSAPI_OWNER",
    "CID_RMQ_SYS_TRANS",
)

FORBIDDEN_READ = 2
FORBIDDEN_WRITE = 1
"""Bit positions of forbidden operations of a group on a topic. RocketMQ: `PermName.INDEX_PERM_READ`."""


@dataclass(slots=True)
class SubscriptionGroupConfig:
    """Configuration of a consumer group. RocketMQ: `SubscriptionGroupConfig`."""

    group_name: str
    consume_enable: bool = True
    consume_from_min_enable: bool = True
    consume_broadcast_enable: bool = True
    consume_message_orderly: bool = False
    retry_queue_nums: int = 1
    retry_max_times: int = 16
    group_retry_policy: dict[str, Any] = field(default_factory=lambda: {"type": "CUSTOMIZED"})
    broker_id: int = 0
    which_broker_when_consume_slowly: int = 1
    notify_consumer_ids_changed_enable: bool = True
    group_sys_flag: int = 0
    consume_timeout_minute: int = 15
    subscription_data_set: list[dict[str, Any]] | None = None
    attributes: dict[str, str] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The name of the group."""
        return self.group_name

    def to_json(self) -> dict[str, Any]:
        """Return the fields under RocketMQ's names."""
        return {name: getattr(self, attribute) for attribute, name in _NAMES.items()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Parse the fields; missing or null ones have their defaults. Raises `ConfigError`."""
        config = cls(json_members.read_name(value, "groupName"))
        for attribute, name in _NAMES.items():
            default = getattr(config, attribute)
            if attribute == "subscription_data_set":
                if value.get(name) is not None:
                    config.subscription_data_set = json_members.read(value, name, list[Any]())
            elif attribute == "attributes":
                config.attributes = json_members.read_texts(value, name)
            else:
                bits = json_members.LONG_BITS if name in _LONGS else json_members.INT_BITS
                setattr(config, attribute, json_members.read(value, name, default, bits))
        return config


_LONGS = ("brokerId", "whichBrokerWhenConsumeSlowly")
_NAMES = {attribute: camel_case(attribute) for attribute in SubscriptionGroupConfig.__slots__}


_FORBIDDEN = "forbiddenTable"


class GroupTable(ConfigTable[SubscriptionGroupConfig]):
    """All consumer groups of a broker, by name, and the topics that they may not read.

    With `has_lmq_groups` every LMQ name is a group, which is not listed. RocketMQ:
    `LmqSubscriptionGroupManager`.
    """

    entry = SubscriptionGroupConfig
    member = "subscriptionGroupTable"
    sides = (_FORBIDDEN,)

    def __init__(
        self, options: "BrokerOptions", disk: Disk, path: str, clock: Clock, worker: Worker | None = None
    ) -> None:
        super().__init__(disk, path, clock, worker, map(SubscriptionGroupConfig, BUILT_IN_GROUPS))
        self._options = options
        self.has_lmq_groups = False

    def _implied(self, name: str) -> SubscriptionGroupConfig | None:
        return SubscriptionGroupConfig(name) if self.has_lmq_groups and is_lmq(name) else None

    def find(self, name: str) -> SubscriptionGroupConfig | None:
        """Return the group of this name; it is created if that is enabled and the name is legal, else None.

        RocketMQ: `SubscriptionGroupManager.findSubscriptionGroupConfig`.
        """
        known = self.get(name)
        if known is not None:
            return known
        options = self._options
        is_system = name.startswith(SYSTEM_GROUP_PREFIX)
        if not options.auto_create_subscription_group and not (is_system and options.enable_create_sys_group):
            return None
        if validate_group(name) is not None:
            return None
        if len(self._table) >= options.max_groups:
            log.warning(
                "group %s is not created: there are already %d groups (maxGroups)", name, len(self._table)
            )
            return None
        config = SubscriptionGroupConfig(name)
        log.info("group %s created on first use", name)
        self.put(config)
        return config

    def update(self, *configs: SubscriptionGroupConfig) -> None:
        """Create or change groups by request: keys of `attributes` begin with `+` or `-`.

        All or none: raises `AttributeRefused` before anything is changed. Each raises the version by one.
        RocketMQ: `SubscriptionGroupManager.updateSubscriptionGroupConfigList`.
        """
        run(self.update_in_steps(configs))

    def update_in_steps(self, configs: Sequence[SubscriptionGroupConfig]) -> Steps[None]:
        """Run `update` as a cooperative task; only the end of the process can interrupt it halfway."""
        wanted: list[SubscriptionGroupConfig] = []
        for part in in_parts(configs):
            wanted += [self._altered(config) for config in part]
            yield
        for part in in_parts(wanted):
            # Each group is a change of its own, of which `put` counts one.
            self.data_version.next(self._clock.millis(), len(part) - 1)
            self.put(*part)
            yield

    def disable_consume(self, name: str) -> None:
        """Disable consumption of a group."""
        known = self._table.get(name)
        if known is not None and known.consume_enable:
            self.put(replace(known, consume_enable=False))

    @property
    def _forbidden(self) -> dict[str, dict[str, int]]:
        return self._sides[_FORBIDDEN]

    def forbidden(self, group: str, topic: str) -> int:
        """Return the bits of the group's forbidden operations on the topic."""
        return self._forbidden.get(group, {}).get(topic, 0)

    def is_read_forbidden(self, group: str, topic: str) -> bool:
        """Return True if the group may not read the topic."""
        return bool(self._forbidden) and bool(self.forbidden(group, topic) & 1 << FORBIDDEN_READ)

    def forbid(self, group: str, topic: str, place: int, is_forbidden: bool) -> bool:
        """Set or clear one bit, `FORBIDDEN_READ` or `FORBIDDEN_WRITE`, of a group for a topic.

        Returns False if the table is full (`maxForbidden`). RocketMQ:
        `SubscriptionGroupManager.updateForbidden`.
        """
        before = self.forbidden(group, topic)
        bits = before | 1 << place if is_forbidden else before & ~(1 << place)
        if bits == before:
            return True
        if not before and sum(map(len, self._forbidden.values())) >= self._options.max_forbidden:
            return False
        if bits:
            self._forbidden.setdefault(group, {})[topic] = bits
        else:
            del self._forbidden[group][topic]
            if not self._forbidden[group]:
                del self._forbidden[group]
        self._changed(sides=[(_FORBIDDEN, group)])
        return True

    def forbidden_table(self) -> dict[str, dict[str, int]]:
        """Return the bits by group and topic."""
        return self._copied_sides()[_FORBIDDEN]

    def _altered(self, config: SubscriptionGroupConfig) -> SubscriptionGroupConfig:
        known = self._table.get(config.group_name)
        attributes = altered(GROUP_ATTRIBUTES, known.attributes if known else None, config.attributes)
        if len(attributes) > self._options.max_attributes_per_topic:
            raise AttributeRefused(f"more than {self._options.max_attributes_per_topic} attributes")
        wanted, most = replace(config, attributes=attributes), self._options.max_group_config_size
        try:
            size = len(dumps(wanted.to_json()))
        except ValueError as error:
            raise AttributeRefused(str(error)) from None
        if size > most:
            raise AttributeRefused(f"the settings of a group may have {most} bytes, not {size}")
        return wanted
