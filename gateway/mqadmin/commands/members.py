"""Running state of the members of a consumer group, as they report it.

RocketMQ: `ConsumerStatusSubCommand`, `ConsumerRunningInfo`.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from mqgateway.engine.message import RETRY_PREFIX
from mqgateway.gateway.client import admin_consumers as consumers
from mqgateway.gateway.client.errors import ClientError
from mqgateway.gateway.codec.bodies import ConsumerRunningInfo, MessageQueue, ProcessQueueInfo
from mqgateway.gateway.codec.codes import version_name
from mqgateway.gateway.mqadmin.commands.clients import online
from mqgateway.gateway.mqadmin.commands.reading import queue_text
from mqgateway.gateway.mqadmin.declaration import CommandCall, CommandOption, NameKind, Row, command, flag
from mqgateway.gateway.mqadmin.rendering import java, shown
from mqgateway.gateway.mqadmin.servers import reachable

_SECONDS = 15.0
_BLOCKED_MILLIS = 60_000
_SETTLED_MILLIS = 120_000


def _stamp(millis: int) -> str:
    found = datetime.datetime.fromtimestamp(millis / 1000)
    return f"{found:%Y%m%d%H%M%S}{millis % 1000:03}"


def _process_text(info: ProcessQueueInfo) -> str:
    """Return a process queue as Java prints it. RocketMQ: `ProcessQueueInfo.toString`."""
    fields = {name: java(value) for name, value in info.to_json().items()}
    for name in ("lastLockTimestamp", "lastPullTimestamp", "lastConsumeTimestamp"):
        fields[name] = _stamp(fields[name])
    return "ProcessQueueInfo [" + ", ".join(f"{name}={value}" for name, value in fields.items()) + "]"


def running_text(info: ConsumerRunningInfo) -> str:
    """Return a consumer's running info as text. RocketMQ: `ConsumerRunningInfo.formatString`."""
    return "".join(_running_lines(info))


def _running_lines(info: ConsumerRunningInfo) -> Iterator[str]:
    yield "#Consumer Properties#\n"
    yield from (f"{java(name):<40}: {java(value)}\n" for name, value in sorted(info.properties.items()))
    yield "\n\n#Consumer Subscription#\n"
    for number, one in enumerate(sorted(info.subscription_set, key=lambda one: one.topic or ""), 1):
        fields = {"topic": one.topic, "filter": one.class_filter_mode, "expression": one.sub_string}
        line = shown("Topic: {topic:<40} ClassFilter: {filter:<8} SubExpression: {expression}\n", fields)
        yield f"{number:03} {line}"
    queues = sorted(info.mq_table.items())
    yield f"\n\n#Consumer Offset#\n{_titles(64, '#Consumer Offset')}"
    yield from (f"{_place(queue, 32)}  {one.commit_offset:<20}\n" for queue, one in queues)
    yield f"\n\n#Consumer MQ Detail#\n{_titles(64, '#ProcessQueueInfo')}"
    yield from (f"{_place(queue, 64)}  {_process_text(one)}\n" for queue, one in queues)
    yield f"\n\n#Consumer Pop Detail#\n{_titles(32, '#ProcessQueueInfo')}"
    for queue, pop in sorted(info.mq_pop_table.items()):
        held = f"waitAckCount:{pop.wait_ack_count}, droped:{java(pop.droped)}"
        yield f"{_place(queue, 32)}  PopProcessQueueInfo [{held}, "
        yield f"lastPopTimestamp:{pop.last_pop_timestamp}]\n"
    yield (
        f"\n\n#Consumer RT&TPS#\n{'#Topic':<64}  {'#Pull RT':>14} {'#Pull TPS':>14} {'#Consume RT':>14} "
        f"{'#ConsumeOK TPS':>14} {'#ConsumeFailed TPS':>18} {'#ConsumeFailedMsgsInHour':>25}\n"
    )
    for topic, rates in sorted(info.status_table.items()):
        yield (
            f"{java(topic):<32}  {rates.pull_rt:>14.2f} {rates.pull_tps:>14.2f} {rates.consume_rt:>14.2f} "
            f"{rates.consume_ok_tps:>14.2f} {rates.consume_failed_tps:>18.2f} "
            f"{rates.consume_failed_msgs:>25}\n"
        )
    yield "\n\n#User Consume Info#\n"
    yield from (
        f"{java(name):<40}: {java(value)}\n" for name, value in sorted(info.user_consumer_info.items())
    )
    if info.jstack is not None:
        yield f"\n\n#Consumer jstack#\n{info.jstack}"


def _titles(width: int, last: str) -> str:
    return f"{'#Topic':<{width}}  {'#Broker Name':<32}  {'#QID':<4}  {last:<20}\n"


def _place(queue: MessageQueue, width: int) -> str:
    return f"{java(queue.topic):<{width}}  {java(queue.broker_name):<32}  {queue.queue_id:<4}"


def complaints(client_id: str, info: ConsumerRunningInfo, now: int) -> Iterator[str]:
    """Yield a warning for each queue that a member cannot lock or unlock, or has not consumed from for a
    minute although it has cached messages.

    RocketMQ: `ConsumerRunningInfo.analyzeProcessQueue`.
    """
    if info.properties.get("PROP_CONSUME_TYPE") != "CONSUME_PASSIVELY":
        return
    is_ordered = info.properties.get("PROP_CONSUMEORDERLY", "").lower() == "true"
    for queue, one in sorted(info.mq_table.items()):
        who = f"{client_id} {queue_text(queue)}"
        idle = now - one.last_consume_timestamp
        if is_ordered and not one.locked:
            yield f"{who} can't lock for a while, {now - one.last_lock_timestamp}ms\n"
        elif is_ordered and one.droped and one.try_unlock_times > 0:
            yield f"{who} unlock {one.try_unlock_times} times, still failed\n"
        elif not is_ordered and idle > _BLOCKED_MILLIS and one.cached_msg_count > 0:
            yield f"{who} can't consume for a while, maybe blocked, {idle}ms\n"


def subscribes_the_same(infos: Iterable[ConsumerRunningInfo], now: int) -> bool:
    """Return True if all members have the same subscription, or the group started less than two minutes ago.

    Also True for groups that pull.

    RocketMQ: `ConsumerRunningInfo.analyzeSubscription`.
    """
    found = list(infos)
    first = found[0].properties
    began = first.get("PROP_CONSUMER_START_TIMESTAMP", "")
    is_settled = began.isdecimal() and now - int(began) > _SETTLED_MILLIS
    if first.get("PROP_CONSUME_TYPE") != "CONSUME_PASSIVELY" or not is_settled:
        return True
    wanted = [
        sorted(
            (one.topic or "", one.sub_string or "", one.expression_type or "")
            for one in info.subscription_set
        )
        for info in found
    ]
    return all(one == wanted[0] for one in wanted)


def _text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    found = list(rows)
    if "i" in call.given:
        yield from (row["text"] for row in found)
        return
    yield f"{'#Index':<10} {'#ClientId':<40} {'#Version':<20} #ConsumerRunningInfoFile\n"
    for number, row in enumerate(found, 1):
        path = Path(str(call.summary["now"])) / Path(row["clientId"]).name
        path.parent.mkdir(exist_ok=True)
        path.write_text(row["text"])
        yield f"{number:<10} " + shown("{clientId:<40} {version:<20} ", row) + f"{path}\n"
    if not found:
        return
    if not call.summary["isSameSubscription"]:
        yield "\n\nWARN: Different subscription in the same group of consumer!!!\n"
        return
    yield "\n\nSame subscription in the same group of consumer\n\nRebalance OK\n"
    yield from call.summary["complaints"]


@command(
    "consumerStatus",
    CommandOption("b", "brokerAddr", "broker to query, as host:port", values=NameKind.ADDRESS),
    CommandOption("g", "consumerGroup", "consumer group", required=True, values=NameKind.GROUP),
    CommandOption("i", "clientId", "client id: print this member only, write no file"),
    flag("s", "jstack", "include the stacks of the member's threads"),
    text=_text,
)
def status(call: CommandCall) -> Iterator[Row]:
    """RocketMQ: `ConsumerStatusSubCommand`."""
    group, now = call.given.need("g"), call.now()
    members = online(call, group, call.given.text("b"))
    address = call.given.text("b")
    if address is None:
        _, address = next(reachable(call.servers.route(RETRY_PREFIX + group).broker_datas))
    wanted = call.given.text("i")
    infos: dict[str, ConsumerRunningInfo] = {}
    for one in sorted(members.connection_set, key=lambda one: one.client_id):
        if wanted not in (None, one.client_id):
            continue
        with call.servers.part(one.client_id):
            question = consumers.running_info(group, one.client_id, with_stacks="s" in call.given)
            infos[one.client_id] = call.servers.ask(question, address, _SECONDS)
            row: dict[str, Any] = {"clientId": one.client_id, "version": version_name(one.version)}
            yield row | {"text": running_text(infos[one.client_id])}
    if wanted is not None and not infos and not call.servers.errors:
        raise ClientError(f"the group {group} has no member {wanted}")
    call.summary["now"] = now
    if infos:
        call.summary["isSameSubscription"] = subscribes_the_same(infos.values(), now)
        call.summary["complaints"] = [
            line for name, one in infos.items() for line in complaints(name, one, now)
        ]
