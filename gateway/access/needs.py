"""What a request needs: resources, and on each one of some actions; and how tables of that are written.

A table has a row for each request code, made of parts that read header fields. Standard: the annotations
`RocketMQAction` and `RocketMQResource` of the header classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from mqgateway.gateway.access.policies import RETRY_PREFIX, Action, Resource, cluster, group, topic
from mqgateway.gateway.codec.codes import RequestCode

PUB, SUB, GET = Action.PUB, Action.SUB, Action.GET
CREATE, UPDATE, DELETE = Action.CREATE, Action.UPDATE, Action.DELETE


class Need(NamedTuple):
    """A resource, and the actions of which one must be allowed."""

    resource: Resource
    actions: tuple[Action, ...]


Fields = Mapping[str, str]
Part = Callable[[Fields, str], Iterable[Need]]
"""Header fields and the name of the broker's cluster to what they need."""
Row = tuple[Part, ...]


def topic_in(field: str, *actions: Action, skip_retry: bool = False, between: str = "") -> Part:
    """A topic in a field, or several; `skip_retry` where its group is asked for anyway."""

    def needs(fields: Fields, cluster_name: str) -> Iterable[Need]:
        for name in _names(fields, field, between):
            if not (skip_retry and name.startswith(RETRY_PREFIX)):
                yield Need(topic(name), actions)

    return needs


def group_in(field: str, *actions: Action, between: str = "") -> Part:
    """A consumer group in a field, or several."""

    def needs(fields: Fields, cluster_name: str) -> Iterable[Need]:
        return [Need(group(name), actions) for name in _names(fields, field, between)]

    return needs


def _names(fields: Fields, field: str, between: str) -> list[str]:
    text = fields.get(field)
    if text is None:
        return []
    return [name for name in text.split(between) if name] if between else [text]


def whole_cluster(*actions: Action) -> Part:
    """The broker's own cluster."""
    return lambda fields, cluster_name: [Need(cluster(cluster_name), actions)]


CLUSTER_SHOWN: Row = (whole_cluster(GET),)
CLUSTER_CHANGED: Row = (whole_cluster(UPDATE),)
FREE: Row = ()
"""Any user may."""

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
"""Users and policies, which every server has."""


def needs_in(table: Mapping[int, Row], code: int, fields: Fields, cluster_name: str) -> list[Need]:
    """What the header fields of a request need by a table."""
    return [need for part in table.get(code, ()) for need in part(fields, cluster_name)]
