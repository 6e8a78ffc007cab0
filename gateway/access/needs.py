"""Needs of requests: resources with the actions on them, and the notation of their tables.

A table has a row for each request code, made of parts that read header fields. RocketMQ: the annotations
`RocketMQAction` and `RocketMQResource` of the header classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.access.policies import RETRY_PREFIX, Action, Resource, cluster, group, topic
from mqgateway.gateway.codec.codes import RequestCode

PUB, SUB, GET = Action.PUB, Action.SUB, Action.GET
CREATE, UPDATE, DELETE = Action.CREATE, Action.UPDATE, Action.DELETE


class Need(NamedTuple):
    """Resource and actions, of which one must be allowed.

    With an `operation`, that of Kafka must be allowed, for which the actions stand in entries of ACL 2.0.
    """

    resource: Resource
    actions: tuple[Action, ...]
    operation: AclOperation | None = None


Fields = Mapping[str, str]
Part = Callable[[Fields, str], Iterable[Need]]
"""Function of header fields and the broker's cluster name that returns needs."""
Row = tuple[Part, ...]


def topic_in(field: str, *actions: Action, skip_retry: bool = False, between: str = "") -> Part:
    """Return the part for one or more topics in a field.

    `skip_retry` omits retry topics, whose group is checked anyway. `between` separates several names.
    """

    def needs(fields: Fields, cluster_name: str) -> Iterable[Need]:
        for name in _names(fields, field, between):
            if not (skip_retry and name.startswith(RETRY_PREFIX)):
                yield Need(topic(name), actions)

    return needs


def group_in(field: str, *actions: Action, between: str = "") -> Part:
    """Return the part for one or more consumer groups in a field."""

    def needs(fields: Fields, cluster_name: str) -> Iterable[Need]:
        return [Need(group(name), actions) for name in _names(fields, field, between)]

    return needs


def _names(fields: Fields, field: str, between: str) -> list[str]:
    text = fields.get(field)
    if text is None:
        return []
    return [name for name in text.split(between) if name] if between else [text]


def whole_cluster(*actions: Action) -> Part:
    """Return the part for the broker's own cluster."""
    return lambda fields, cluster_name: [Need(cluster(cluster_name), actions)]


CLUSTER_SHOWN: Row = (whole_cluster(GET),)
CLUSTER_CHANGED: Row = (whole_cluster(UPDATE),)
FREE: Row = ()
"""Allowed for every user."""

USERS: dict[int, Row] = {
    RequestCode.AUTH_CREATE_USER: CLUSTER_CHANGED,
    RequestCode.AUTH_UPDATE_USER: CLUSTER_CHANGED,
    RequestCode.AUTH_DELETE_USER: CLUSTER_CHANGED,
    RequestCode.AUTH_GET_USER: CLUSTER_SHOWN,
    RequestCode.AUTH_LIST_USER: CLUSTER_SHOWN,
    RequestCode.AUTH_CREATE_ACL: CLUSTER_CHANGED,
    RequestCode.AUTH_UPDATE_ACL: CLUSTER_CHANGED,
    RequestCode.AUTH_DELETE_ACL: CLUSTER_CHANGED,
    RequestCode.AUTH_GET_ACL: CLUSTER_SHOWN,
    RequestCode.AUTH_LIST_ACL: CLUSTER_SHOWN,
}
"""Requests about users and policies, which every server has."""


def needs_in(table: Mapping[int, Row], code: int, fields: Fields, cluster_name: str) -> list[Need]:
    """Return the needs of a request by its header fields and a table."""
    return [need for part in table.get(code, ()) for need in part(fields, cluster_name)]
