"""Requests of whole tables: 21 topics, 201 consumer groups, 45 delay offsets.

Topics and groups are sent by page to clients that send a field of a page; clients before 5.5 send none and
receive the whole table. The fields of a signature do not count, nor do `LAGS_FIELD` and `FIGURES_FIELD`.
RocketMQ: `AdminBrokerProcessor`.
"""

from mqgateway.engine import lenient_json
from mqgateway.engine.steps import Steps
from mqgateway.engine.tables.data_version import DataVersion
from mqgateway.gateway.broker.admin import progress, tables, topics
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.codec.bodies import SubscriptionGroupWrapper, TopicConfigAndMappingSerializeWrapper
from mqgateway.gateway.codec.bodies.tables import FIGURES_FIELD, LAGS_FIELD
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.fields import Header
from mqgateway.gateway.codec.headers import (
    GetAllSubscriptionGroupRequestHeader,
    GetAllSubscriptionGroupResponseHeader,
    GetAllTopicConfigRequestHeader,
    GetAllTopicConfigResponseHeader,
)
from mqgateway.gateway.remoting.call import Call, Reply
from mqgateway.gateway.remoting.dispatch import LongRequestFunction


def all_topics(broker: Broker, call: Call) -> Reply | Steps[Reply]:
    """21 GET_ALL_TOPIC_CONFIG; with the topics' figures for the console of another broker."""
    header = call.header
    assert isinstance(header, GetAllTopicConfigRequestHeader)
    page = _page(broker, header.topic_seq, header.max_topic_num, header.data_version)
    found = tables.all_topics(broker, page)
    body = TopicConfigAndMappingSerializeWrapper(
        topic_config_table={name: config.to_json() for name, config in found.configs.items()},
        data_version=found.version.to_json(),
        topic_queue_mapping_detail_map={name: one.to_json() for name, one in found.mappings.items()},
        mapping_data_version=found.mapping_version.to_json(),
        deleted_topics=broker.tables.topics.ends(),
    )
    response = GetAllTopicConfigResponseHeader(total_topic_num=found.total)
    if call.command.ext_fields.get(FIGURES_FIELD) == "true":
        return _with_figures(broker, response, body)
    return Reply(header=response, body=body.encode())


def _with_figures(
    broker: Broker, header: Header, body: TopicConfigAndMappingSerializeWrapper
) -> Steps[Reply]:
    body.topic_figures = yield from topics.figures(broker, list(body.topic_config_table))
    return Reply(header=header, body=body.encode())


def all_groups(broker: Broker, call: Call) -> Reply | Steps[Reply]:
    """201 GET_ALL_SUBSCRIPTIONGROUP_CONFIG; with the groups' lags for the console of another broker."""
    header = call.header
    assert isinstance(header, GetAllSubscriptionGroupRequestHeader)
    page = _page(broker, header.group_seq, header.max_group_num, header.data_version)
    found = tables.all_groups(broker, page)
    body = SubscriptionGroupWrapper(
        subscription_group_table={name: config.to_json() for name, config in found.configs.items()},
        forbidden_table=found.forbidden,
        data_version=found.version.to_json(),
    )
    header = GetAllSubscriptionGroupResponseHeader(total_group_num=found.total)
    if call.command.ext_fields.get(LAGS_FIELD) == "true":
        return _with_lags(broker, header, body)
    return Reply(header=header, body=body.encode())


def _with_lags(broker: Broker, header: Header, body: SubscriptionGroupWrapper) -> Steps[Reply]:
    body.group_lags = yield from progress.group_lags(broker, list(body.subscription_group_table))
    return Reply(header=header, body=body.encode())


def delay_offsets(broker: Broker, call: Call) -> Reply:
    """45 GET_ALL_DELAY_OFFSET: the content of delayOffset.json."""
    return Reply(body=lenient_json.dumps(tables.delay_offsets(broker)))


def _page(
    broker: Broker, start: int | None, size: int | None, version: str | None
) -> tables.TableRange | None:
    """Return the requested page; None, which is the whole table, if no field names one."""
    if not broker.options.enable_split_metadata or (start is None and size is None and version is None):
        return None
    return tables.TableRange(start or 0, size, _version(version))


def _version(text: str | None) -> DataVersion | None:
    """Return the caller's version of a table; None if it is missing or malformed."""
    try:
        return DataVersion.from_json(lenient_json.loads(text)) if text else None
    except (ValueError, AttributeError):
        return None


REQUESTS: dict[int, LongRequestFunction] = {
    RequestCode.GET_ALL_TOPIC_CONFIG: all_topics,
    RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG: all_groups,
    RequestCode.GET_ALL_DELAY_OFFSET: delay_offsets,
}
