"""Commands about lite topics. RocketMQ: the package `command.lite` of the module `tools`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from mqgateway.engine.lenient_json import dumps
from mqgateway.gateway.client import admin_lite as lite
from mqgateway.gateway.client.admin_question import Question
from mqgateway.gateway.mqadmin.commands import targets
from mqgateway.gateway.mqadmin.declaration import CommandCall, CommandOption, NameKind, Row, command, flag
from mqgateway.gateway.mqadmin.rendering import moment, shown
from mqgateway.gateway.mqadmin.servers import reachable

T = TypeVar("T")

_PARENT = CommandOption("p", "parentTopic", "parent topic", required=True, values=NameKind.TOPIC)
_GROUP = CommandOption("g", "group", "consumer group", required=True, values=NameKind.GROUP)


def _time(millis: int | None, otherwise: str) -> str:
    return moment(millis) if millis and millis > 0 else otherwise


_FAILED = "[{brokerName}] error.\n"


def _answers(call: CommandCall, question: Question[T]) -> Iterator[tuple[str, T | None]]:
    """Yield the name and answer of each broker of the parent topic; None for a failure, which is recorded."""
    for name, address in _parts(call):
        found: T | None = None
        with call.servers.part(address):
            found = call.servers.ask(question, address)
        yield name, found


def _parts(call: CommandCall) -> Iterator[tuple[str, str]]:
    """Yield the names and addresses of the brokers that have the parent topic."""
    return reachable(call.servers.route(call.given.need("p")).broker_datas)


_BROKER = (
    "{broker:<30} {storeType:<17} {maxLmqNum:<10} {currentLmqNum:<14} {liteSubscriptionCount:<20} "
    "{orderInfoCount:<17} {cqTableSize:<15} {offsetTableSize:<18} {eventMapSize:<15}\n"
)


def _broker_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    titles: tuple[str, ...] = (
        "#Broker",
        "#Store Type",
        "#Max LMQ",
        "#Current LMQ",
        "#SubscriptionCount",
        "#OrderInfoCount",
    )
    titles += ("#CQTableSize", "#OffsetTableSize", "#eventMapSize")
    widths = (30, 17, 10, 14, 20, 17, 15, 18, 15)
    yield " ".join(f"{title:<{width}}" for title, width in zip(titles, widths, strict=True)) + "\n"
    for row in rows:
        yield shown(_BROKER, row)
        if "d" in call.given:
            yield f"Topic Meta: {dumps(row['topicMeta']).decode()}\n"
            yield f"Group Meta: {dumps(row['groupMeta']).decode()}\n\n"


@command(
    "getBrokerLiteInfo",
    *targets.one_of("cluster"),
    flag("d", "showDetail", "include topics and groups"),
    text=_broker_text,
)
def brokers(call: CommandCall) -> Iterator[Row]:
    """RocketMQ: `GetBrokerLiteInfoSubCommand`."""
    for address in targets.masters(call):
        with call.servers.part(address):
            yield {"broker": address, **call.servers.ask(lite.broker(), address).to_json()}


def _parent_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    yield shown("Parent Topic Info: [{p}]\n", call.given.values)
    yield f"{'#Broker Name':<50} {'#TTL':<8} {'#Lite Count':<14} {'#LMQ NUM':<14} {'#GROUPS':<100} \n"
    for row in rows:
        if len(row) == 1:
            yield shown(_FAILED, row)
            continue
        yield shown("{brokerName:<50.40} {ttl:<8} {liteTopicCount:<14} {lmqNum:<14} {groups:<100} \n", row)


@command("getParentTopicInfo", _PARENT, text=_parent_text)
def parents(call: CommandCall) -> Iterator[Row]:
    """RocketMQ: `GetParentTopicInfoSubCommand`."""
    for name, found in _answers(call, lite.parent(call.given.need("p"))):
        yield (
            {
                "brokerName": name,
                "ttl": found.ttl,
                "liteTopicCount": found.lite_topic_count,
                "lmqNum": found.lmq_num,
                "groups": None if found.groups is None else sorted(found.groups),
            }
            if found
            else {"brokerName": name}
        )


def _topic_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    parent, name = call.given.need("p"), call.given.need("l")
    heading = {"parent": parent, "name": name, "queue": f"%LMQ%${parent}${name}"}
    yield shown("Lite Topic Info: [{parent}] [{name}] [{queue}]\n", heading)
    yield (
        f"{'#Broker Name':<50} {'#MinOffset':<14} {'#MaxOffset':<14} {'#LastUpdate':<30} {'#Sharding':<12} "
        f"{'#SubClientCount':<18} \n"
    )
    for row in rows:
        if len(row) == 1:
            yield shown(_FAILED, row)
            continue
        fields = {**row, "time": _time(row["lastUpdateTimestamp"], "-"), "count": len(row["subscribers"])}
        yield shown(
            "{brokerName:<50.40} {minOffset:<14} {maxOffset:<14} {time:<30} {sharding:<12} {count:<18} \n",
            fields,
        )
        if "s" in call.given:
            yield shown("{subscribers}\n", row)


@command(
    "getLiteTopicInfo",
    CommandOption("l", "liteTopic", "lite topic", required=True),
    _PARENT,
    flag("s", "showClientId", "include clients"),
    text=_topic_text,
)
def topics(call: CommandCall) -> Iterator[Row]:
    """RocketMQ: `GetLiteTopicInfoSubCommand`."""
    for name, found in _answers(call, lite.topic(call.given.need("p"), call.given.need("l"))):
        ends = found.topic_offset if found else None
        yield (
            {
                "brokerName": name,
                "minOffset": ends.min_offset if ends else 0,
                "maxOffset": ends.max_offset if ends else 0,
                "lastUpdateTimestamp": ends.last_update_timestamp if ends else 0,
                "sharding": found.sharding_to_broker,
                "subscribers": [f"{one.client_id}@{one.group}" for one in found.subscriber],
            }
            if found
            else {"brokerName": name}
        )


def _client_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    yield shown("Lite Client Info: [{p}] [{g}] [{c}]\n", call.given.values)
    yield f"{'#Broker':<30} {'#LiteTopicCount':<20} {'#LastAccessTime':<30} {'#LastConsumeTime':<30} \n"
    for row in rows:
        if len(row) == 1:
            yield shown(_FAILED, row)
            continue
        fields = {
            "brokerName": row["brokerName"],
            "count": row["liteTopicCount"] if row["liteTopicCount"] > 0 else "N/A",
            "accessed": _time(row["lastAccessTime"], "N/A"),
            "consumed": _time(row["lastConsumeTime"], "N/A"),
        }
        yield shown("{brokerName:<30} {count:<20} {accessed:<30} {consumed:<30} \n", fields)
        if "s" in call.given and row["liteTopics"] is not None:
            yield shown("Lite Topics: {liteTopics}\n\n", row)


@command(
    "getLiteClientInfo",
    CommandOption("c", "clientId", "client id", required=True),
    _GROUP,
    _PARENT,
    flag("s", "showDetail", "include lite topics"),
    text=_client_text,
)
def clients(call: CommandCall) -> Iterator[Row]:
    """RocketMQ: `GetLiteClientInfoSubCommand`."""
    parent, group, client = (call.given.need(one) for one in "pgc")
    for name, found in _answers(call, lite.client(parent, group, client)):
        yield (
            {
                "brokerName": name,
                "liteTopicCount": found.lite_topic_count,
                "lastAccessTime": found.last_access_time,
                "lastConsumeTime": found.last_consume_time,
                "liteTopics": None if found.lite_topic_set is None else sorted(found.lite_topic_set),
            }
            if found
            else {"brokerName": name}
        )


def _group_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    yield shown("Lite Group Info: [{g}] [{p}]\n", call.given.values)
    found = list(rows)
    if "l" in call.given:
        yield (
            f"{'#Broker Name':<50} {'#BrokerOffset':<16} {'#ConsumeOffset':<16} {'#LagCount':<16} "
            f"{'#LastUpdate':<30}\n"
        )
    for row in found:
        if len(row) == 1:
            yield shown(_FAILED, row)
            continue
        if "l" in call.given:
            missing = {name: "-" for name, value in row.items() if value is None}
            fields = {**row, **missing, "time": _time(row["lastTimestamp"], "-")}
            yield shown(
                "{brokerName:<50.40} {brokerOffset:<16} {consumerOffset:<16} {lagCount:<16} {time:<30}\n",
                fields,
            )
    yield f"Total Lag Count: {call.summary['lagCount']}\n"
    earliest = call.summary["earliestUnconsumedTimestamp"]
    ago = (call.now() - earliest) // 1000
    yield f"Min Unconsumed Timestamp: {earliest} ({ago} s ago)\n\n"
    if "l" not in call.given:
        yield "------TopK by lag count-----\n"
        yield from _worst(call.summary["byCount"])
        yield "\n------TopK by lag time------\n"
        yield from _worst(call.summary["byTime"])


def _worst(found: Iterable[Row]) -> Iterator[str]:
    yield f"{'NO':<6} {'Lite Topic':<40} {'Lag Count':<12} {'UnconsumedTimestamp':<30}\n"
    for number, one in enumerate(found, 1):
        fields = {**one, "number": number, "time": _time(one["earliestUnconsumedTimestamp"], "-")}
        yield shown("{number:<6} {liteTopic:<40} {lagCount:<12} {time:<30}\n", fields)


@command(
    "getLiteGroupInfo",
    _GROUP,
    CommandOption("k", "topK", "maximum number of lite topics of each broker (default: 20)"),
    CommandOption("l", "liteTopic", "lite topic"),
    _PARENT,
    text=_group_text,
)
def groups(call: CommandCall) -> Iterator[Row]:
    """RocketMQ: `GetLiteGroupInfoSubCommand`. Times are ms since the epoch."""
    name = call.given.text("l")
    question = lite.group(call.given.need("g"), name, call.given.number("k", 20))
    by_count: list[dict[str, Any]] = []
    by_time: list[dict[str, Any]] = []
    lag, earliest = 0, call.now()
    for broker_name, found in _answers(call, question):
        if found is None:
            yield {"brokerName": broker_name}
            continue
        lag += max(0, found.total_lag_count or 0)
        if (found.earliest_unconsumed_timestamp or 0) > 0:
            earliest = min(earliest, found.earliest_unconsumed_timestamp or 0)
        by_count += [one.to_json() for one in found.lag_count_top_k or ()]
        by_time += [one.to_json() for one in found.lag_timestamp_top_k or ()]
        one = found.lite_topic_offset_wrapper
        yield {
            "brokerName": broker_name,
            "brokerOffset": one.broker_offset if one else None,
            "consumerOffset": one.consumer_offset if one else None,
            "lagCount": one.broker_offset - one.consumer_offset if one else None,
            "lastTimestamp": one.last_timestamp if one else None,
        }
    by_count.sort(key=lambda one: -one["lagCount"])
    by_time.sort(key=lambda one: one["earliestUnconsumedTimestamp"])
    call.summary.update(lagCount=lag, earliestUnconsumedTimestamp=earliest, byCount=by_count, byTime=by_time)


def _dispatch_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    yield shown("Group And Topic Info: [{g}] [{p}]\n\n", call.given.values)
    for row in rows:
        yield shown("{brokerName:<30} {result:<12}\n", row)


@command(
    "triggerLiteDispatch",
    CommandOption("b", "brokerName", "broker name (default: all brokers)", values=NameKind.BROKER),
    CommandOption("c", "clientId", "client id (default: all clients)"),
    _GROUP,
    _PARENT,
    text=_dispatch_text,
)
def dispatch(call: CommandCall) -> Iterator[Row]:
    """RocketMQ: `TriggerLiteDispatchSubCommand`."""
    wanted = call.given.text("b")
    for name, address in _parts(call):
        if wanted is None or name == wanted:
            before = len(call.servers.errors)
            with call.servers.part(address):
                call.servers.change(lite.dispatch(call.given.need("g"), call.given.text("c")), address)
            failed = len(call.servers.errors) > before
            yield {"brokerName": name, "result": "error" if failed else "dispatched"}
