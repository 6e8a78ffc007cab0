"""Queries of the name server's tables: routes, topic lists, the cluster.

`find_route` builds a topic's route; `encoded_route` caches its bytes, because every client requests each of
its topics every 30 s. Only known topics are cached. RocketMQ: `RouteInfoManager.pickupTopicRouteData`,
`ClientRequestProcessor`, `ZoneRouteRPCHook`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mqgateway.engine.ha.member_group import MASTER_ID
from mqgateway.engine.tables.topics import PERM_WRITE
from mqgateway.gateway.codec.bodies import BrokerData, ClusterInfo, TopicList, TopicRouteData
from mqgateway.gateway.namesrv.registration import BrokerKey
from mqgateway.gateway.namesrv.routes import RouteTables

MEMBER_TOPIC_PREFIX = "rmq_sys_SYNC_BROKER_MEMBER_"
"""Prefix of the topic whose route a broker requests to get its group's members without an acting master."""

UNIT_FLAG = 1
UNIT_SUB_FLAG = 2
"""Bits of a topic's system flag. RocketMQ: `TopicSysFlag`."""


def encoded_route(tables: RouteTables, topic: str, *, quoted: bool) -> bytes | None:
    """Return the encoded route of a topic, or None if it has none.

    With `quoted`, integer keys are standard JSON, else bare as old clients and the Go client expect.
    """
    key = (topic, quoted)
    groups = tuple(map(tables.brokers.get, tables.topic_queues.get(topic, ())))
    known = tables.encoded.get(key)
    if known is not None and known[1] == groups:
        return known[0]
    route = find_route(tables, topic)
    if route is None:
        return None
    body = route.encode_standard() if quoted else route.encode()
    tables.encoded[key] = (body, groups)
    return body


def find_route(tables: RouteTables, topic: str) -> TopicRouteData | None:
    """Return the brokers and queues of a topic; None if no live broker has any."""
    by_broker = tables.topic_queues.get(topic)
    if not by_broker:
        return None
    groups = [tables.brokers[name] for name in by_broker if name in tables.brokers]
    if not groups:
        return None
    if tables.options.support_acting_master and not topic.startswith(MEMBER_TOPIC_PREFIX):
        groups = [_with_acting_master(group, by_broker[group.broker_name].perm) for group in groups]
    filter_servers = {}
    for group in groups if tables.filter_servers else ():
        for address in group.broker_addrs.values():
            servers = tables.filter_servers.get(BrokerKey(group.cluster, address))
            if servers:
                filter_servers[address] = servers
    return TopicRouteData(
        queue_datas=list(by_broker.values()),
        broker_datas=groups,
        filter_server_table=filter_servers,
        topic_queue_mapping_by_broker=tables.mappings.get(topic),
    )


def _with_acting_master(group: BrokerData, perm: int) -> BrokerData:
    """Show the member with the smallest id as master if there is none, unless the queues are writable."""
    addresses = group.broker_addrs
    if MASTER_ID in addresses or not group.enable_acting_master or perm & PERM_WRITE:
        return group
    first = min(addresses)
    others = {n: address for n, address in addresses.items() if n != first}
    return replace(group, broker_addrs={MASTER_ID: addresses[first], **others})


def keep_zone(route: TopicRouteData, zone: str) -> TopicRouteData:
    """Return the route without brokers of other zones; groups without a master are kept in any zone.

    Zones are compared case-insensitively.
    """
    kept: list[BrokerData] = []
    removed: list[BrokerData] = []
    for group in route.broker_datas:
        near = (group.zone_name or "").lower() == zone.lower()
        (kept if near or MASTER_ID not in group.broker_addrs else removed).append(group)
    names = {group.broker_name for group in removed}
    addresses = {address for group in removed for address in group.broker_addrs.values()}
    return replace(
        route,
        broker_datas=kept,
        queue_datas=[one for one in route.queue_datas if one.broker_name not in names],
        filter_server_table={a: s for a, s in route.filter_server_table.items() if a not in addresses},
    )


def cluster_info(tables: RouteTables) -> ClusterInfo:
    """Return all broker groups, and their names by cluster."""
    return ClusterInfo(
        broker_addr_table=dict(tables.brokers),
        cluster_addr_table={cluster: set(names) for cluster, names in tables.clusters.items()},
    )


def member_addresses(tables: RouteTables, name: str) -> dict[int, str]:
    """Return the addresses of a broker group by id; empty if it is unknown."""
    group = tables.brokers.get(name)
    return dict(group.broker_addrs) if group else {}


def all_topics(tables: RouteTables) -> TopicList:
    """Return every topic that has queues."""
    return TopicList(set(tables.topic_queues))


def topics_of_cluster(tables: RouteTables, cluster: str) -> TopicList:
    """Return the topics of a cluster's brokers; empty for an unknown cluster."""
    names = tables.clusters.get(cluster, set())
    return TopicList({t for t, by_broker in tables.topic_queues.items() if not names.isdisjoint(by_broker)})


def system_topics(tables: RouteTables) -> TopicList:
    """Return the topics that every cluster has, named like clusters and brokers, and one broker's address."""
    names = set(tables.clusters)
    for brokers in tables.clusters.values():
        names |= brokers
    first = next(iter(tables.brokers.values()), None)
    address = next(iter(first.broker_addrs.values()), None) if first else None
    return TopicList(names, address)


def topics_by_flag(tables: RouteTables, accept: Callable[[int], bool]) -> TopicList:
    """Return the topics whose system flag, as registered by the first broker, is accepted."""
    return TopicList(
        {t for t, by in tables.topic_queues.items() if accept(next(iter(by.values())).topic_sys_flag)}
    )


def is_unit(flag: int) -> bool:
    """Return True if the topic belongs to a unit."""
    return bool(flag & UNIT_FLAG)


def has_unit_sub(flag: int) -> bool:
    """Return True if groups of units subscribe to the topic."""
    return bool(flag & UNIT_SUB_FLAG)


def has_unit_sub_but_no_unit(flag: int) -> bool:
    """Return True if groups of units subscribe to the topic, which belongs to no unit."""
    return has_unit_sub(flag) and not is_unit(flag)
