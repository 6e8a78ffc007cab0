"""Permissions that each request code needs: on which topics and groups, or as an admin.

`standard` is what version 4.9.7 checks. By default more is checked, because 4.9.7 lets any account read all
secrets (54), make itself an admin (50), and send and read without permission (320, 361, 200050). Needs are
then those of ACL 2.0 too, as far as accounts can express them, and every change of the broker needs an admin.
RocketMQ: `PlainAccessValidator.parse`, `Permission`, which checked some of this in 5.3.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.steps import Steps
from mqgateway.gateway.access import resources
from mqgateway.gateway.access.needs import Need
from mqgateway.gateway.access.plain.accounts import Permission
from mqgateway.gateway.access.plain.rules import PlainNeed
from mqgateway.gateway.access.policies import Action, Resource, ResourceType, group, topic
from mqgateway.gateway.access.resources import BY_BODY, needs_of_header
from mqgateway.gateway.codec.bodies import HeartbeatData
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.version_4 import AclRequestCode

Fields = Mapping[str, str]
BodyReader = Callable[[bytes, BrokerOptions], Steps[list[PlainNeed]]]
Row = tuple[tuple[Callable[[str], Resource], str, Permission], ...]
"""Fields with the kind of their resource, and the permission it needs."""

PUB, SUB = Permission.PUB, Permission.SUB

STANDARD_ADMIN = frozenset(
    {
        RequestCode.UPDATE_AND_CREATE_TOPIC,
        RequestCode.UPDATE_BROKER_CONFIG,
        RequestCode.DELETE_TOPIC_IN_BROKER,
        RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP,
        RequestCode.DELETE_SUBSCRIPTIONGROUP,
    }
)
"""Codes that only admins may send to 4.9.7."""

_STRICT_ADMIN = STANDARD_ADMIN | {
    RequestCode.UPDATE_AND_CREATE_TOPIC_LIST,
    RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST,
    *AclRequestCode,
}

STANDARD: dict[int, Row] = {
    RequestCode.SEND_MESSAGE: ((topic, "topic", PUB),),
    RequestCode.SEND_MESSAGE_V2: ((topic, "b", PUB),),
    RequestCode.CONSUMER_SEND_MSG_BACK: ((group, "group", SUB),),
    RequestCode.PULL_MESSAGE: ((topic, "topic", SUB), (group, "consumerGroup", SUB)),
    RequestCode.QUERY_MESSAGE: ((topic, "topic", SUB),),
    RequestCode.UNREGISTER_CLIENT: ((group, "consumerGroup", SUB),),
    RequestCode.GET_CONSUMER_LIST_BY_GROUP: ((group, "consumerGroup", SUB),),
    RequestCode.UPDATE_CONSUMER_OFFSET: ((group, "consumerGroup", SUB), (topic, "topic", SUB)),
}
"""Checks of 4.9.7. A send to a retry topic needs SUB on its group."""

_PERMISSIONS = {Action.PUB: PUB, Action.SUB: SUB}


def needs_admin(code: int, is_strict: bool) -> bool:
    """Return True if only an admin may send this code."""
    if not is_strict:
        return code in STANDARD_ADMIN
    return code in _STRICT_ADMIN or any(
        need.resource.type is ResourceType.CLUSTER and Action.UPDATE in need.actions
        for need in needs_of_header(code, {}, "")
    )


def needs_of_fields(code: int, fields: Fields, is_strict: bool) -> list[PlainNeed]:
    """Return the needs of a request's header fields; none if `readers` has the code."""
    row = STANDARD.get(code)
    if row is not None:
        return [_need(make(fields[name]), permission) for make, name, permission in row if name in fields]
    return _translated(needs_of_header(code, fields, "")) if is_strict else []


def needs_of_record(code: int, topic_name: str, group_name: str) -> list[PlainNeed]:
    """Return what a record of a topic needs: `SUB` where it is read, `PUB` where it is changed."""
    actions = resources.BY_RECORD[code][0]
    permission = SUB if Action.SUB in actions else PUB
    return [
        _need(need.resource, permission)
        for need in resources.needs_of_record(topic_name, actions, group_name)
    ]


def readers(is_strict: bool) -> dict[int, BodyReader]:
    """Return the readers of needs in bodies, by code."""
    strict = {code: _translating(read) for code, read in BY_BODY.items()} if is_strict else {}
    return {**strict, RequestCode.HEART_BEAT: _heart_beat}


def _need(resource: Resource, permission: Permission) -> PlainNeed:
    return PlainNeed(resource, SUB if resource.type is ResourceType.GROUP else permission)


def _translated(needs: Iterable[Need]) -> list[PlainNeed]:
    """Convert needs of ACL 2.0 to permissions; version 4 has none for administration."""
    return [
        PlainNeed(need.resource, _PERMISSIONS[action])
        for need in needs
        for action in need.actions
        if action in _PERMISSIONS
    ]


def _translating(read: Callable[..., Steps[Sequence[Need]]]) -> BodyReader:
    def read_translated(body: bytes, options: BrokerOptions) -> Steps[list[PlainNeed]]:
        return _translated((yield from read(body, options)))

    return read_translated


def _heart_beat(body: bytes, options: BrokerOptions) -> Steps[list[PlainNeed]]:
    """Return the needs of a heartbeat: consumers need their group and each topic, producers nothing."""
    heartbeat = yield from HeartbeatData.read(
        body, options.max_groups_per_client, options.max_subscriptions_per_group
    )
    needs = []
    for consumer in heartbeat.consumer_data_set:
        needs.append(PlainNeed(group(consumer.group_name), SUB))
        needs += [PlainNeed(topic(one.topic), SUB) for one in consumer.subscription_data_set]
    return needs
