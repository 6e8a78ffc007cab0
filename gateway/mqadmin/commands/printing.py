"""Commands that read queues and print what is in them.

Standard: `PrintMessageSubCommand`, `PrintMessageByQueueCommand`, `ConsumeMessageCommand`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from mqgateway.gateway.client import admin_messages as messages
from mqgateway.gateway.client.errors import NoBroker
from mqgateway.gateway.client.message import PullStatus
from mqgateway.gateway.client.routes import queues_to_read
from mqgateway.gateway.codec.bodies import MessageQueue
from mqgateway.gateway.mqadmin.commands import reading
from mqgateway.gateway.mqadmin.commands.topic_views import TOPIC
from mqgateway.gateway.mqadmin.declaration import (
    TRUTH,
    CommandCall,
    CommandOption,
    NameKind,
    Row,
    UsageError,
    command,
)
from mqgateway.gateway.mqadmin.rendering import java
from mqgateway.gateway.mqadmin.times import millis_of

_TIME = "ms since the epoch or yyyy-MM-dd#HH:mm:ss:SSS"
_BEGIN = CommandOption("b", "beginTimestamp ", f"first store time: {_TIME}")
_END = CommandOption("e", "endTimestamp ", f"end of the store time, exclusive: {_TIME}")
_CHARSET = CommandOption("c", "charsetName ", "character set of the bodies (default: UTF-8)")
_TAGS = CommandOption("s", "subExpression ", "tags to select, as TagA || TagB")


def _message_text(row: Row, charset: str, with_body: bool) -> str:
    try:
        body = java(reading.decoded(row, charset)) if with_body else "NOT PRINT BODY"
    except LookupError:
        raise UsageError(f"{charset!r} is not a character set") from None
    return f"MSGID: {row['msgId']} {reading.as_java(row)} BODY: {body}\n"


def _span(call: CommandCall, queue: MessageQueue, address: str) -> tuple[int, int]:
    """From which offset to which a queue is read."""
    given = call.given
    ends = []
    for key, question in (("b", messages.min_offset(queue)), ("e", messages.max_offset(queue))):
        if (time := given.text(key)) is not None:
            question = messages.offset_at(queue, millis_of(time, call.now()))
        ends.append(call.servers.ask(question, address))
    return ends[0], ends[1]


def _all_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    charset, with_body = call.given.text("c") or "UTF-8", call.given.truth("d", True)
    for row in rows:
        if "minOffset" in row:
            yield f"minOffset={row['minOffset']}, maxOffset={row['maxOffset']}, {row['queue']}\n"
        elif "status" in row:
            end = "no matched msg" if row["status"] == "NO_MATCHED_MSG" else "print msg finished"
            yield f"{row['queue']} {end}. status={row['status']}, offset={row['offset']}\n"
        elif "isEnd" in row:
            yield "-" * 56 + "\n"
        else:
            yield _message_text(row, charset, with_body)


@command(
    "printMsg",
    _BEGIN,
    _CHARSET,
    CommandOption("d", "printBody ", "false to omit bodies", values=TRUTH),
    _END,
    CommandOption("l", "lmqParentTopic", "parent topic of a lite topic", values=NameKind.TOPIC),
    _TAGS,
    TOPIC,
    text=_all_text,
)
def all_queues(call: CommandCall) -> Iterator[Row]:
    """Standard: `PrintMessageSubCommand`."""
    topic, parent = call.given.need("t"), call.given.text("l")
    route = call.servers.route(parent or topic)
    brokers = reading.addresses(call, parent or topic)
    tags = call.given.text("s") or "*"
    for queue in sorted(queues_to_read(topic, route)):
        if queue.broker_name not in brokers:
            continue
        address = brokers[queue.broker_name]
        with call.servers.part(address):
            begin, end = _span(call, queue, address)
            shown_as = reading.queue_text(queue)
            yield {"queue": shown_as, "minOffset": begin, "maxOffset": end}
            for found, rows in reading.pulled(call, queue, address, begin, end, tags):
                yield from rows
                if found.status is not PullStatus.FOUND:
                    yield {"queue": shown_as, "status": str(found.status), "offset": found.next_offset}
            yield {"queue": shown_as, "isEnd": True}


def _queue_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    given = call.given
    charset, with_body = given.text("c") or "UTF-8", given.truth("d")
    for row in rows:
        if given.truth("p"):
            yield _message_text(row, charset, with_body)
    for tag, count in call.summary["tags"].items():
        yield f"Tag: {java(tag):<30} Count: {count}\n"


@command(
    "printMsgByQueue",
    CommandOption("a", "brokerName ", "broker of the queue", required=True, values=NameKind.BROKER),
    _BEGIN,
    _CHARSET,
    CommandOption("d", "printBody ", "true to print bodies", values=TRUTH),
    _END,
    CommandOption("f", "calculate", "true to count messages by tag", values=TRUTH),
    CommandOption("i", "queueId ", "queue id", required=True),
    CommandOption("p", "print msg", "true to print messages", values=TRUTH),
    _TAGS,
    TOPIC,
    text=_queue_text,
)
def one_queue(call: CommandCall) -> Iterator[Row]:
    """Standard: `PrintMessageByQueueCommand`; the rows are the messages, with `-p` or without."""
    given = call.given
    queue = MessageQueue(given.need("t"), given.need("a"), given.number("i", 0))
    address = _address(call, queue)
    begin, end = _span(call, queue, address)
    counts: Counter[str] = Counter()
    call.summary["tags"] = {}
    for found, rows in reading.pulled(call, queue, address, begin, end, given.text("s") or "*"):
        counts.update(row["tags"] for row in rows if row["tags"])
        yield from rows
        if found.status is not PullStatus.FOUND:
            break
    if given.truth("f"):
        call.summary["tags"] = dict(counts.most_common())


def _address(call: CommandCall, queue: MessageQueue) -> str:
    address = reading.addresses(call, queue.topic).get(queue.broker_name)
    if address is None:
        raise NoBroker(f"the broker {queue.broker_name} does not have the topic {queue.topic}")
    return address


def _consumed_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    for row in rows:
        if "text" in row:
            yield f"{row['text']}\n"
        else:
            yield _message_text(row, "UTF-8", True)


@command(
    "consumeMessage",
    CommandOption("b", "brokerName", "broker of the queue", values=NameKind.BROKER),
    CommandOption("c", "MessageNumber", "number of messages (default: 128)"),
    _END,
    CommandOption(
        "g",
        "consumerGroup",
        "consumer group to read as; its offsets do not change",
        values=NameKind.GROUP,
    ),
    CommandOption("i", "queueId", "with -b: queue id"),
    CommandOption("o", "offset", "with -i: offset of the first message"),
    CommandOption("s", "beginTimestamp ", f"first store time: {_TIME}"),
    TOPIC,
    text=_consumed_text,
)
def consume(call: CommandCall) -> Iterator[Row]:
    """Standard: `ConsumeMessageCommand`."""
    given = call.given
    topic, left = given.need("t"), given.number("c", 128)
    _check_consume(call, left)
    if "i" in given:
        queue = MessageQueue(topic, given.need("b"), given.number("i", 0))
        yield from _consume_queue(call, queue, left)
        return
    brokers = reading.addresses(call, topic)
    for queue in sorted(queues_to_read(topic, call.servers.route(topic))):
        if left == 0 or queue.broker_name not in brokers:
            continue
        address = brokers[queue.broker_name]
        begin, end = _consume_span(call, queue, address)
        if end - begin > left:
            yield {"text": f"The older {left} message of the {queue.queue_id} queue will be provided"}
            end, left = begin + left - 1, 0
        else:
            left -= end - begin + 1
        yield from _consumed(call, queue, address, begin, end)


def _check_consume(call: CommandCall, count: int) -> None:
    given, now = call.given, call.now()
    if count <= 0:
        raise UsageError("Please input a positive messageNumber!")
    if "i" in given and "b" not in given:
        raise UsageError("Please set the brokerName before queueId!")
    if "o" in given and "i" not in given:
        raise UsageError("Please set queueId before offset!")
    begin, end = (millis_of(given.text(key) or "0", now) for key in "se")
    if begin > now or end > now:
        raise UsageError(f"Please set the {'begin' if begin > now else 'end'}Timestamp before now!")
    if 0 < end < begin:
        raise UsageError("Please make sure that the beginTimestamp is less than or equal to the endTimestamp")


def _consume_span(call: CommandCall, queue: MessageQueue, address: str) -> tuple[int, int]:
    ends = []
    for key, question in (("s", messages.min_offset(queue)), ("e", messages.max_offset(queue))):
        millis = millis_of(call.given.text(key) or "0", call.now())
        if millis > 0:
            question = messages.offset_at(queue, millis)
        ends.append(call.servers.ask(question, address))
    return ends[0], ends[1]


def _consume_queue(call: CommandCall, queue: MessageQueue, left: int) -> Iterator[Row]:
    address = _address(call, queue)
    begin, end = _consume_span(call, queue, address)
    offset = call.given.number("o", 0)
    if offset > end:
        yield {"text": f"{reading.queue_text(queue)} no matched msg, offset={offset}"}
        return
    begin = max(begin, offset)
    if end - begin > left:
        yield {"text": f"The oldler {left} message will be provided"}
        end = begin + left - 1
    yield from _consumed(call, queue, address, begin, end)


def _consumed(call: CommandCall, queue: MessageQueue, address: str, begin: int, end: int) -> Iterator[Row]:
    """Yield the messages from one offset to another, the last one too."""
    group = call.given.text("g") or reading.TOOLS_GROUP
    shown_as = reading.queue_text(queue)
    while begin <= end:
        found = call.servers.ask(reading.pull(queue, begin, end - begin + 1, "*", group), address, 20.0)
        begin = found.next_offset
        if found.status is PullStatus.FOUND:
            yield {"text": "Consume ok"}
            yield from map(reading.message_row, found.messages)
            continue
        is_none = found.status is PullStatus.NO_MATCHED_MSG
        what = "no matched msg" if is_none else "print msg finished"
        yield {"text": f"{shown_as} {what}. status={found.status}, offset={begin}"}
        if not is_none:
            return
