"""Topics: the list, one of them with its queues, routes and groups; changes; a message sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mqgateway.engine.message import (
    DLQ_PREFIX,
    PROPERTY_DELAY_TIME_LEVEL,
    PROPERTY_KEYS,
    PROPERTY_TAGS,
    RETRY_PREFIX,
)
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.access.policies import Action
from mqgateway.gateway.broker.operations import NewMessage, Operations, SendOutcome, Use
from mqgateway.gateway.web.api.groups import member_count, state_of
from mqgateway.gateway.web.api.needs import of_cluster, of_topic
from mqgateway.gateway.web.api.tail import tail
from mqgateway.gateway.web.call import WebCall
from mqgateway.gateway.web.console import Console
from mqgateway.gateway.web.lists import PAGE_FIELDS, Row, has, page_of
from mqgateway.gateway.web.route import ApiError, Role, Route, RouteField
from mqgateway.gateway.web.scan import settled

KINDS = ("NORMAL", "FIFO", "DELAY", "TRANSACTION", "LITE", "MIXED", "UNSPECIFIED", "RETRY", "DLQ", "SYSTEM")
MESSAGE_TYPE = "message.type"
PRODUCER_GROUP = "CONSOLE"
ROWS_A_LOOK = 64
USERS, ALL = "users", "all"
OF_BROKERS = ("RETRY", "DLQ", "SYSTEM")


def kind_of(operations: Operations, config: TopicConfig) -> str:
    """Return the kind of a topic: by its name, else by its attribute `message.type`.

    RocketMQ: `TopicConfig.getTopicMessageType`.
    """
    name = config.topic_name
    if name.startswith(RETRY_PREFIX):
        return "RETRY"
    if name.startswith(DLQ_PREFIX):
        return "DLQ"
    if operations.topics.is_system(name):
        return "SYSTEM"
    return config.attributes.get(MESSAGE_TYPE, "NORMAL")


def matches(name: str, kind: str, wanted: str, search: str) -> bool:
    """Return True for a topic of the kind `wanted` with the text in its name."""
    if not has(name, search):
        return False
    if wanted == ALL:
        return True
    return kind not in OF_BROKERS if wanted == USERS else kind == wanted


def is_of_users(operations: Operations, config: TopicConfig) -> bool:
    """Return True for a topic that users made: it is not of a group's retries, nor the broker's own."""
    return kind_of(operations, config) not in OF_BROKERS


async def topics(console: Console, call: WebCall) -> dict[str, Any]:
    """List topics."""
    operations, query, breathe = console.operations, call.query, console.turns()
    sort = query["sort"]
    rows: list[Row] = []
    for number, config in enumerate(operations.topics.all()):
        if not number % ROWS_A_LOOK:
            await breathe()
        if not config.topic_name.startswith(query["prefix"]):
            continue
        if matches(config.topic_name, kind_of(operations, config), query["kind"], query["search"]):
            rows.append((_sort_key(operations, config, sort), config.topic_name))
    page = page_of(rows, query["limit"], query["cursor"], descending=query["descending"])
    counts = await _group_counts(console, set(page.names))
    shown = [
        _row(operations, known, counts.get(name, 0))
        for name in page.names
        if (known := operations.topics.get(name)) is not None
    ]
    return {"rows": shown, "total": page.total, "cursor": page.cursor}


def _sort_key(operations: Operations, config: TopicConfig, sort: str) -> Any:
    if sort == "messages":
        return operations.topics.message_count(config.topic_name)
    if sort == "rate":
        return operations.topics.put_rate(config.topic_name)
    return config.topic_name


async def _group_counts(console: Console, names: set[str]) -> dict[str, int]:
    """Count the groups that have offsets in each of these topics."""
    breathe, counts = console.turns(), dict.fromkeys(names, 0)
    for number, (topic, _group) in enumerate(console.operations.offsets.pairs()):
        if not number % ROWS_A_LOOK:
            await breathe()
        if topic in counts:
            counts[topic] += 1
    return counts


def _row(operations: Operations, config: TopicConfig, groups: int) -> dict[str, Any]:
    return {
        "topic": config.topic_name,
        "kind": kind_of(operations, config),
        "isKafka": config.keeps_kafka_batches,
        "perm": config.perm,
        "readQueues": config.read_queue_nums,
        "writeQueues": config.write_queue_nums,
        "messages": operations.topics.message_count(config.topic_name),
        "rate": round(operations.topics.put_rate(config.topic_name), 2),
        "groups": groups,
    }


def topic(console: Console, call: WebCall) -> dict[str, Any]:
    """One topic: its settings, queues, routes, groups, and who sends to it now."""
    operations, name = console.operations, call.path["topic"]
    known = operations.topics
    config, groups, stats = known.known(name), sorted(known.groups_of(name)), known.stats(name)
    return {
        **_row(operations, config, len(groups)),
        "order": config.order,
        "attributes": config.attributes,
        "isSystem": known.is_system(name),
        "queues": [
            {
                "queueId": queue.queue_id,
                "minOffset": offsets.min_offset,
                "maxOffset": offsets.max_offset,
                "lastTimestamp": offsets.last_update_timestamp,
            }
            for queue, offsets in sorted(stats.offset_table.items(), key=lambda pair: pair[0].queue_id)
        ],
        "consumers": [_consumer(console, name, group) for group in groups],
        "routes": _routes(console, name),
    }


def _consumer(console: Console, name: str, group: str) -> dict[str, Any]:
    """Show a group that consumes a topic; its state is that in all its topics."""
    operations = console.operations
    topics = [topic for topic in operations.offsets.topics_of(group) if topic in operations.topics]
    return {
        "group": group,
        "behind": operations.offsets.lag(group, name),
        "members": member_count(operations, group),
        "state": state_of(console, group, topics),
        "rate": round(operations.groups.get_rate(group, name), 2),
    }


def history(console: Console, call: WebCall) -> dict[str, Any]:
    """Return messages kept, and messages and bytes that came in a second, of a topic over time."""
    return console.topics.since(call.path["topic"], call.now - call.query["minutes"] * 60_000)


def _routes(console: Console, name: str) -> list[dict[str, Any]] | None:
    """Which brokers have the topic, as the name server of this process says; None without one."""
    if console.name_server is None:
        return None
    tables = console.name_server.tables
    return [
        {
            "broker": broker,
            "addresses": {str(key): value for key, value in tables.brokers[broker].broker_addrs.items()}
            if broker in tables.brokers
            else {},
            "readQueues": queues.read_queue_nums,
            "writeQueues": queues.write_queue_nums,
            "perm": queues.perm,
        }
        for broker, queues in sorted(tables.topic_queues.get(name, {}).items())
    ]


async def create_topic(console: Console, call: WebCall) -> dict[str, Any]:
    """Create a topic at all brokers of the cluster; refused where there is one of this name."""
    if call.body["topic"] in console.operations.topics:
        raise ApiError(409, f"there is a topic {call.body['topic']} already")
    return await _put_topic(console, call, call.body["topic"], None)


async def change_topic(console: Console, call: WebCall) -> dict[str, Any]:
    """Change a topic at all brokers of the cluster: what is not given stays."""
    name = call.path["topic"]
    return await _put_topic(console, call, name, console.operations.topics.known(name))


async def _put_topic(console: Console, call: WebCall, name: str, known: TopicConfig | None) -> dict[str, Any]:
    permit = console.permit(call, Use.ADMINISTER)
    body, before = call.body, known or TopicConfig(name, 8, 8)
    attributes: Mapping[str, Any] = body["attributes"] or {}
    changed = {key: value for key, value in attributes.items() if value != before.attributes.get(key)}
    config = TopicConfig(
        topic_name=name,
        read_queue_nums=_given(body["readQueues"], before.read_queue_nums),
        write_queue_nums=_given(body["writeQueues"], before.write_queue_nums),
        perm=_given(body["perm"], before.perm),
        topic_filter_type=before.topic_filter_type,
        topic_sys_flag=before.topic_sys_flag,
        order=_given(body["order"], before.order),
        attributes={f"+{key}": str(value) for key, value in changed.items()},
    )
    call.before = None if known is None else known.to_json()
    await settled(console.operations.administration.put_topic(permit, config))
    call.after = console.operations.topics.known(name).to_json()
    if refusals := await settled(console.operations.administration.repeat_topic(permit, config)):
        elsewhere = "; ".join(f"{broker}: {reason}" for broker, reason in sorted(refusals.items()))
        raise ApiError(502, f"the topic is saved at this broker, but not at {elsewhere}; save it again later")
    return {"topic": name}


def _given(value: Any, otherwise: Any) -> Any:
    return otherwise if value is None else value


def delete_topic(console: Console, call: WebCall) -> dict[str, Any]:
    """Delete a topic with all its messages and offsets on this broker."""
    permit = console.permit(call, Use.ADMINISTER)
    name = call.path["topic"]
    call.before = console.operations.topics.known(name).to_json()
    console.operations.administration.delete_topic(permit, name)
    server, options = console.name_server, console.operations.options
    if server is not None and set(server.tables.topic_queues.get(name, ())) <= {options.broker_name}:
        server.tables.delete_topic(name, options.broker_cluster_name)
    return {"topic": name}


async def send_message(console: Console, call: WebCall) -> dict[str, Any]:
    """Store a message in an existing topic, as a producer would."""
    name, body = call.path["topic"], call.body
    console.operations.topics.known(name)
    given = {str(key): str(value) for key, value in (body["properties"] or {}).items()}
    named = {PROPERTY_TAGS: body["tags"], PROPERTY_KEYS: body["keys"]}
    if body["delayLevel"]:
        named[PROPERTY_DELAY_TIME_LEVEL] = str(body["delayLevel"])
    message = NewMessage(
        name,
        body["body"].encode(),
        call.now,
        given | {key: value for key, value in named.items() if value},
        queue_id=body["queueId"],
        producer_group=PRODUCER_GROUP,
    )
    return sent(await put(console, call, message))


async def put(console: Console, call: WebCall, message: NewMessage) -> SendOutcome:
    """Store a message. Raises `ApiError`, `OperationError`."""
    stored: SendOutcome = await settled(
        console.operations.produce.send(console.permit(call, Use.SEND), message)
    )
    return stored


def sent(outcome: SendOutcome) -> dict[str, Any]:
    """Return the position of a stored message as JSON."""
    return {
        "status": outcome.status.value,
        "id": outcome.message_id,
        "queueId": outcome.queue_id,
        "queueOffset": outcome.queue_offset,
        "recallHandle": outcome.recall_handle,
    }


_SETTINGS = (
    RouteField("readQueues", int, "Number of queues to read.", None, least=1, most=65535),
    RouteField("writeQueues", int, "Number of queues to write.", None, least=1, most=65535),
    RouteField(
        "perm", int, "Permission of clients: 6 read and write, 4 read, 2 write.", None, least=0, most=7
    ),
    RouteField("order", bool, "Keep the order of queues in routes fixed.", None),
    RouteField("attributes", dict, "Attributes such as `message.type`; others keep their values.", None),
)

ROUTES = (
    Route(
        "GET",
        "/topics",
        Role.VIEWER,
        "List topics.",
        topics,
        query=(
            *PAGE_FIELDS,
            RouteField("sort", str, "Sort key.", "name", choices=("name", "messages", "rate")),
            RouteField("kind", str, "Kind of the topics.", USERS, choices=(USERS, ALL, *KINDS)),
            RouteField("prefix", str, "Text with which the names begin.", ""),
        ),
        needs=of_cluster(Action.GET),
    ),
    Route(
        "POST",
        "/topics",
        Role.OPERATOR,
        "Create a topic.",
        create_topic,
        body=(RouteField("topic", str, "Topic name."), *_SETTINGS),
        needs=of_topic(Action.CREATE),
    ),
    Route("GET", "/topics/{topic}", Role.VIEWER, "Show a topic.", topic, needs=of_topic(Action.GET)),
    Route(
        "GET",
        "/topics/{topic}/history",
        Role.VIEWER,
        "Return the messages of a topic over time, at most the last 4 hours.",
        history,
        query=(
            RouteField("minutes", int, "Range of the chart, in minutes before now.", 60, least=1, most=240),
        ),
        needs=of_topic(Action.GET),
    ),
    Route(
        "PUT",
        "/topics/{topic}",
        Role.OPERATOR,
        "Change a topic.",
        change_topic,
        body=_SETTINGS,
        needs=of_topic(Action.UPDATE, Action.CREATE),
    ),
    Route(
        "DELETE",
        "/topics/{topic}",
        Role.ADMIN,
        "Delete a topic with its messages.",
        delete_topic,
        needs=of_topic(Action.DELETE),
    ),
    Route(
        "POST",
        "/topics/{topic}/messages",
        Role.OPERATOR,
        "Send a message.",
        send_message,
        body=(
            RouteField("body", str, "Text of the message.", is_secret=True),
            RouteField("tags", str, "Tag of the message.", ""),
            RouteField("keys", str, "Keys of the message, separated by blanks.", ""),
            RouteField("properties", dict, "Additional properties.", None, is_secret=True),
            RouteField("queueId", int, "Queue id; -1 for any queue.", -1, least=-1, most=65535),
            RouteField("delayLevel", int, "Delay level; 0 for no delay.", 0, least=0, most=64),
        ),
        needs=of_topic(Action.PUB),
    ),
    Route(
        "GET",
        "/topics/{topic}/tail",
        Role.READER,
        "Stream messages as they arrive.",
        tail,
        query=(
            RouteField("tag", str, "Tag of the messages.", ""),
            RouteField("text", str, "Text in the message body.", ""),
        ),
        needs=of_topic(Action.SUB),
        is_stream=True,
    ),
)
