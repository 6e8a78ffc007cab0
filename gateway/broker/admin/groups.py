"""What administration asks and changes of consumer groups.

200 and 225 create and change, 207 deletes, 352 shows one, 353 forbids a group to read a topic.
Standard: `AdminBrokerProcessor`, `SubscriptionGroupManager`.
"""

from collections.abc import Sequence
from typing import Any

import orjson

from mqgateway.engine import lenient_json
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.message import validate_group, validate_topic
from mqgateway.engine.steps import Steps, in_parts, run
from mqgateway.engine.tables.attributes import AttributeRefused
from mqgateway.engine.tables.groups import FORBIDDEN_READ, SubscriptionGroupConfig
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.codec.bodies import GroupForbidden, SubscriptionGroupList
from mqgateway.gateway.codec.bodies.tables import read_list
from mqgateway.gateway.codec.codes import ResponseCode
from mqgateway.gateway.codec.headers import (
    DeleteSubscriptionGroupRequestHeader,
    GetSubscriptionGroupConfigRequestHeader,
    UpdateGroupForbiddenRequestHeader,
)
from mqgateway.gateway.remoting.call import Call, Reply, RequestError


def update_group(broker: Broker, call: Call) -> Reply:
    """200 UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: the whole configuration; attributes as changes."""
    try:
        value = orjson.loads(call.body)
    except ValueError as error:
        raise RequestError(ResponseCode.SYSTEM_ERROR, f"the body is no JSON: {error}") from None
    run(_update(broker, [_read(value)]))
    return Reply()


def update_groups(broker: Broker, call: Call) -> Steps[Reply]:
    """225 UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST: all of them or none, read in steps."""
    configs: list[SubscriptionGroupConfig] = []
    yield from read_list(
        SubscriptionGroupList, "groupConfigList", call.body, lambda value: configs.append(_read(value))
    )
    yield from _update(broker, configs)
    return Reply()


def delete_group(broker: Broker, call: Call) -> Reply:
    """207 DELETE_SUBSCRIPTIONGROUP, with its offsets if that is asked for; unknown groups are fine."""
    header = call.header
    assert isinstance(header, DeleteSubscriptionGroupRequestHeader)
    is_lite = broker.lites.rules.bound_topic(header.group_name) is not None
    broker.groups.delete(header.group_name)
    broker.request_modes.remove_group(header.group_name)
    broker.pops.forget_group(header.group_name)
    if header.clean_offset or is_lite:
        broker.offsets.remove_group(header.group_name)
    if broker.options.auto_delete_unused_stats:
        broker.stats.group_deleted(header.group_name)
    return Reply()


def group_config(broker: Broker, call: Call) -> Reply:
    """352 GET_SUBSCRIPTIONGROUP_CONFIG; a group that may be created on use is created by this too."""
    header = call.header
    assert isinstance(header, GetSubscriptionGroupConfigRequestHeader)
    config = broker.groups.find(header.group)
    if config is None:
        raise RequestError(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, "No group in this broker")
    return Reply(body=lenient_json.dumps(config.to_json()))


def forbid(broker: Broker, call: Call) -> Reply:
    """353 UPDATE_AND_GET_GROUP_FORBIDDEN: whether a group may read a topic, after the change if one came."""
    header = call.header
    assert isinstance(header, UpdateGroupForbiddenRequestHeader)
    group, topic = header.group, header.topic
    if header.readable is not None:
        problem = validate_group(group) or validate_topic(topic)
        if problem is not None:
            raise RequestError(ResponseCode.INVALID_PARAMETER, problem)
        if not broker.groups.forbid(group, topic, FORBIDDEN_READ, not header.readable):
            most = broker.options.max_forbidden
            raise RequestError(ResponseCode.SYSTEM_ERROR, f"{most} topics are forbidden, no more may be")
    readable = not broker.groups.is_read_forbidden(group, topic)
    return Reply(remark="", body=GroupForbidden(topic=topic, group=group, readable=readable).encode())


def _read(value: Any) -> SubscriptionGroupConfig:
    try:
        return SubscriptionGroupConfig.from_json(value)
    except ConfigError as error:
        raise RequestError(ResponseCode.SYSTEM_ERROR, str(error)) from None


def _update(broker: Broker, configs: Sequence[SubscriptionGroupConfig]) -> Steps[None]:
    """Create or change groups, all or none; keys of their attributes are changes."""
    groups, most = broker.groups, broker.options.max_groups
    for part in in_parts(configs):
        for config in part:
            problem = validate_group(config.group_name)
            if problem is None and config.retry_queue_nums > broker.options.max_queues_per_topic:
                problem = f"a retry topic may not have more than {broker.options.max_queues_per_topic} queues"
            if problem is not None:
                raise RequestError(ResponseCode.INVALID_PARAMETER, problem)
        yield
    new = {config.group_name for config in configs if config.group_name not in groups}
    if new and len(groups) + len(new) > most:
        raise RequestError(
            ResponseCode.SYSTEM_ERROR, f"there are {len(groups)} groups, maxGroups allows no more than {most}"
        )
    try:
        yield from groups.update_in_steps(configs)
    except AttributeRefused as refusal:
        raise RequestError(ResponseCode.SYSTEM_ERROR, str(refusal)) from None
