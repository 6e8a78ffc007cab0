"""Whole tables for slaves and exports: topics, consumer groups, delay offsets.

Topics and groups are returned by page, in the order of their names, if the caller requests pages. A page
belongs to a data version: a request with another version starts at the first name again. RocketMQ:
`AdminBrokerProcessor`, `TopicConfigManager.subTopicConfigTable`, `SubscriptionGroupManager.subGroupTable`.
"""

from typing import Any, NamedTuple, TypeVar

from mqgateway.engine.static_topics.mappings import TopicQueueMappingDetail
from mqgateway.engine.tables.data_version import DataVersion
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.broker.broker import Broker

T = TypeVar("T")


class TableRange(NamedTuple):
    """Requested range of a table: `size` entries from index `start`, of the caller's data version.

    `size` is None for the broker's page size.
    """

    start: int
    size: int | None
    version: DataVersion | None


class TopicPage(NamedTuple):
    """Topics, with the mappings of static ones; `total` is the size of the whole table."""

    total: int
    configs: dict[str, TopicConfig]
    version: DataVersion
    mappings: dict[str, TopicQueueMappingDetail]
    mapping_version: DataVersion


class GroupPage(NamedTuple):
    """Groups, with their forbidden bits by topic; `total` is the size of the whole table."""

    total: int
    configs: dict[str, SubscriptionGroupConfig]
    version: DataVersion
    forbidden: dict[str, dict[str, int]]


def all_topics(broker: Broker, page: TableRange | None = None) -> TopicPage:
    """Return all topics, or those of a page."""
    topics, mappings = broker.tables.topics, broker.tables.mappings
    table = {config.topic_name: config for config in topics.all()}
    shown = table if page is None else _page(broker, table, page, topics.data_version)
    return TopicPage(
        total=len(table),
        configs=shown,
        version=topics.data_version,
        mappings={name: mapping for name, mapping in mappings.table.items() if name in shown},
        mapping_version=mappings.data_version,
    )


def all_groups(broker: Broker, page: TableRange | None = None) -> GroupPage:
    """Return all consumer groups, or those of a page."""
    groups = broker.tables.groups
    table = {config.group_name: config for config in groups.all()}
    shown = table if page is None else _page(broker, table, page, groups.data_version)
    forbidden = groups.forbidden_table()
    return GroupPage(
        total=len(table),
        configs=shown,
        version=groups.data_version,
        forbidden={name: forbidden[name] for name in shown if name in forbidden},
    )


def delay_offsets(broker: Broker) -> dict[str, Any]:
    """Return the delivery offset of each delay level: the content of delayOffset.json."""
    return broker.delays.to_json()


def _page(broker: Broker, table: dict[str, T], page: TableRange, version: DataVersion) -> dict[str, T]:
    size = min(broker.options.split_metadata_size, page.size or len(table))
    start = max(0, page.start) if page.version == version else 0
    return {name: table[name] for name in sorted(table)[start : start + size]}
