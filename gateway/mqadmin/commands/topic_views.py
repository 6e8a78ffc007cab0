"""Commands that show topics: routes, offsets, who reads them.

Standard: the package `command.topic` of the module `tools`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

from mqgateway.engine.lenient_json import dumps
from mqgateway.engine.message import DLQ_PREFIX, RETRY_PREFIX
from mqgateway.gateway.client import admin_names as names
from mqgateway.gateway.client import admin_topics as topics
from mqgateway.gateway.client.errors import ClientError, NoBroker
from mqgateway.gateway.mqadmin.declaration import CommandCall, CommandOption, NameKind, Row, command, flag
from mqgateway.gateway.mqadmin.rendering import each, headed, moment, pretty, shown
from mqgateway.gateway.mqadmin.servers import reachable

TOPIC = CommandOption("t", "topic", "topic", required=True, values=NameKind.TOPIC)
CLUSTER_ROUTE = CommandOption(
    "c",
    "cluster",
    "cluster or parent topic whose route is used instead of the topic's",
    values=NameKind.CLUSTER,
)

_ROUTE = "{:<45} {:<32} {:<50} {:<10} {:<11} {:<5}\n"
_ROUTE_ROW = (
    "{cluster:<45} {brokerName:<32} {addresses:<50} {readQueueNums:<10} {writeQueueNums:<11} {perm:<5}\n"
)


def _route_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    found = list(rows)
    if "l" not in call.given:
        yield pretty(call.summary["route"]) + "\n"
        return
    yield _ROUTE.format("#ClusterName", "#BrokerName", "#BrokerAddrs", "#ReadQueue", "#WriteQueue", "#Perm")
    for row in found:
        yield shown(_ROUTE_ROW, row)
    yield "-" * 158 + "\n"
    reads, writes = (sum(row[name] for row in found) for name in ("readQueueNums", "writeQueueNums"))
    yield _ROUTE.format("Total:", len(found), "", reads, writes, "")


@command(
    "topicRoute",
    flag("l", "list", "print one line for each broker instead of JSON"),
    TOPIC,
    text=_route_text,
)
def route(call: CommandCall) -> Iterator[Row]:
    """Standard: `TopicRouteSubCommand`."""
    found = call.servers.route(call.given.need("t"))
    call.summary["route"] = found.to_json()
    queues = {one.broker_name: one for one in found.queue_datas}
    for broker in sorted(found.broker_datas, key=lambda one: one.broker_name):
        one = queues.get(broker.broker_name)
        yield {
            "cluster": broker.cluster,
            "brokerName": broker.broker_name,
            "addresses": dict(sorted(broker.broker_addrs.items())),
            "readQueueNums": one.read_queue_nums if one else 0,
            "writeQueueNums": one.write_queue_nums if one else 0,
            "perm": one.perm if one else 0,
        }


def _status_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    yield f"{'#Broker Name':<32}  {'#QID':<4}  {'#Min Offset':<20}  {'#Max Offset':<20}    #Last Updated\n"
    for row in rows:
        updated = moment(row["lastUpdateTimestamp"]) if row["lastUpdateTimestamp"] > 0 else ""
        line = shown("{brokerName:<32.32}  {queueId:<4}  {minOffset:<20}  {maxOffset:<20}    ", row)
        yield f"{line}{updated}\n"
    yield f"\nTopic Put TPS: {call.summary['topicPutTps']}\n"


@command(
    "topicStatus",
    CLUSTER_ROUTE,
    TOPIC,
    text=_status_text,
)
def status(call: CommandCall) -> Iterator[Row]:
    """Standard: `TopicStatusSubCommand`, `DefaultMQAdminExtImpl.examineTopicStats`."""
    topic = call.given.need("t")
    found = call.servers.route(call.given.text("c") or topic)
    call.summary["topicPutTps"] = 0.0
    offsets = {}
    for _, address in reachable(found.broker_datas):
        with call.servers.part(address):
            table = call.servers.ask(topics.stats(topic), address)
            offsets.update(table.offset_table)
    if not offsets and "c" not in call.given and not call.servers.errors:
        raise ClientError("Not found the topic stats info")
    for queue, one in sorted(offsets.items()):
        yield {
            "brokerName": queue.broker_name,
            "queueId": queue.queue_id,
            "minOffset": one.min_offset,
            "maxOffset": one.max_offset,
            "lastUpdateTimestamp": one.last_update_timestamp,
        }


@command("topicClusterList", TOPIC, text=each("{cluster}\n"))
def clusters(call: CommandCall) -> Iterator[Row]:
    """Standard: `TopicClusterSubCommand`."""
    found = call.servers.route(call.given.need("t"))
    names_of_brokers = {one.broker_name for one in found.broker_datas}
    for cluster, members in sorted(call.servers.clusters().cluster_addr_table.items()):
        if members & names_of_brokers:
            yield {"cluster": cluster}


_LIST_TITLES = ("#Cluster Name", "#Topic", "#Consumer Group")
_with_clusters = headed(
    _LIST_TITLES, "{:<20}  {:<48}  {:<48}\n", "{cluster:<20.20}  {topic:<64.64}  {group:<64.64}\n"
)


def _list_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    return (_with_clusters if "c" in call.given else each("{topic}\n"))(call, rows)


@command(
    "topicList",
    flag("c", "clusterModel", "print clusters and consumer groups of each topic"),
    text=_list_text,
)
def every_topic(call: CommandCall) -> Iterator[Row]:
    """Standard: `TopicListSubCommand`."""
    known: set[str] = call.servers.ask_names(names.all_topics())
    found = sorted(known)
    if "c" not in call.given:
        yield from ({"topic": topic} for topic in found)
        return
    members = call.servers.clusters().cluster_addr_table
    for topic in found:
        if topic.startswith((RETRY_PREFIX, DLQ_PREFIX)):
            continue
        cluster, groups = "", set[str]()
        with suppress(NoBroker):  # it was deleted meanwhile
            cluster, groups = _cluster_and_groups(call, topic, members)
        for group in sorted(groups) or [""]:
            yield {"cluster": cluster, "topic": topic, "group": group}


def _cluster_and_groups(call: CommandCall, topic: str, members: dict[str, set[str]]) -> tuple[str, set[str]]:
    found = call.servers.route(topic)
    name, address = next(reachable(found.broker_datas))
    cluster = next((cluster for cluster, brokers in members.items() if name in brokers), "")
    groups = set[str]()
    with call.servers.part(address):
        groups = call.servers.ask(topics.groups(topic), address)
    return cluster, groups


@command(
    "allocateMQ",
    CommandOption("i", "ipList", "client addresses of the members, separated by ','", required=True),
    TOPIC,
    text=lambda call, rows: iter(
        [dumps({"result": {row["member"]: row["queues"] for row in rows}}).decode(), "\n"]
    ),
)
def allocate(call: CommandCall) -> Iterator[Row]:
    """Standard: `AllocateMQSubCommand`, `AllocateMessageQueueAveragely`."""
    from mqgateway.gateway.client.allocation import Averagely
    from mqgateway.gateway.client.routes import queues_to_read

    topic, members = call.given.need("t"), call.given.need("i").split(",")
    queues = sorted(queues_to_read(topic, call.servers.route(topic)))
    for member in members:
        shared = Averagely().allocate("mqadmin", member, queues, members)
        yield {"member": member, "queues": [one.to_json() for one in shared]}
