"""Commands that query messages by id, key or offset.

RocketMQ: the `QueryMsg` commands of the module `tools`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from mqgateway.gateway.client import admin_consumers as consumers
from mqgateway.gateway.client import admin_messages as messages
from mqgateway.gateway.client import admin_topics as topics
from mqgateway.gateway.client.errors import BrokerError, ClientError, NoBroker
from mqgateway.gateway.client.message import ReceivedMessage
from mqgateway.gateway.codec.bodies import ConsumerConnection, MessageQueue
from mqgateway.gateway.codec.codes import ResponseCode
from mqgateway.gateway.mqadmin.commands import reading
from mqgateway.gateway.mqadmin.commands.clients import online
from mqgateway.gateway.mqadmin.commands.progress import progress_of
from mqgateway.gateway.mqadmin.commands.topic_views import CLUSTER_ROUTE, TOPIC
from mqgateway.gateway.mqadmin.declaration import (
    TRUTH,
    CommandCall,
    CommandOption,
    NameKind,
    Row,
    UsageError,
    command,
    flag,
)
from mqgateway.gateway.mqadmin.rendering import headed, moment, pretty, shown

_ID = CommandOption("i", "msgId", "message id", required=True)
_FORMAT = CommandOption("f", "bodyFormat", "print the body in this character set")
_BEGIN = CommandOption("b", "beginTimestamp", "first store time, in ms since the epoch")
_HOUR_MILLIS = 3_600_000
_END = CommandOption("e", "endTimestamp", "last store time, in ms since the epoch")

# A message and its consumption state


def _lines(row: Row) -> Iterator[str]:
    """Yield a message as text, one line a field."""
    fields = {
        "Topic:": row["topic"],
        "Tags:": [row["tags"]],
        "Keys:": [row["keys"]],
        "Queue ID:": row["queueId"],
        "Queue Offset:": row["queueOffset"],
        "CommitLog Offset:": row["commitLogOffset"],
        "Reconsume Times:": row["reconsumeTimes"],
        "Born Timestamp:": moment(row["bornTimestamp"]),
        "Store Timestamp:": moment(row["storeTimestamp"]),
        "Born Host:": row["bornHost"],
        "Store Host:": row["storeHost"],
        "System Flag:": row["sysFlag"],
        "Properties:": row["properties"],
    }
    for name, value in fields.items():
        yield f"{name:<20} " + shown("{value}\n", {"value": value})


def _tracks(row: Row, end: str) -> Iterator[str]:
    if not row["tracks"]:
        yield "\n\nWARN: No Consumer\n"
        return
    yield "\n\n"
    for one in row["tracks"]:
        yield (
            shown(
                "MessageTrack [consumerGroup={consumerGroup}, trackType={trackType}, "
                "exceptionDesc={exceptionDesc}]",
                one,
            )
            + end
        )


def _with_id_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    charset = call.given.text("f")
    for row in rows:
        if "result" in row:
            yield f"{row['result']}\n"
            continue
        yield f"{'OffsetID:':<20} {row['offsetId']}\n"
        yield from _lines(row)
        yield f"{'Message Body Path:':<20} {reading.keep_body(row)}\n"
        if charset is not None:
            yield f"{'Message Body:':<20} {_decoded(row, charset)}\n"
        yield from _tracks(row, "\n")


def _decoded(row: Row, charset: str) -> str:
    try:
        return reading.decoded(row, charset)
    except LookupError:
        raise UsageError(f"{charset!r} is not a character set") from None


def _found(call: CommandCall, message: ReceivedMessage) -> Row:
    return {**reading.message_row(message), "tracks": list(_tracked(call, message))}


def _tracked(call: CommandCall, message: ReceivedMessage) -> Iterator[Row]:
    """Yield the consumption state of a message in each group of its topic.

    RocketMQ: `DefaultMQAdminExtImpl.messageTrackDetail`.
    """
    _, address = next(iter(reading.addresses(call, message.topic).items()))
    groups: set[str] = call.servers.ask(topics.groups(message.topic), address)
    for group in sorted(groups):
        kind, why = "UNKNOWN", None
        try:
            kind = _track(call, message, group, online(call, group))
        except BrokerError as error:
            if error.code == ResponseCode.CONSUMER_NOT_ONLINE:
                kind = "NOT_ONLINE"
            if error.code == ResponseCode.BROADCAST_CONSUMPTION:
                kind = "CONSUME_BROADCASTING"
            why = f"CODE:{error.code} DESC:{error.remark}"
        except ClientError as error:
            why = str(error)
        yield {"consumerGroup": group, "trackType": kind, "exceptionDesc": why}


def _track(call: CommandCall, message: ReceivedMessage, group: str, members: ConsumerConnection) -> str:
    if members.consume_type != "CONSUME_PASSIVELY":
        return "PULL"
    stats = progress_of(call, group)
    brokers = {
        name
        for name, data in call.servers.clusters().broker_addr_table.items()
        if data.broker_addrs.get(0) == message.store_host
    }
    is_consumed = any(
        one.consumer_offset > message.queue_offset
        for queue, one in stats.offset_table.items()
        if queue.topic == message.topic
        and queue.queue_id == message.queue.queue_id
        and queue.broker_name in brokers
    )
    if not is_consumed:
        return "NOT_CONSUME_YET"
    subscription = members.subscription_table.get(message.topic)
    tags = subscription.tags_set if subscription else set()
    return "CONSUMED" if not tags or "*" in tags or message.tags in tags else "CONSUMED_BUT_FILTERED"


def _pushed(call: CommandCall, group: str, client_id: str, message: ReceivedMessage) -> Row:
    """Have a consumer consume a message now; return its result as a row."""
    address = message.store_host
    info = call.servers.ask(consumers.running_info(group, client_id), address)
    if info.properties.get("PROP_CONSUME_TYPE") != "CONSUME_PASSIVELY":
        return {"result": f"this {client_id} client is not push consumer ,not support direct push "}
    question = consumers.consume_directly(group, client_id, message.offset_message_id, message.topic)
    found = call.servers.change(question, address)
    if found is None:
        return {"result": ""}
    row: dict[str, Any] = found.to_json()
    row["remark"] = found.remark
    text = (
        "ConsumeMessageDirectlyResult [order={order}, autoCommit={autoCommit}, "
        "consumeResult={consumeResult}, remark={remark}, spentTimeMills={spentTimeMills}]"
    )
    return {**row, "result": shown(text, row)}


@command(
    "queryMsgById",
    CLUSTER_ROUTE,
    CommandOption("d", "clientId", "with -g: id of the client that consumes the message now"),
    _FORMAT,
    CommandOption("g", "consumerGroup", "with -d: consumer group of the client", values=NameKind.GROUP),
    CommandOption("i", "msgId", "message ids, separated by ','", required=True),
    CommandOption("s", "sendMessage", "true to send the message again", values=TRUTH),
    TOPIC,
    CommandOption("u", "unitName", "with -s: accepted without effect"),
    text=_with_id_text,
)
def with_id(call: CommandCall) -> Iterator[Row]:
    """RocketMQ: `QueryMsgByIdSubCommand`."""
    given = call.given
    topic = given.need("t")
    for message_id in [one.strip() for one in given.need("i").split(",") if one.strip()]:
        message = reading.by_id(call, topic, message_id, given.text("c"))
        if "g" in given and "d" in given:
            yield _pushed(call, given.need("g"), given.need("d"), message)
        elif given.truth("s"):
            from mqgateway.gateway.mqadmin.commands.sends import send_again

            yield {"result": f"prepare resend msg. originalMsgId={message_id}{send_again(call, message)}"}
        elif "s" not in given:
            yield _found(call, message)


def _with_unique_key_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    for number, row in enumerate(rows):
        if "result" in row:
            yield f"{row['result']}\n"
            continue
        yield from _lines(row)
        path = reading.keep_body(row, f"_{number}" if number else "")
        yield f"{'Message Body Path:':<20} {path}\n"
        yield from _tracks(row, "\n")


@command(
    "queryMsgByUniqueKey",
    flag("a", "showAll", "print all messages with the id, up to 32"),
    CLUSTER_ROUTE,
    CommandOption("d", "clientId", "with -g: id of the client that consumes the message now"),
    CommandOption("e", "endTime", "last store time, in ms since the epoch"),
    CommandOption("g", "consumerGroup", "with -d: consumer group of the client", values=NameKind.GROUP),
    _ID,
    CommandOption("s", "startTime", "first store time, in ms since the epoch"),
    TOPIC,
    text=_with_unique_key_text,
)
def with_unique_key(call: CommandCall) -> Iterator[Row]:
    """RocketMQ: `QueryMsgByUniqueKeySubCommand`."""
    given = call.given
    begin, end = given.number("s", 0), given.number("e", messages.FOREVER)
    chosen: dict[str, Any] = {"most": 32, "kind": messages.UNIQUE_KEY, "begin": begin, "end": end}
    found = reading.by_key(call, given.need("t"), given.need("i"), given.text("c"), **chosen)
    if "g" in given and "d" in given:
        yield _pushed(call, given.need("g"), given.need("d"), found[0])
        return
    for message in found if "a" in given else found[:1]:
        yield _found(call, message)


@command(
    "queryMsgByKey",
    _BEGIN,
    CLUSTER_ROUTE,
    _END,
    CommandOption("k", "msgKey", "key", required=True),
    CommandOption("l", "lastKey", "position to continue from, for brokers with an index in a database"),
    CommandOption("m", "maxNum", "maximum number of messages of each broker (default: 64)"),
    CommandOption("p", "keyType", "K to search by key, T by tag", values=("K", "T")),
    TOPIC,
    text=headed(
        ("#Message ID", "#QID", "#Offset", "#IndexKey"),
        "{:<50} {:>4} {:>40} {:<200}\n",
        "{msgId:<50} {queueId:>4} {queueOffset:>40} {indexKey:<200}\n",
    ),
)
def with_key(call: CommandCall) -> Iterator[Row]:
    """RocketMQ: `QueryMsgByKeySubCommand`. `-l` takes the last index key shown, to continue from it."""
    given = call.given
    chosen: dict[str, Any] = {
        "most": given.number("m", 64),
        "begin": given.number("b", 0),
        "end": given.number("e", messages.FOREVER),
        "kind": given.text("p") or messages.KEY,
        "after": given.text("l"),
    }
    topic, key = given.need("t"), given.need("k")
    for one in reading.by_key(call, topic, key, given.text("c"), **chosen):
        hour = one.store_timestamp // _HOUR_MILLIS * _HOUR_MILLIS
        place = f"{one.message_id}@{one.physical_offset}"
        yield {**reading.message_row(one), "indexKey": f"{hour}@{topic}@{chosen['kind']}@{key}@{place}"}


@command(
    "queryMsgByOffset",
    CommandOption("b", "brokerName", "broker of the queue", required=True, values=NameKind.BROKER),
    _FORMAT,
    CommandOption("i", "queueId", "queue id", required=True),
    CommandOption("o", "offset", "offset", required=True),
    CommandOption(
        "r", "routeTopic", "topic whose route is used instead of the topic's", values=NameKind.TOPIC
    ),
    TOPIC,
    text=_with_id_text,
)
def at_offset(call: CommandCall) -> Iterator[Row]:
    """RocketMQ: `QueryMsgByOffsetSubCommand`."""
    given = call.given
    queue = MessageQueue(given.need("t"), given.need("b"), given.number("i", 0))
    address = reading.addresses(call, given.text("r") or queue.topic).get(queue.broker_name)
    if address is None:
        raise NoBroker(f"the broker {queue.broker_name} does not have the topic {queue.topic}")
    question = reading.pull(queue, given.number("o", 0), 1, "*", reading.TOOLS_GROUP)
    messages = call.servers.ask(question, address).messages
    if not messages:
        raise NoBroker(f"queue {queue.queue_id} of {queue.topic} at {queue.broker_name} has no message there")
    for message in messages:
        yield _found(call, message)


# Entries of queues

_LINE = "=" * 38


def _entries_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    found = list(rows)
    if call.summary["subscriptionData"] is not None:
        yield f"Subscription data: \n{pretty(call.summary['subscriptionData'])}\n{_LINE}\n"
    if call.summary["filterData"] is not None:
        yield shown(f"Filter data: \n{{filterData}}\n{_LINE}\n", call.summary)
    yield shown(f"Queue data: \nmax: {{max}}, min: {{min}}\n{_LINE}\n", call.summary)
    template = (
        "idx: {index}\nConsumeQueueData{{physicOffset={physicOffset}, physicSize={physicSize}, "
        "tagsCode={tagsCode}, extendDataJson='{extendDataJson}', bitMap='{bitMap}', eval={eval}, "
        f"msg='{{msg}}'}}}}\n{_LINE}\n"
    )
    for row in found:
        yield shown(template, row)


@command(
    "queryCq",
    CommandOption(
        "b", "broker", "broker as host:port (default: the first broker of the topic)", values=NameKind.ADDRESS
    ),
    CommandOption("c", "count", "number of entries (default: 10)"),
    CommandOption("g", "consumer", "consumer group", values=NameKind.GROUP),
    CommandOption("i", "index", "offset of the first message", required=True),
    CommandOption("q", "queue", "queue id", required=True),
    TOPIC,
    text=_entries_text,
)
def entries(call: CommandCall) -> Iterator[Row]:
    """RocketMQ: `QueryConsumeQueueCommand`."""
    given = call.given
    topic, index = given.need("t"), given.number("i", 0)
    broker = given.text("b") or next(iter(reading.addresses(call, topic).values()))
    queue = MessageQueue(topic, "", given.number("q", 0))
    found = call.servers.ask(
        messages.queue_entries(queue, index, given.number("c", 10), given.text("g")), broker
    )
    call.summary.update(subscriptionData=None, filterData=None, max=0, min=0)
    if found is None:
        return
    subscribed = found.subscription_data
    call.summary["subscriptionData"] = subscribed.to_json() if subscribed else None
    call.summary.update(filterData=found.filter_data, max=found.max_queue_index, min=found.min_queue_index)
    for number, one in enumerate(found.queue_data, index):
        yield {
            "index": number,
            "physicOffset": one.physic_offset,
            "physicSize": one.physic_size,
            "tagsCode": one.tags_code,
            "extendDataJson": one.extend_data_json,
            "bitMap": one.bit_map,
            "eval": one.eval,
            "msg": one.msg,
        }
