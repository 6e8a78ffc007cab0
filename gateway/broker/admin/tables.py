"""Whole tables, as slaves and exports fetch them: 21 topics, 201 consumer groups, 45 delay offsets.

Topics and groups come page by page, in the order of their names, when the asker sends the fields for that;
clients before 5.5 send none and get everything. A page belongs to a data version: who asks with another one
starts at the first name again.
Standard: `AdminBrokerProcessor`, `TopicConfigManager.subTopicConfigTable`,
`SubscriptionGroupManager.subGroupTable`.
"""

from typing import TypeVar

from mqgateway.engine import lenient_json
from mqgateway.engine.tables.data_version import DataVersion
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.codec.bodies import SubscriptionGroupWrapper, TopicConfigAndMappingSerializeWrapper
from mqgateway.gateway.codec.headers import (
    GetAllSubscriptionGroupRequestHeader,
    GetAllSubscriptionGroupResponseHeader,
    GetAllTopicConfigRequestHeader,
    GetAllTopicConfigResponseHeader,
)
from mqgateway.gateway.remoting.call import Call, Reply

T = TypeVar("T")


def all_topics(broker: Broker, call: Call) -> Reply:
    """21 GET_ALL_TOPIC_CONFIG."""
    table = {config.topic_name: config for config in broker.topics.all()}
    header = GetAllTopicConfigResponseHeader(total_topic_num=len(table))
    version = broker.topics.data_version
    fields = call.command.ext_fields
    if broker.options.enable_split_metadata and fields:
        page = GetAllTopicConfigRequestHeader.decode(fields)
        size = min(broker.options.split_metadata_size, page.max_topic_num or len(table))
        table = _page(table, _start(page.topic_seq, page.data_version, version), size)
    body = TopicConfigAndMappingSerializeWrapper(
        topic_config_table={name: config.to_json() for name, config in table.items()},
        data_version=version.to_json(),
        topic_queue_mapping_detail_map={
            name: mapping.to_json() for name, mapping in broker.mappings.table.items() if name in table
        },
        mapping_data_version=broker.mappings.data_version.to_json(),
    )
    return Reply(header=header, body=body.encode())


def all_groups(broker: Broker, call: Call) -> Reply:
    """201 GET_ALL_SUBSCRIPTIONGROUP_CONFIG."""
    table = {config.group_name: config for config in broker.groups.all()}
    header = GetAllSubscriptionGroupResponseHeader(total_group_num=len(table))
    version = broker.groups.data_version
    fields = call.command.ext_fields
    if broker.options.enable_split_metadata and fields:
        page = GetAllSubscriptionGroupRequestHeader.decode(fields)
        size = min(broker.options.split_metadata_size, page.max_group_num or len(table))
        table = _page(table, _start(page.group_seq, page.data_version, version), size)
    forbidden = broker.groups.forbidden_table()
    body = SubscriptionGroupWrapper(
        subscription_group_table={name: config.to_json() for name, config in table.items()},
        forbidden_table={name: forbidden[name] for name in table if name in forbidden},
        data_version=version.to_json(),
    )
    return Reply(header=header, body=body.encode())


def delay_offsets(broker: Broker, call: Call) -> Reply:
    """45 GET_ALL_DELAY_OFFSET: delayOffset.json."""
    return Reply(body=lenient_json.dumps(broker.delays.to_json()))


def _start(wished: int, version: str | None, current: DataVersion) -> int:
    try:
        known = DataVersion.from_json(lenient_json.loads(version)) if version else None
    except (ValueError, AttributeError):
        known = None
    return wished if known == current else 0


def _page(table: dict[str, T], start: int, size: int) -> dict[str, T]:
    names = sorted(table)[max(0, start) : max(0, start) + size]
    return {name: table[name] for name in names}
