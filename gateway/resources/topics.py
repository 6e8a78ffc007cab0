"""`mqgateway topic`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mqgateway.engine.message import DLQ_PREFIX, RETRY_PREFIX
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.client import admin_names as names
from mqgateway.gateway.client import admin_topics as topics
from mqgateway.gateway.mqadmin.declaration import (
    CommandCall,
    NameKind,
    Row,
    UsageError,
    command,
    flag,
    operand,
)
from mqgateway.gateway.mqadmin.servers import reachable
from mqgateway.gateway.resources import targets
from mqgateway.gateway.resources.borrowed import borrow
from mqgateway.gateway.resources.existing import need_topic
from mqgateway.gateway.resources.rendering import listed, table

_MESSAGE_TYPE = "message.type"
_PERMISSIONS = ((4, "R"), (2, "W"))
_QUEUES = table("brokerName", "queueId", "minOffset", "maxOffset", "lastUpdateTimestamp")


@command(
    "topic list",
    flag("a", "all", "include system, retry and dead-letter topics"),
    targets.CLUSTER,
    text=table("topic", "type", "readQueues", "writeQueues", "perm", "brokers", nothing="no topics"),
)
def list_topics(call: CommandCall) -> Iterator[Row]:
    """One question a broker, whatever the number of topics."""
    hidden: set[str] = set() if "a" in call.given else call.servers.ask_names(names.system_topics())
    found: dict[str, dict[str, TopicConfig]] = {}
    for name, address in targets.brokers(call):
        with call.servers.part(address):
            if "a" not in call.given:
                own: set[str] = call.servers.ask(topics.system_topics(), address)
                hidden |= own
            for topic, config in call.servers.ask(topics.all_configs(), address).items():
                found.setdefault(topic, {})[name] = config
    for topic, configs in sorted(found.items()):
        if topic not in hidden and ("a" in call.given or not topic.startswith((RETRY_PREFIX, DLQ_PREFIX))):
            yield _row(topic, configs)


def _row(topic: str, configs: dict[str, TopicConfig]) -> Row:
    first = next(iter(configs.values()))
    return {
        "topic": topic,
        "type": first.attributes.get(_MESSAGE_TYPE, "NORMAL"),
        "readQueues": sum(one.read_queue_nums for one in configs.values()),
        "writeQueues": sum(one.write_queue_nums for one in configs.values()),
        "perm": "".join(letter for bit, letter in _PERMISSIONS if first.perm & bit),
        "brokers": sorted(configs),
    }


def _describe_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    found = list(rows)
    yield from listed(call, [call.summary])
    if found:
        yield "\n"
        yield from _QUEUES(call, found)


@command(
    "topic describe",
    operand("t", "topic", "topic", values=NameKind.TOPIC),
    targets.CLUSTER,
    text=_describe_text,
)
def describe(call: CommandCall) -> Iterator[Row]:
    """A row for each queue; what is of the whole topic is the summary."""
    topic = call.given.need("t")
    route = call.servers.route(topic)
    members = {name for name, _ in targets.brokers(call)}
    configs: dict[str, TopicConfig] = {}
    consumers: set[str] = set()
    rows: list[Row] = []
    for name, address in reachable(route.broker_datas):
        if name not in members:
            continue
        with call.servers.part(address):
            configs[name] = call.servers.ask(topics.config(topic), address)
            known: set[str] = call.servers.ask(topics.groups(topic), address)
            consumers |= known
            for queue, one in sorted(call.servers.ask(topics.stats(topic), address).offset_table.items()):
                rows.append(
                    {
                        "brokerName": queue.broker_name,
                        "queueId": queue.queue_id,
                        "minOffset": one.min_offset,
                        "maxOffset": one.max_offset,
                        "lastUpdateTimestamp": one.last_update_timestamp,
                    }
                )
    if configs:
        attributes = next(iter(configs.values())).attributes
        call.summary.update(_row(topic, configs), groups=sorted(consumers), attributes=attributes)
    yield from rows


borrow(
    "topic route",
    "topicRoute",
    table("cluster", "brokerName", "addresses", "readQueueNums", "writeQueueNums", "perm"),
    t="topic",
)


def _check_queues(call: CommandCall) -> None:
    for key in "rw":
        if call.given.number(key, 1) < 1:
            use = "read" if key == "r" else "written"
            raise UsageError(f"{call.given.name(key)} is {call.given.text(key)}: no queue could be {use}")


borrow("topic create", "updateTopic", table("topic", "broker"), _check_queues, t="topic")
borrow("topic delete", "deleteTopic", table("topic", "cluster"), need_topic, t="topic")
