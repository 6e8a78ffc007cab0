"""Commands that show the progress and lag of consumer groups.

RocketMQ: `ConsumerProgressSubCommand`, `BrokerConsumeStatsSubCommad`, `StatsAllSubCommand`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mqgateway.engine.message import DLQ_PREFIX, RETRY_PREFIX
from mqgateway.gateway.client import admin_broker as broker
from mqgateway.gateway.client import admin_consumers as consumers
from mqgateway.gateway.client import admin_groups as groups
from mqgateway.gateway.client import admin_names as names
from mqgateway.gateway.client import admin_topics as topics
from mqgateway.gateway.client.errors import BrokerError, ClientError, NoBroker
from mqgateway.gateway.codec.bodies import BrokerStatsData, ConsumeStats, MessageQueue
from mqgateway.gateway.codec.codes import ResponseCode, version_name
from mqgateway.gateway.mqadmin.commands.clients import online
from mqgateway.gateway.mqadmin.declaration import (
    TRUTH,
    CommandCall,
    CommandOption,
    NameKind,
    Row,
    command,
    flag,
)
from mqgateway.gateway.mqadmin.rendering import second, shown
from mqgateway.gateway.mqadmin.servers import MASTER, reachable

_CALL_SECONDS = 15.0
"""Timeout of a request: a broker with many queues needs long to sum them up."""


def progress_of(call: CommandCall, group: str, topic: str | None = None) -> ConsumeStats:
    """Return the progress of a group in a topic, or in all topics that it consumes.

    Raises `NoBroker` if neither the retry topic nor the topic has a route. Raises `BrokerError` for a group
    without offsets that has no member, or whose members consume by broadcast and store their offsets
    themselves.
    """
    try:
        route = call.servers.route(RETRY_PREFIX + group)
    except NoBroker:
        if topic is None:
            raise
        route = call.servers.route(topic)
    found = ConsumeStats()
    question = groups.progress(group, [topic] if topic else ())
    for _, address in reachable(route.broker_datas):
        answer = call.servers.ask(question, address, _CALL_SECONDS)
        found.offset_table |= answer.offset_table
        found.consume_tps += answer.consume_tps
    if not found.offset_table:
        _check_members(call, group)
    return found


def _check_members(call: CommandCall, group: str) -> None:
    """Raise `BrokerError` for a group without offsets, by its members (see `progress_of`).

    RocketMQ: the end of `DefaultMQAdminExtImpl.examineConsumeStats`.
    """
    why = "Not found the consumer group consume stats, because return offset table is empty"
    try:
        model = online(call, group).message_model
    except ClientError:
        reason = f"{why}, maybe the consumer not online"
        raise BrokerError(ResponseCode.CONSUMER_NOT_ONLINE, reason, group) from None
    if model == "BROADCASTING":
        reason = f"{why}, the consumer is under the broadcast mode"
        raise BrokerError(ResponseCode.BROADCAST_CONSUMPTION, reason, group)


def total_lag(stats: ConsumeStats) -> int:
    """Return the number of messages that a group has not consumed."""
    return sum(one.broker_offset - one.consumer_offset for one in stats.offset_table.values())


_QUEUE = "{topic:<64.64}  {brokerName:<32.32}  {queueId:<4}  {brokerOffset:<20}  {consumerOffset:<20}  "


def _progress_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    if "g" not in call.given:
        yield from _groups_text(rows)
        return
    with_clients = call.given.truth("s")
    client = f"{'#Client IP':<20} " if with_clients else ""
    yield (
        f"{'#Topic':<64}  {'#Broker Name':<32}  {'#QID':<4}  {'#Broker Offset':<20}  "
        f"{'#Consumer Offset':<20}  {client}{'#Diff':<20} {'#Inflight':<20}#LastTime\n"
    )
    template = _QUEUE + ("{clientIp:<20} " if with_clients else "") + "{diff:<20} {inflight:<20} "
    for row in rows:
        time = second(row["lastTimestamp"]) if row["lastTimestamp"] else "N/A"
        yield shown(template, {**row, "clientIp": row.get("clientIp") or "N/A"}) + f"{time}\n"
    yield shown(
        "\nConsume TPS: {consumeTps:.2f}\nConsume Diff Total: {diffTotal}\n"
        "Consume Inflight Total: {inflightTotal}\n",
        call.summary,
    )


def _groups_text(rows: Iterable[Row]) -> Iterator[str]:
    yield (
        f"{'#Group':<64}  {'#Count':<6}  {'#Version':<24} {'#Type':<5}  {'#Model':<14}  {'#TPS':<7}  "
        "#Diff Total\n"
    )
    for row in rows:
        kind, model, version = "", "", "OFFLINE"
        if row["count"]:
            kind = "PULL" if row["consumeType"] == "CONSUME_ACTIVELY" else "PUSH"
            model = row["messageModel"] if row["consumeType"] == "CONSUME_PASSIVELY" else ""
            version = row["version"]
        fields = {**row, "version": version, "kind": kind, "model": model, "tps": int(row["consumeTps"])}
        yield shown(
            "{group:<64.64}  {count:<6}  {version:<24} {kind:<5}  {model:<14}  {tps:<7}  {diffTotal}\n",
            fields,
        )


@command(
    "consumerProgress",
    CommandOption("c", "cluster", "cluster or parent topic whose route is used", values=NameKind.CLUSTER),
    CommandOption("g", "groupName", "consumer group", values=NameKind.GROUP),
    CommandOption("s", "showClientIP", "true to print the client of each queue", values=TRUTH),
    CommandOption("t", "topicName", "limit the output to this topic", values=NameKind.TOPIC),
    text=_progress_text,
)
def progress(call: CommandCall) -> Iterator[Row]:
    """RocketMQ: `ConsumerProgressSubCommand`."""
    group = call.given.text("g")
    if group is None:
        yield from _all_groups(call)
        return
    found = progress_of(call, group, call.given.text("t"))
    owners = _owners(call, group) if call.given.truth("s") else {}
    lag = inflight = 0
    for queue, one in sorted(found.offset_table.items()):
        behind, pulled = one.broker_offset - one.consumer_offset, one.pull_offset - one.consumer_offset
        lag, inflight = lag + behind, inflight + pulled
        yield {
            "topic": queue.topic,
            "brokerName": queue.broker_name,
            "queueId": queue.queue_id,
            "brokerOffset": one.broker_offset,
            "consumerOffset": one.consumer_offset,
            "clientIp": owners.get(queue),
            "diff": behind,
            "inflight": pulled,
            "lastTimestamp": one.last_timestamp,
        }
    call.summary.update(consumeTps=found.consume_tps, diffTotal=lag, inflightTotal=inflight)


def _owners(call: CommandCall, group: str) -> dict[MessageQueue, str]:
    """Return the address of the member that consumes each queue, as the members report it."""
    owners: dict[MessageQueue, str] = {}
    _, address = next(reachable(call.servers.route(RETRY_PREFIX + group).broker_datas))
    with call.servers.part(address):
        for one in online(call, group, address).connection_set:
            answer = call.servers.ask(consumers.running_info(group, one.client_id), address)
            owners |= dict.fromkeys(answer.mq_table, one.client_id.partition("@")[0])
    return owners


def _all_groups(call: CommandCall) -> Iterator[Row]:
    known: set[str] = call.servers.ask_names(names.all_topics())
    for topic in sorted(known):
        if not topic.startswith(RETRY_PREFIX):
            continue
        group = topic.removeprefix(RETRY_PREFIX)
        row: dict[str, object] = {"group": group, "count": 0, "consumeTps": 0.0, "diffTotal": 0}
        try:
            stats = progress_of(call, group)
            row.update(consumeTps=stats.consume_tps, diffTotal=total_lag(stats))
            found = online(call, group)
        except ClientError:
            yield row  # the group has no member or no offsets
            continue
        row.update(
            count=len(found.connection_set),
            version=version_name(min(one.version for one in found.connection_set)),
            consumeType=found.consume_type,
            messageModel=found.message_model,
        )
        yield row


def _broker_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    yield (
        f"{'#Topic':<64}  {'#Group':<64}  {'#Broker Name':<32}  {'#QID':<4}  {'#Broker Offset':<20}  "
        f"{'#Consumer Offset':<20}  {'#Diff':<20}  #LastTime\n"
    )
    template = (
        "{topic:<64.64}  {group:<64}  {brokerName:<32.32}  {queueId:<4}  {brokerOffset:<20}  "
        "{consumerOffset:<20}  {diff:<20}  "
    )
    for row in rows:
        yield shown(template, row) + f"{second(row['lastTimestamp'])}\n"
    yield f"\nDiff Total: {call.summary['diffTotal']}\n"


@command(
    "brokerConsumeStats",
    CommandOption("b", "brokerAddr", "broker as host:port", required=True, values=NameKind.ADDRESS),
    CommandOption("l", "level", "minimum lag of a queue to be listed, in messages"),
    CommandOption("o", "order", "true to list ordered topics only", values=TRUTH),
    CommandOption("t", "timeoutMillis", "timeout in ms (default: 50000)"),
    text=_broker_text,
)
def broker_progress(call: CommandCall) -> Iterator[Row]:
    """RocketMQ: `BrokerConsumeStatsSubCommad`; queues without consumed messages are not shown."""
    given = call.given
    question = groups.all_progress(only_ordered=given.truth("o"))
    found = call.servers.ask(question, given.need("b"), given.number("t", 50_000) / 1000)
    call.summary["diffTotal"] = found.total_diff
    least = given.number("l", 0)
    for table in found.consume_stats_list:
        for group, all_stats in table.items():
            for queue, one in sorted(item for stats in all_stats for item in stats.offset_table.items()):
                behind = one.broker_offset - one.consumer_offset
                if behind >= least and one.last_timestamp > 0:
                    yield {
                        "topic": queue.topic,
                        "group": group,
                        "brokerName": queue.broker_name,
                        "queueId": queue.queue_id,
                        "brokerOffset": one.broker_offset,
                        "consumerOffset": one.consumer_offset,
                        "diff": behind,
                        "lastTimestamp": one.last_timestamp,
                    }


def _stats_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    yield (
        f"{'#Topic':<64}  {'#Consumer Group':<64} {'#Accumulation':>12} {'#InTPS':>11} {'#OutTPS':>11} "
        f"{'#InMsg24Hour':>14} {'#OutMsg24Hour':>14}\n"
    )
    for row in rows:
        line = shown("{topic:<64.64}  ", row)
        if row["group"] is None:
            fields = {**row, "group": "", "outTps": "", "outMsg": "NO_CONSUMER"}
            template = "{group:<64} {accumulation:>12} {inTps:>11.2f} {outTps:>11} {inMsg:>14} {outMsg:>14}\n"
            yield line + shown(template, fields)
        else:
            template = (
                "{group:<64.64} {accumulation:>12} {inTps:>11.2f} {outTps:>11.2f} {inMsg:>14} {outMsg:>14}\n"
            )
            yield line + shown(template, row)


@command(
    "statsAll",
    flag("a", "activeTopic", "list only topics with traffic"),
    CommandOption("t", "topic", "limit the output to this topic", values=NameKind.TOPIC),
    text=_stats_text,
)
def statistics(call: CommandCall) -> Iterator[Row]:
    """RocketMQ: `StatsAllSubCommand`; rates are messages a second of the last minute."""
    wanted = call.given.text("t")
    known: set[str] = call.servers.ask_names(names.all_topics())
    for topic in sorted(known):
        if topic.startswith((RETRY_PREFIX, DLQ_PREFIX)) or wanted not in (None, "", topic):
            continue
        try:
            rows = list(_topic_statistics(call, topic))
        except ClientError:
            continue  # the topic was deleted meanwhile, or its broker is unreachable
        for row in rows:
            if "a" not in call.given or row["inMsg"] or row["outMsg"]:
                yield row


def _topic_statistics(call: CommandCall, topic: str) -> Iterator[Row]:
    route = call.servers.route(topic)
    masters = [one.broker_addrs[MASTER] for one in route.broker_datas if MASTER in one.broker_addrs]
    _, address = next(reachable(route.broker_datas))
    readers = call.servers.ask(topics.groups(topic), address)
    in_tps, in_count = _counted(call, masters, "TOPIC_PUT_NUMS", topic)
    row: dict[str, object] = {"topic": topic, "group": None, "accumulation": 0, "inTps": in_tps}
    row.update(outTps=0.0, inMsg=in_count, outMsg=0)
    for group in sorted(readers):
        out_tps, out_count = _counted(call, masters, "GROUP_GET_NUMS", f"{topic}@{group}")
        try:
            lag = max(0, total_lag(progress_of(call, group, topic)))
        except ClientError:
            lag = 0
        yield row | {"group": group, "accumulation": lag, "outTps": out_tps, "outMsg": out_count}
    if not readers:
        yield row


def _counted(call: CommandCall, masters: Iterable[str], counter: str, key: str) -> tuple[float, int]:
    """Return the rate over a minute and the sum over a day of a counter, at all brokers.

    A broker whose counter never counted refuses the query and is skipped.
    """
    tps, count = 0.0, 0
    for address in masters:
        try:
            found = call.servers.ask(broker.counter(counter, key), address)
        except ClientError:
            continue
        tps += found.stats_minute.tps
        count += _day(found)
    return tps, count


def _day(found: BrokerStatsData) -> int:
    return found.stats_day.sum or found.stats_hour.sum or found.stats_minute.sum
