"""Consumer groups: their configuration, the built-in ones, how they come to be, and their file.

Standard: `SubscriptionGroupConfig`, `SubscriptionGroupManager`.
"""

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from mqgateway.engine import json_members
from mqgateway.engine.clock import Clock
from mqgateway.engine.disk import Disk
from mqgateway.engine.lenient_json import dumps
from mqgateway.engine.message import SYSTEM_GROUP_PREFIX, is_light, validate_group
from mqgateway.engine.options import camel_case
from mqgateway.engine.steps import Steps, in_parts, run
from mqgateway.engine.tables.attributes import GROUP_ATTRIBUTES, AttributeRefused, altered
from mqgateway.engine.tables.data_version import DataVersion
from mqgateway.engine.tables.journal import Change
from mqgateway.engine.tables.journaled import JournaledFile
from mqgateway.engine.tables.jsonfile import Texts, in_pieces
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
"""Places of bits in what a group is forbidden of a topic. Standard: `PermName.INDEX_PERM_READ`."""


@dataclass(slots=True)
class SubscriptionGroupConfig:
    """A consumer group as it is configured. Standard: `SubscriptionGroupConfig`."""

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

    def to_json(self) -> dict[str, Any]:
        """The fields under the standard's names."""
        return {name: getattr(self, attribute) for attribute, name in _NAMES.items()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Read the fields; those that are missing or null have their defaults. Raises `ConfigError`."""
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


class GroupTable:
    """All consumer groups of a broker, by name, and which topics they may not read.

    With `has_light_groups` there is a group of every light name, which is in no list. Standard:
    `LmqSubscriptionGroupManager`.
    """

    def __init__(
        self, options: "BrokerOptions", disk: Disk, path: str, clock: Clock, worker: Worker | None = None
    ) -> None:
        self._options = options
        self._clock = clock
        self._file = JournaledFile(disk, path, clock, worker)
        self._texts = Texts(self._shape)
        self._others: dict[str, Any] = {}
        self._others_of: dict[str, dict[str, Any]] = {}
        self._forbidden: dict[str, dict[str, int]] = {}
        self.data_version = DataVersion(timestamp=clock.millis())
        self.has_light_groups = False
        self._table = {name: SubscriptionGroupConfig(name) for name in BUILT_IN_GROUPS}

    def load(self) -> None:
        """Take over what the file holds. Raises `ConfigError` when it cannot be read."""
        table = self._file.load()
        if table is None:
            return
        for value in (table.get("subscriptionGroupTable") or {}).values():
            config = SubscriptionGroupConfig.from_json(value)
            self._table[config.group_name] = config
            if others := json_members.others(value, _NAMES.values()):
                self._others_of[config.group_name] = others
        self._others = json_members.others(table, ("dataVersion", "forbiddenTable", "subscriptionGroupTable"))
        for group, topics in (table.get("forbiddenTable") or {}).items():
            self._forbidden[group] = dict(topics)
        self.data_version = DataVersion.from_json(table.get("dataVersion"))

    def get(self, name: str) -> SubscriptionGroupConfig | None:
        """The group of this name, if there is one already."""
        known = self._table.get(name)
        if known is None and self.has_light_groups and is_light(name):
            return SubscriptionGroupConfig(name)
        return known

    def find(self, name: str) -> SubscriptionGroupConfig | None:
        """The group of this name, made if groups are made on use and the name is legal; else None.

        Standard: `SubscriptionGroupManager.findSubscriptionGroupConfig`.
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
            log.warning("group %s is not made: there are %d already (maxGroups)", name, len(self._table))
            return None
        config = SubscriptionGroupConfig(name)
        log.info("group %s made on first use", name)
        self.put(config)
        return config

    def all(self) -> Collection[SubscriptionGroupConfig]:
        """Every group."""
        return self._table.values()

    def names(self) -> list[str]:
        """Every group's name."""
        return list(self._table)

    def __contains__(self, name: object) -> bool:
        return name in self._table or (self.has_light_groups and isinstance(name, str) and is_light(name))

    def __len__(self) -> int:
        return len(self._table)

    def put(self, *configs: SubscriptionGroupConfig) -> None:
        """Create or replace groups as they are given; one change of the version, one write."""
        names = []
        for config in configs:
            if self.has_light_groups and is_light(config.group_name):
                continue
            self._table[config.group_name] = config
            names.append(config.group_name)
        self._changed(*names)

    def update(self, *configs: SubscriptionGroupConfig) -> None:
        """Create or change groups as a request asks: keys of `attributes` begin with `+` or `-`.

        All or none: raises `AttributeRefused` before anything is changed. Each raises the version by one.
        Standard: `SubscriptionGroupManager.updateSubscriptionGroupConfigList`.
        """
        run(self.update_in_steps(configs))

    def update_in_steps(self, configs: Sequence[SubscriptionGroupConfig]) -> Steps[None]:
        """What `update` does, in steps; only an end of the process can leave a part of it done."""
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
        """Let a group consume no more."""
        known = self._table.get(name)
        if known is not None and known.consume_enable:
            self.put(replace(known, consume_enable=False))

    def delete(self, name: str) -> bool:
        """Remove a group with what it was forbidden; false when there is none."""
        forbidden = self._forbidden.pop(name, None)
        if self._table.pop(name, None) is None and forbidden is None:
            return False
        self._others_of.pop(name, None)
        self._texts.forget(name)
        self._changed(name, forbidden=name)
        return True

    def forbidden(self, group: str, topic: str) -> int:
        """The bits of what the group may not do with the topic."""
        return self._forbidden.get(group, {}).get(topic, 0)

    def is_read_forbidden(self, group: str, topic: str) -> bool:
        """Whether the group may not read the topic."""
        return bool(self._forbidden) and bool(self.forbidden(group, topic) & 1 << FORBIDDEN_READ)

    def forbid(self, group: str, topic: str, place: int, is_forbidden: bool) -> bool:
        """Set or clear one bit, `FORBIDDEN_READ` or `FORBIDDEN_WRITE`, of a group for a topic.

        False when no more is kept (`maxForbidden`).
        Standard: `SubscriptionGroupManager.updateForbidden`.
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
        self._changed(forbidden=group)
        return True

    def forbidden_table(self) -> dict[str, dict[str, int]]:
        """Bits by group and topic."""
        return {group: dict(topics) for group, topics in self._forbidden.items()}

    def adopt(self, told: Mapping[str, Any]) -> bool:
        """Take over a master's table, as `to_json` gives it, whole; false where it is as new as ours.

        Raises `ConfigError`, and then has taken nothing. Standard: `SlaveSynchronize`.
        """
        version = DataVersion.from_json(told.get("dataVersion"))
        if version == self.data_version:
            return False
        table = json_members.read(told, "subscriptionGroupTable", dict[str, Any]())
        configs = [SubscriptionGroupConfig.from_json(value) for value in table.values()]
        forbidden = json_members.read(told, "forbiddenTable", dict[str, Any]())
        self._forbidden = {group: dict(topics) for group, topics in forbidden.items()}
        self._table = {config.group_name: config for config in configs}
        self._others_of.clear()
        self.data_version = version
        self._file.save(self._pieces)
        return True

    def to_json(self) -> dict[str, Any]:
        """The table and its version, as brokers tell slaves and tools."""
        return {
            "dataVersion": self.data_version.to_json(),
            "forbiddenTable": self.forbidden_table(),
            "subscriptionGroupTable": {name: config.to_json() for name, config in self._table.items()},
        }

    def retry(self) -> None:
        """Write the file if it lacks changes, and it is time; for a slow beat."""
        self._file.retry(self._pieces)

    def close(self) -> None:
        """Write the file if it lacks changes, here and now; for the end, when the worker works no more."""
        self._file.close(self._pieces)

    def _pieces(self) -> Iterator[bytes]:
        return in_pieces(
            {
                **self._others,
                "dataVersion": self.data_version.to_json(),
                "forbiddenTable": self.forbidden_table(),
                "subscriptionGroupTable": self._texts.of(self._table),
            }
        )

    def _shape(self, name: str, config: SubscriptionGroupConfig) -> dict[str, Any]:
        return self._others_of.get(name, {}) | config.to_json()

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

    def _changed(self, *names: str, forbidden: str | None = None) -> None:
        self.data_version.next(self._clock.millis())
        change: Change = [(["dataVersion"], self.data_version.to_json())]
        for name in names:
            config = self._table.get(name)
            entry = None if config is None else self._shape(name, config)
            change.append((["subscriptionGroupTable", name], entry))
        if forbidden is not None:
            change.append((["forbiddenTable", forbidden], dict(self._forbidden.get(forbidden, {})) or None))
        self._file.note(change, self._pieces)
