"""Commands that change the offsets of consumer groups.

RocketMQ: the package `command.offset` of the module `tools`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mqgateway.gateway.client import admin_groups as groups
from mqgateway.gateway.client import admin_messages as messages
from mqgateway.gateway.client import admin_topics as topics
from mqgateway.gateway.client.errors import BrokerError
from mqgateway.gateway.codec.bodies import MessageQueue, OffsetWrapper
from mqgateway.gateway.codec.codes import ResponseCode
from mqgateway.gateway.mqadmin.commands.progress import progress_of
from mqgateway.gateway.mqadmin.commands.topic_views import CLUSTER_ROUTE, TOPIC
from mqgateway.gateway.mqadmin.declaration import TRUTH, CommandCall, CommandOption, NameKind, Row, command
from mqgateway.gateway.mqadmin.rendering import each, shown
from mqgateway.gateway.mqadmin.servers import reachable
from mqgateway.gateway.mqadmin.times import millis_of

_GROUP = CommandOption("g", "group", "consumer group", required=True, values=NameKind.GROUP)
_FORCE = CommandOption("f", "force", "false to move no queue forward (default: true)", values=TRUTH)
_RESET_SECONDS = 15.0
_NOT_ONLINE = (ResponseCode.CONSUMER_NOT_ONLINE,)
_PLAN = (
    "{brokerName:<20.20}  {queueId:<20}  {brokerOffset:<20}  {consumerOffset:<20}  {timestampOffset:<20}  "
    "{resetOffset:<20}\n"
)


def _plan_text(title: str, rows: Iterable[Row]) -> Iterator[str]:
    names = ("#brokerName", "#queueId", "#brokerOffset", "#consumerOffset", "#timestampOffset", title)
    yield "  ".join(f"{name:<20}" for name in names) + "\n"
    for row in rows:
        yield shown(_PLAN, row)


def _table_text(rows: Iterable[Row]) -> Iterator[str]:
    yield f"{'#brokerName':<40}  {'#queueId':<40}  {'#offset':<40}\n"
    for row in rows:
        yield shown("{brokerName:<40.32}  {queueId:<40}  {offset:<40}\n", row)


_TEXT = (
    "group[{group}], topic[{topic}], force[{force}], timestamp(string)[{time}], timestamp(long)[{millis}]\n"
)


def _reset_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    found = list(rows)
    if "queueId" in call.summary:
        yield shown(
            "start reset consumer offset by specified, group[{group}], topic[{topic}], queueId[{queueId}], "
            "broker[{broker}], timestamp(string)[{time}], timestamp(long)[{millis}]\n",
            call.summary,
        )
        yield from (shown("reset consumer offset to {offset}\n", row) for row in found)
    elif call.summary["isOnline"]:
        yield shown("start reset consumer offset by specified, " + _TEXT, call.summary)
        yield from _table_text(found)
    else:
        yield shown("reset consumer offset by specified consumerGroup" + _TEXT[5:], call.summary)
        yield from _plan_text("#resetOffset", found)


@command(
    "resetOffsetByTime",
    CommandOption("b", "broker", "with -q: broker as host:port", values=NameKind.ADDRESS),
    CLUSTER_ROUTE,
    _FORCE,
    _GROUP,
    CommandOption("o", "offset", "with -b and -q: offset"),
    CommandOption("q", "queue", "with -b: queue id"),
    CommandOption(
        "s", "timestamp", "target time: now, ms since the epoch or yyyy-MM-dd#HH:mm:ss:SSS", required=True
    ),
    TOPIC,
    text=_reset_text,
)
def reset(call: CommandCall) -> Iterator[Row]:
    """RocketMQ: `ResetOffsetByTimeCommand`. In a dry run the rows have queue, current and new offset."""
    given = call.given
    group, topic, time = given.need("g"), given.need("t"), given.need("s")
    millis = millis_of(time, call.now())
    call.summary.update(group=group, topic=topic, force=given.truth("f", True), time=time, millis=millis)
    broker, queue_id = given.text("b"), given.number("q", -1)
    if broker is not None and queue_id >= 0:
        call.summary.update(queueId=queue_id, broker=broker)
        yield _reset_queue(call, broker, MessageQueue(topic, "", queue_id), millis)
    else:
        yield from _reset_all(call, group, topic, millis)


def _reset_queue(call: CommandCall, broker: str, queue: MessageQueue, millis: int) -> Row:
    group = call.given.need("g")
    offset = call.given.number("o", -1)
    if "o" not in call.given:
        offset = call.servers.ask(messages.offset_at(queue, millis), broker)
    question = groups.reset_offsets(
        group, queue.topic, millis, queue_id=queue.queue_id, offset=offset, is_forced=True
    )
    call.servers.change(question, broker, _RESET_SECONDS)
    return {"broker": broker, "queueId": queue.queue_id, "offset": offset}


def _reset_all(call: CommandCall, group: str, topic: str, millis: int) -> Iterator[Row]:
    """Reset the offsets of a group in all queues of a topic; yield the rows.

    The broker notifies connected members. Without members the offsets are set directly.
    """
    is_forced = call.given.truth("f", True)
    route = call.servers.route(call.given.text("c") or topic)
    call.summary["isOnline"] = not call.is_dry
    found: dict[MessageQueue, int] = {}
    for _, address in reachable(route.broker_datas):
        if call.is_dry:
            yield from _plan(call, address, group, topic, millis, is_forced)
            continue
        question = groups.reset_offsets(group, topic, millis, is_forced=is_forced)
        try:
            offsets: dict[MessageQueue, int] = call.servers.ask(question, address, _RESET_SECONDS)
            found |= offsets
        except BrokerError as error:
            if error.code not in _NOT_ONLINE:
                raise
            call.summary["isOnline"] = False
            yield from _plan(call, address, group, topic, millis, is_forced)
    for queue, offset in sorted(found.items()):
        yield {"brokerName": queue.broker_name, "queueId": queue.queue_id, "offset": offset}


def _plan(
    call: CommandCall, address: str, group: str, topic: str, millis: int, is_forced: bool
) -> Iterator[Row]:
    """Yield every queue of a broker with the group's current and new offset; set the new one, unless in a dry
    run. RocketMQ: `DefaultMQAdminExtImpl.resetOffsetByTimestampOld`."""
    known = call.servers.ask(groups.progress(group, [topic]), address).offset_table
    if not known:
        ends = call.servers.ask(topics.stats(topic), address).offset_table
        known = {
            queue: OffsetWrapper(broker_offset=one.max_offset, consumer_offset=one.min_offset)
            for queue, one in ends.items()
        }
    for queue, one in sorted(known.items()):
        is_end = millis == groups.LATEST
        question = messages.max_offset(queue) if is_end else messages.offset_at(queue, millis)
        target = call.servers.ask(question, address)
        is_moved = is_forced or target <= one.consumer_offset
        if is_moved and not call.is_dry:
            call.servers.ask(groups.set_offset(group, queue, target), address)
        yield {
            "brokerName": queue.broker_name,
            "queueId": queue.queue_id,
            "brokerOffset": one.broker_offset,
            "consumerOffset": one.consumer_offset,
            "timestampOffset": target,
            "resetOffset": target if is_moved else one.consumer_offset,
        }


def _skip_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    found = list(rows)
    return _table_text(found) if call.summary["isOnline"] else _plan_text("#rollbackOffset", found)


@command(
    "skipAccumulatedMessage",
    CLUSTER_ROUTE,
    _FORCE,
    _GROUP,
    TOPIC,
    text=_skip_text,
)
def skip(call: CommandCall) -> Iterator[Row]:
    """RocketMQ: `SkipAccumulationSubCommand`."""
    return _reset_all(call, call.given.need("g"), call.given.need("t"), groups.LATEST)


@command(
    "cloneGroupOffset",
    CommandOption("d", "destGroup", "group to move", required=True, values=NameKind.GROUP),
    CommandOption("o", "offline", "accepted without effect, as in Apache's mqadmin"),
    CommandOption("s", "srcGroup", "group to copy the offsets from", required=True, values=NameKind.GROUP),
    TOPIC,
    text=each("clone group offset success. srcGroup[{from}], destGroup=[{to}], topic[{topic}]\n"),
)
def clone(call: CommandCall) -> Iterator[Row]:
    """RocketMQ: `CloneGroupOffsetCommand`, which also copies the offsets of other topics on the topic's
    brokers; this copies those of the topic only."""
    source, target, topic = (call.given.need(one) for one in "sdt")
    found = progress_of(call, source)
    brokers = dict(reachable(call.servers.route(topic).broker_datas))
    moved = 0
    for queue, one in sorted(found.offset_table.items()):
        if queue.topic == topic and one.consumer_offset >= 0 and queue.broker_name in brokers:
            question = groups.set_offset(target, queue, one.consumer_offset)
            call.servers.change(question, brokers[queue.broker_name])
            moved += 1
    yield {"from": source, "to": target, "topic": topic, "queues": moved}
