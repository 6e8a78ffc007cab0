"""Whole tables, as slaves and exports fetch them: topics, consumer groups, delay offsets.

Topics and groups come page by page, in the order of their names, when the asker wishes for that. A page
belongs to a data version: who asks with another one starts at the first name again.
Standard: `AdminBrokerProcessor`, `TopicConfigManager.subTopicConfigTable`,
`SubscriptionGroupManager.subGroupTable`.
"""

from typing import Any, NamedTuple, TypeVar

from mqgateway.engine.static_topics.mappings import TopicMapping
from mqgateway.engine.tables.data_version import DataVersion
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.broker.broker import Broker

T = TypeVar("T")


class Page(NamedTuple):
    """The part of a table that is asked for: so many entries from a place on, of a version that is known.

    `size` is None for as many as the broker gives at a time.
    """

    start: int
    size: int | None
    version: DataVersion | None


class TopicPage(NamedTuple):
    """Topics with the mappings of static ones; `total` is how many there are in the whole table."""

    total: int
    configs: dict[str, TopicConfig]
    version: DataVersion
    mappings: dict[str, TopicMapping]
    mapping_version: DataVersion


class GroupPage(NamedTuple):
    """Groups with the bits of what they may not do, by topic; `total` is how many there are in all."""

    total: int
    configs: dict[str, SubscriptionGroupConfig]
    version: DataVersion
    forbidden: dict[str, dict[str, int]]


def all_topics(broker: Broker, page: Page | None = None) -> TopicPage:
    """Every topic, or those of a page."""
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


def all_groups(broker: Broker, page: Page | None = None) -> GroupPage:
    """Every consumer group, or those of a page."""
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
    """How far the delivery of each delay level is: the content of delayOffset.json."""
    return broker.delays.to_json()


def _page(broker: Broker, table: dict[str, T], page: Page, version: DataVersion) -> dict[str, T]:
    size = min(broker.options.split_metadata_size, page.size or len(table))
    start = max(0, page.start) if page.version == version else 0
    return {name: table[name] for name in sorted(table)[start : start + size]}
