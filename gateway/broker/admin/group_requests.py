"""Requests about consumer groups: 200 and 225 create and change, 207 deletes, 352 shows one.

353 forbids a group to read a topic. RocketMQ: `AdminBrokerProcessor`.
"""

from typing import Any

from mqgateway.engine import lenient_json
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.steps import Steps
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.gateway.broker.admin import groups
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.codec.bodies import GroupForbidden, SubscriptionGroupList
from mqgateway.gateway.codec.bodies.body import is_null
from mqgateway.gateway.codec.bodies.tables import read_list
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.headers import (
    DeleteSubscriptionGroupRequestHeader,
    GetSubscriptionGroupConfigRequestHeader,
    UpdateGroupForbiddenRequestHeader,
)
from mqgateway.gateway.remoting.call import Call, Reply, RequestError
from mqgateway.gateway.remoting.dispatch import LongRequestFunction


def update_group(broker: Broker, call: Call) -> Reply:
    """200 UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: the whole configuration; attributes as changes.

    A body that is null changes nothing, and a group without a name has an empty one, as in RocketMQ.
    """
    if is_null(call.body):
        return Reply()
    try:
        value = lenient_json.loads(call.body)
    except ValueError as error:
        raise RequestError(ResponseCode.SYSTEM_ERROR, f"the body is not JSON: {error}") from None
    if isinstance(value, dict) and value.get("groupName") is None:
        value["groupName"] = ""
    try:
        groups.update_group(broker, _read(value))
    except groups.BadAttribute as refusal:
        raise _thrown(refusal) from None
    return Reply()


def update_groups(broker: Broker, call: Call) -> Steps[Reply]:
    """225 UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST, read as a cooperative task."""
    configs: list[SubscriptionGroupConfig] = []
    yield from read_list(
        SubscriptionGroupList, "groupConfigList", call.body, lambda value: configs.append(_read(value))
    )
    try:
        yield from groups.update_groups(broker, configs)
    except groups.BadAttribute as refusal:
        raise _thrown(refusal) from None
    return Reply()


def delete_group(broker: Broker, call: Call) -> Reply:
    """207 DELETE_SUBSCRIPTIONGROUP."""
    header = call.header
    assert isinstance(header, DeleteSubscriptionGroupRequestHeader)
    groups.delete_group(broker, header.group_name, with_offsets=header.clean_offset)
    return Reply()


def group_config(broker: Broker, call: Call) -> Reply:
    """352 GET_SUBSCRIPTIONGROUP_CONFIG."""
    header = call.header
    assert isinstance(header, GetSubscriptionGroupConfigRequestHeader)
    return Reply(body=lenient_json.dumps(groups.group_config(broker, header.group).to_json()))


def update_and_get_forbidden(broker: Broker, call: Call) -> Reply:
    """353 UPDATE_AND_GET_GROUP_FORBIDDEN: set, if requested, and return if a group may read a topic."""
    header = call.header
    assert isinstance(header, UpdateGroupForbiddenRequestHeader)
    group, topic = header.group, header.topic
    if header.readable is not None:
        groups.set_readable(broker, group, topic, header.readable)
    readable = groups.is_readable(broker, group, topic)
    return Reply(remark="", body=GroupForbidden(topic=topic, group=group, readable=readable).encode())


def _thrown(refusal: groups.BadAttribute) -> RequestError:
    """Return an error that RocketMQ's request function throws: clients see its Java class name too."""
    return RequestError(ResponseCode.SYSTEM_ERROR, f"java.lang.RuntimeException: {refusal.message}")


def _read(value: Any) -> SubscriptionGroupConfig:
    try:
        return SubscriptionGroupConfig.from_json(value)
    except ConfigError as error:
        raise RequestError(ResponseCode.SYSTEM_ERROR, str(error)) from None


REQUESTS: dict[int, LongRequestFunction] = {
    RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: update_group,
    RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST: update_groups,
    RequestCode.DELETE_SUBSCRIPTIONGROUP: delete_group,
    RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG: group_config,
    RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN: update_and_get_forbidden,
}
