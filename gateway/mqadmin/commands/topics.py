"""Commands that create, change and delete topics.

RocketMQ: the package `command.topic` of the module `tools`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import orjson

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.client import admin_names as names
from mqgateway.gateway.client import admin_topics as topics
from mqgateway.gateway.client.errors import BadArgument, NoBroker
from mqgateway.gateway.mqadmin.commands import targets
from mqgateway.gateway.mqadmin.declaration import (
    TRUTH,
    CommandCall,
    CommandOption,
    NameKind,
    Row,
    UsageError,
    command,
)
from mqgateway.gateway.mqadmin.rendering import each, shown

TOPIC = CommandOption("t", "topic", "topic", required=True, values=NameKind.TOPIC)
ORDER_NAMESPACE = "ORDER_TOPIC_CONFIG"
"""Key-value namespace of the name servers for the brokers and queue numbers of ordered topics."""


def attributes_of(text: str | None) -> tuple[dict[str, str], list[str]]:
    """Parse `+a=b,-c` into attributes to set and names to remove. Raises `UsageError`."""
    added: dict[str, str] = {}
    removed: list[str] = []
    for part in (text or "").split(","):
        name, is_set, value = part.strip().partition("=")
        if name.startswith("+") and is_set:
            added[name[1:]] = value
        elif name.startswith("-") and not is_set:
            removed.append(name[1:])
        elif name:
            raise UsageError(f"attributes must be +name=value or -name, not {part.strip()!r}")
    return added, removed


def _configured(call: CommandCall) -> TopicConfig:
    return TopicConfig.from_json(call.summary["topicConfig"])


def _update_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    is_broker = "b" in call.given
    for row in rows:
        value = shown("create topic to {broker} success.\n", row)
        order = row["orderConf"]
        if order is None:
            yield value
        elif is_broker:
            yield f"set broker orderConf. isOrder=true, orderConf=[{order}]\n{value}"
        else:
            yield f"{value}set cluster orderConf. isOrder=true, orderConf=[{order}]\n"
    yield f"{_configured(call)}\n"


@command(
    "updateTopic",
    CommandOption("a", "attributes", "attributes: +name=value to set, -name to remove, separated by ','"),
    *targets.one_of(),
    CommandOption("o", "order", "ordered topic: true or false", values=TRUTH),
    CommandOption("p", "perm", "permission: 2 write, 4 read, 6 both", values=("2", "4", "6")),
    CommandOption("r", "readQueueNums", "number of read queues (default: 8)"),
    CommandOption("s", "hasUnitSub", "units subscribe to the topic: true or false", values=TRUTH),
    TOPIC,
    CommandOption("u", "unit", "topic of a unit: true or false", values=TRUTH),
    CommandOption("w", "writeQueueNums", "number of write queues (default: 8)"),
    text=_update_text,
)
def update(call: CommandCall) -> Iterator[Row]:
    """RocketMQ: `UpdateTopicSubCommand`."""
    given = call.given
    added, removed = attributes_of(given.text("a"))
    config = TopicConfig(
        given.need("t"),
        given.number("r", 8),
        given.number("w", 8),
        given.number("p", 6),
        topic_sys_flag=given.truth("u") | given.truth("s") << 1,
        order=given.truth("o"),
        attributes=added,
    )
    signed = {f"+{name}": value for name, value in added.items()} | {f"-{name}": "" for name in removed}
    call.summary["topicConfig"] = {**config.to_json(), "attributes": signed}
    masters = targets.masters(call)
    for number, broker in enumerate(masters):
        call.servers.change(topics.update(config, without=removed), broker)
        order = None
        if config.order and number == len(masters) - 1:
            order = _set_order(call, config)
        yield {"broker": broker, "topic": config.topic_name, "orderConf": order}


def _set_order(call: CommandCall, config: TopicConfig) -> str:
    """Register the brokers and numbers of queues of an ordered topic at the name servers; return the value.

    Raises `NoBroker` if no name server knows the broker.
    """
    count = config.write_queue_nums
    if (cluster := call.given.text("c")) is not None:
        value = ";".join(f"{one.broker_name}:{count}" for one in call.servers.members(cluster))
        put_order(call, config.topic_name, value)
        return value
    broker = call.given.need("b")
    known = call.servers.clusters().broker_addr_table
    name = next((name for name, data in known.items() if broker in data.broker_addrs.values()), None)
    if name is None:
        raise NoBroker(f"no name server knows the broker {broker}")
    value = f"{name}:{count}"
    before = call.servers.ask_names(names.value(ORDER_NAMESPACE, config.topic_name)) or ""
    parts = {part.partition(":")[0]: part for part in before.split(";") if part} | {name: value}
    put_order(call, config.topic_name, ";".join(parts.values()))
    return value


def put_order(call: CommandCall, topic: str, order: str) -> None:
    """Register the order configuration of a topic at all name servers."""
    call.servers.change_names(names.put_value(ORDER_NAMESPACE, topic, order))


def read_list(path: str) -> list[dict[str, Any]]:
    """Return the objects of a file with a JSON array. Raises `BadArgument`."""
    try:
        found = orjson.loads(Path(path).read_bytes())
    except (OSError, ValueError) as error:
        raise BadArgument(f"the file {path} cannot be read: {error}") from None
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise BadArgument(f"the file {path} is not a JSON array of objects")
    return found


@command(
    "updateTopicList",
    *targets.one_of(),
    CommandOption(
        "f",
        "filename",
        "file with a JSON array of topics, in the format of topics.json",
        required=True,
        values=NameKind.FILE,
    ),
    text=each("submit batch of topic config to {broker} success, please check the result later.\n"),
)
def update_list(call: CommandCall) -> Iterator[Row]:
    """RocketMQ: `UpdateTopicListSubCommand`."""
    try:
        configs = [TopicConfig.from_json(one) for one in read_list(call.given.need("f"))]
    except ConfigError as error:
        raise BadArgument(f"the file is invalid: {error}") from None
    if configs:
        for broker in targets.masters(call):
            call.servers.change(topics.update_many(configs), broker)
            yield {"broker": broker, "topics": [one.topic_name for one in configs]}


def _delete_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    for row in rows:
        yield shown("delete topic [{topic}] from cluster [{cluster}] success.\n", row)
        yield shown("delete topic [{topic}] from NameServer success.\n", row)


@command(
    "deleteTopic",
    CommandOption("c", "clusterName", "all brokers of this cluster", required=True, values=NameKind.CLUSTER),
    TOPIC,
    text=_delete_text,
)
def delete(call: CommandCall) -> Iterator[Row]:
    """RocketMQ: `DeleteTopicSubCommand`."""
    topic, cluster = call.given.need("t"), call.given.need("c")
    delete_everywhere(call, topic, cluster)
    yield {"topic": topic, "cluster": cluster}


def delete_everywhere(call: CommandCall, topic: str, cluster: str) -> None:
    """Delete a topic at the masters of a cluster and at all name servers."""
    for broker in call.servers.masters(cluster):
        call.servers.change(topics.delete(topic), broker)
    call.servers.change_names(names.forget_topic(topic, cluster))


def _perm_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    for row in rows:
        if row["before"] == row["perm"] and "b" in call.given:
            yield "new perm equals to the old one!\n"
            return
        yield shown("update topic perm from {before} to {perm} in {broker} success.\n", row)
        if "b" in call.given:
            yield f"{_configured(call)}.\n"


@command(
    "updateTopicPerm",
    *targets.either(),
    CommandOption("p", "perm", "permission: 2 write, 4 read, 6 both", required=True, values=("2", "4", "6")),
    TOPIC,
    text=_perm_text,
)
def update_permission(call: CommandCall) -> Iterator[Row]:
    """RocketMQ: `UpdateTopicPermSubCommand`."""
    topic, perm = call.given.need("t"), call.given.number("p", 6)
    route = call.servers.route(topic)
    queues = {one.broker_name: one for one in route.queue_datas}
    first = route.queue_datas[0]
    config = TopicConfig(
        topic, first.read_queue_nums, first.write_queue_nums, perm, topic_sys_flag=first.topic_sys_flag
    )
    call.summary["topicConfig"] = config.to_json()
    brokers = {one.broker_addrs.get(0): one.broker_name for one in route.broker_datas}
    for broker in targets.masters(call):
        if "b" in call.given and broker not in brokers:
            raise NoBroker(f"{broker} is not a master with the topic {topic}")
        before = queues[brokers[broker]].perm if broker in brokers else first.perm
        if not (before == perm and "b" in call.given):
            call.servers.change(topics.update(config), broker)
        yield {"broker": broker, "topic": topic, "before": before, "perm": perm}


_ORDER_TEXTS = {
    "get": "get orderConf success. topic=[{topic}], orderConf=[{orderConf}] \n",
    "put": "update orderConf success. topic=[{topic}], orderConf=[{orderConf}]\n",
    "delete": "delete orderConf success. topic=[{topic}]\n",
}


def _order_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    for row in rows:
        yield shown(_ORDER_TEXTS[row["method"]], row)


@command(
    "updateOrderConf",
    CommandOption(
        "m", "method", "operation: get, put or delete", required=True, values=("get", "put", "delete")
    ),
    TOPIC,
    CommandOption("v", "orderConf", "with put: brokers and numbers of queues, as broker-a:4;broker-b:4"),
    text=_order_text,
)
def update_order(call: CommandCall) -> Iterator[Row]:
    """RocketMQ: `UpdateOrderConfCommand`."""
    topic, method = call.given.need("t"), call.given.need("m")
    order = call.given.text("v")
    if method not in _ORDER_TEXTS:
        raise UsageError(f"-m must be get, put or delete, not {method!r}")
    if method == "get":
        order = call.servers.ask_names(names.value(ORDER_NAMESPACE, topic))
        if order is None:
            raise NoBroker(f"No config item, Namespace: {ORDER_NAMESPACE} Key: {topic}")
    elif method == "put":
        if not order:
            raise UsageError("please set orderConf with option -v.")
        put_order(call, topic, order)
    else:
        call.servers.change_names(names.delete_value(ORDER_NAMESPACE, topic))
    yield {"topic": topic, "method": method, "orderConf": order}
