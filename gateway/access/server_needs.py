"""Needs of the request codes of name servers, controllers and broker containers, as `resources` for brokers.

Apache's servers accept these requests from every caller. A server of several clusters checks the cluster that
the request names, and all of them, `Cluster:*`, if it names none.
"""

from __future__ import annotations

from collections.abc import Iterable

from mqgateway.gateway.access.needs import (
    CLUSTER_CHANGED,
    CLUSTER_SHOWN,
    GET,
    PUB,
    SUB,
    UPDATE,
    USERS,
    Fields,
    Need,
    Part,
    Row,
)
from mqgateway.gateway.access.policies import RETRY_PREFIX, Action, cluster, topic
from mqgateway.gateway.codec.codes import RequestCode

ALL_CLUSTERS = "*"
"""Cluster of a request that names none."""
DEFAULT_TOPIC = "TBW102"
"""Topic whose route producers request if their own topic has none yet."""


def _cluster_in(field: str, *actions: Action) -> Row:
    """Return the row for the cluster in a field, else the server's."""

    def needs(fields: Fields, cluster_name: str) -> Iterable[Need]:
        return [Need(cluster(fields.get(field) or cluster_name), actions)]

    return (needs,)


def _route() -> Part:
    """Return the part for a topic's route, readable with any use of the topic.

    RocketMQ: a proxy's port does the same.
    """

    def needs(fields: Fields, cluster_name: str) -> Iterable[Need]:
        name = fields.get("topic", "")
        if name == DEFAULT_TOPIC:
            return []
        return [Need(topic(name), (SUB, GET) if name.startswith(RETRY_PREFIX) else (PUB, SUB, GET))]

    return needs


OF_NAME_SERVER: dict[int, Row] = {
    RequestCode.GET_ROUTEINFO_BY_TOPIC: (_route(),),
    # Brokers
    RequestCode.REGISTER_BROKER: _cluster_in("clusterName", UPDATE),
    RequestCode.UNREGISTER_BROKER: _cluster_in("clusterName", UPDATE),
    RequestCode.BROKER_HEARTBEAT: _cluster_in("clusterName", UPDATE),
    RequestCode.QUERY_DATA_VERSION: _cluster_in("clusterName", UPDATE),
    RequestCode.GET_BROKER_MEMBER_GROUP: _cluster_in("clusterName", GET),
    RequestCode.REGISTER_TOPIC_IN_NAMESRV: CLUSTER_CHANGED,
    # Administration
    RequestCode.DELETE_TOPIC_IN_NAMESRV: _cluster_in("clusterName", UPDATE),
    RequestCode.WIPE_WRITE_PERM_OF_BROKER: CLUSTER_CHANGED,
    RequestCode.ADD_WRITE_PERM_OF_BROKER: CLUSTER_CHANGED,
    RequestCode.GET_BROKER_CLUSTER_INFO: CLUSTER_SHOWN,
    RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: CLUSTER_SHOWN,
    RequestCode.GET_TOPICS_BY_CLUSTER: _cluster_in("cluster", GET),
    RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS: CLUSTER_SHOWN,
    RequestCode.GET_UNIT_TOPIC_LIST: CLUSTER_SHOWN,
    RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST: CLUSTER_SHOWN,
    RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST: CLUSTER_SHOWN,
    # Its own
    RequestCode.PUT_KV_CONFIG: CLUSTER_CHANGED,
    RequestCode.GET_KV_CONFIG: CLUSTER_SHOWN,
    RequestCode.DELETE_KV_CONFIG: CLUSTER_CHANGED,
    RequestCode.GET_KVLIST_BY_NAMESPACE: CLUSTER_SHOWN,
    RequestCode.UPDATE_NAMESRV_CONFIG: CLUSTER_CHANGED,
    RequestCode.GET_NAMESRV_CONFIG: CLUSTER_SHOWN,
    # Of the brokers that the process of the name server supervises
    RequestCode.ADD_BROKER: CLUSTER_CHANGED,
    RequestCode.REMOVE_BROKER: CLUSTER_CHANGED,
    RequestCode.GET_BROKER_RUNTIME_INFO: CLUSTER_SHOWN,
    **USERS,
}

OF_CONTROLLER: dict[int, Row] = {
    RequestCode.BROKER_HEARTBEAT: _cluster_in("clusterName", UPDATE),
    RequestCode.CONTROLLER_ALTER_SYNC_STATE_SET: CLUSTER_CHANGED,
    RequestCode.CONTROLLER_ELECT_MASTER: _cluster_in("clusterName", UPDATE),
    RequestCode.CONTROLLER_REGISTER_BROKER: _cluster_in("clusterName", UPDATE),
    RequestCode.CONTROLLER_GET_NEXT_BROKER_ID: _cluster_in("clusterName", UPDATE),
    RequestCode.CONTROLLER_APPLY_BROKER_ID: _cluster_in("clusterName", UPDATE),
    RequestCode.CLEAN_BROKER_DATA: _cluster_in("clusterName", UPDATE),
    RequestCode.CONTROLLER_GET_REPLICA_INFO: CLUSTER_SHOWN,
    RequestCode.CONTROLLER_GET_METADATA_INFO: CLUSTER_SHOWN,
    RequestCode.CONTROLLER_GET_SYNC_STATE_DATA: CLUSTER_SHOWN,
    RequestCode.UPDATE_CONTROLLER_CONFIG: CLUSTER_CHANGED,
    RequestCode.GET_CONTROLLER_CONFIG: CLUSTER_SHOWN,
    **USERS,
}

OF_CONTAINER: dict[int, Row] = {
    RequestCode.ADD_BROKER: CLUSTER_CHANGED,
    RequestCode.REMOVE_BROKER: CLUSTER_CHANGED,
    RequestCode.UPDATE_BROKER_CONFIG: CLUSTER_CHANGED,
    RequestCode.GET_BROKER_CONFIG: CLUSTER_SHOWN,
    RequestCode.GET_BROKER_RUNTIME_INFO: CLUSTER_SHOWN,
    **USERS,
}
