"""Commands that send messages, most of them to measure the latency.

RocketMQ: `SendMessageCommand`, `SendMsgStatusCommand`, `CheckMsgSendRTCommand`, `CLusterSendMsgRTCommand`.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable, Iterator

from mqgateway.gateway.client import admin_names as names
from mqgateway.gateway.client.admin_question import Question
from mqgateway.gateway.client.errors import BadArgument, ClientError, NoBroker
from mqgateway.gateway.client.identity import MessageIds, own_ip
from mqgateway.gateway.client.message import Message, ReceivedMessage, SendResult
from mqgateway.gateway.client.options import ProducerOptions
from mqgateway.gateway.client.routes import MASTER, as_new_topic, queues_to_send
from mqgateway.gateway.client.sending import STATUS, common_header, prepare
from mqgateway.gateway.codec.bodies import MessageQueue, TopicRouteData
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
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
from mqgateway.gateway.mqadmin.rendering import headed, shown

_GROUP = "mqadmin"
_CHINA = datetime.timezone(datetime.timedelta(hours=8))


class Sender:
    """Producer for the messages of a call, each to a given queue.

    The first message creates a missing topic if `makes_topic` and the brokers allow it.
    """

    def __init__(self, call: CommandCall, topic: str, *, makes_topic: bool = True) -> None:
        """Raises `NoBroker`."""
        self._call = call
        self._options = ProducerOptions()
        route = _route(call, topic, self._options) if makes_topic else call.servers.route(topic)
        self.queues = queues_to_send(topic, route)
        self._masters = {
            one.broker_name: one.broker_addrs[MASTER]
            for one in route.broker_datas
            if MASTER in one.broker_addrs
        }
        if not self.queues:
            raise NoBroker(f"no queue of the topic {topic} is writable")
        self._common = common_header(_GROUP, topic, self._options)
        address = next(iter(self._masters.values()))
        self._ids = MessageIds(own_ip(address), os.getpid(), int.from_bytes(os.urandom(4)))

    def send(self, message: Message, queue: MessageQueue) -> SendResult | None:
        """Send to a queue; None in a dry run. Raises `ClientError`."""
        address = self._masters.get(queue.broker_name)
        if address is None:
            raise NoBroker(f"the broker {queue.broker_name} does not have the topic {queue.topic}")
        now = self._call.now()
        prepared = prepare(message, self._options, self._ids, now)

        def read(answer: RemotingCommand) -> SendResult:
            return prepared.result(answer, queue, address, "")

        question = Question(
            RequestCode.SEND_MESSAGE_V2,
            read,
            body=prepared.body,
            fields=prepared.header(self._common, queue, now),
            nothing_codes=tuple(code for code in STATUS if code is not ResponseCode.SUCCESS),
        )
        return self._call.servers.change(question, address)


def _route(call: CommandCall, topic: str, options: ProducerOptions) -> TopicRouteData:
    """Return the route of a topic; for a missing topic the one that the first message creates, if brokers
    allow it. Raises `NoBroker`."""
    try:
        return call.servers.route(topic)
    except NoBroker:
        found = call.servers.ask_names(names.route(options.create_topic_key))
        if found is None:
            raise
        return as_new_topic(found, options.default_topic_queue_nums)


def send_again(call: CommandCall, message: ReceivedMessage) -> str:
    """Send a message again; return the result as Java prints it."""
    sender = Sender(call, message.topic)
    copied = Message(message.topic, message.body, flag=message.flag)
    copied.properties = dict(message.properties)
    return _result_text(sender.send(copied, sender.queues[0]))


def _result_text(result: SendResult | None) -> str:
    if result is None:
        return ""
    queue = result.queue
    return shown(
        "SendResult [sendStatus={status}, msgId={id}, offsetMsgId={offsetId}, messageQueue=MessageQueue "
        "[topic={topic}, brokerName={broker}, queueId={queue}], queueOffset={offset}, recallHandle={recall}]",
        {
            "status": str(result.status),
            "id": result.message_id,
            "offsetId": result.offset_message_id,
            "topic": queue.topic,
            "broker": queue.broker_name,
            "queue": queue.queue_id,
            "offset": result.queue_offset,
            "recall": result.recall_handle,
        },
    )


@command(
    "sendMessage",
    CommandOption("b", "broker", "with -i: broker of the queue", values=NameKind.BROKER),
    CommandOption("c", "tags", "tag"),
    CommandOption("i", "qid", "with -b: queue id"),
    CommandOption("k", "key", "keys, separated by blanks"),
    CommandOption("m", "msgTraceEnable", "accepted without effect"),
    CommandOption("p", "body", "body", required=True),
    TOPIC,
    text=headed(
        ("#Broker Name", "#QID", "#Send Result", "#MsgId"),
        "{:<32}  {:<4}  {:<20}    {}\n",
        "{brokerName:<32}  {queueId:<4}  {status:<20}    {msgId}\n",
    ),
)
def send(call: CommandCall) -> Iterator[Row]:
    """RocketMQ: `SendMessageCommand`."""
    given = call.given
    if "i" in given and "b" not in given:
        raise UsageError("Broker name must be set if the queue is chosen!")
    topic = given.need("t")
    message = Message(topic, given.need("p"), tags=given.text("c"), keys=given.text("k"))
    sender = Sender(call, topic)
    queue = sender.queues[call.now() % len(sender.queues)]
    if "i" in given:
        queue = MessageQueue(topic, given.need("b"), given.number("i", 0))
    result = sender.send(message, queue)
    if result is not None:
        yield {
            "brokerName": result.queue.broker_name,
            "queueId": result.queue.queue_id,
            "status": str(result.status),
            "msgId": result.message_id,
            "offsetMsgId": result.offset_message_id,
            "queueOffset": result.queue_offset,
        }


def _timed(
    call: CommandCall, sender: Sender, message: Message, queue: MessageQueue
) -> tuple[int, SendResult | None]:
    """Send a message; return the latency in ms and the result, None for a failure, which is recorded."""
    began, result = call.monotonic(), None
    with call.servers.part(queue.broker_name):
        result = sender.send(message, queue)
    return round((call.monotonic() - began) * 1000), result


@command(
    "sendMsgStatus",
    CommandOption("b", "brokerName", "broker name", required=True, values=NameKind.BROKER),
    CommandOption("c", "count", "number of messages (default: 50)"),
    CommandOption("s", "messageSize", "size of each message in bytes (default: 128)"),
    text=lambda call, rows: (f"rt={row['millis']}ms, SendResult={row['result']}\n" for row in rows),
)
def send_status(call: CommandCall) -> Iterator[Row]:
    """RocketMQ: `SendMsgStatusCommand`. A first message opens the connection and is not shown."""
    name = call.given.need("b")
    sender = Sender(call, name)
    sender.send(Message(name, _text(16)), sender.queues[0])
    for number in range(call.given.number("c", 50)):
        queue = sender.queues[number % len(sender.queues)]
        millis, result = _timed(call, sender, Message(name, _text(call.given.number("s", 128))), queue)
        if result is not None:
            yield {"millis": millis, "result": _result_text(result)}


def _text(size: int) -> str:
    return "a" * size


def _round_trips_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    yield f"{'#Broker Name':<32}  {'#QID':<4}  {'#Send Result':<20}    #RT\n"
    for row in rows:
        yield shown("{brokerName:<32}  {queueId:<4}  {isSent:<20}    {millis}\n", row)
    yield f"Avg RT: {call.summary['averageMillis']:.2f}\n"


@command(
    "checkMsgSendRT",
    CommandOption("a", "amount", "number of messages (default: 100)"),
    CommandOption("s", "size", "size of each message in bytes (default: 128)"),
    TOPIC,
    text=_round_trips_text,
)
def round_trips(call: CommandCall) -> Iterator[Row]:
    """RocketMQ: `CheckMsgSendRTCommand`; the first send, which opens the connection, is not averaged."""
    topic, amount = call.given.need("t"), call.given.number("a", 100)
    sender = Sender(call, topic)
    total = 0
    for number in range(amount):
        queue = sender.queues[number % len(sender.queues)]
        message = Message(topic, _text(call.given.number("s", 128)))
        millis, result = _timed(call, sender, message, queue)
        total += millis if number else 0
        yield {
            "brokerName": queue.broker_name,
            "queueId": queue.queue_id,
            "isSent": result is not None,
            "millis": millis,
        }
    call.summary["averageMillis"] = total / max(1, amount - 1)


def _cluster_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    as_log = call.given.truth("p")
    if not as_log:
        yield f"{'#Cluster Name':<24}  {'#Broker Name':<24}  {'#RT':<4}  #successCount  #failCount\n"
    for row in rows:
        if as_log:
            now = datetime.datetime.fromtimestamp(call.now() / 1000, _CHINA)
            fields = {
                **row,
                "room": call.given.text("m") or "noname",
                "rounded": int(row["averageMillis"] + 0.5),
            }
            yield f"{now:%Y-%m-%d %H:%M:%S}|" + shown("{room}|{cluster}|{brokerName}|{rounded}\n", fields)
        else:
            yield shown(
                "{cluster:<24}  {brokerName:<24}  {averageMillis:<8.2f}  {sent:<16}  {failed:<16}\n", row
            )


@command(
    "clusterRT",
    CommandOption("a", "amount", "number of messages to each broker (default: 100)"),
    CommandOption("c", "cluster", "cluster", values=NameKind.CLUSTER),
    CommandOption("i", "interval", "repeat at this interval in seconds, like --watch"),
    CommandOption("m", "machine room", "with -p: name of the data center in each line"),
    CommandOption("p", "print log", "true to print log lines instead of a table", values=TRUTH),
    CommandOption("s", "size", "size of each message in bytes (default: 128)"),
    text=_cluster_text,
)
def cluster_round_trips(call: CommandCall) -> Iterator[Row]:
    """RocketMQ: `CLusterSendMsgRTCommand`, which never ends; this does, unless `-i` is given."""
    amount, size = call.given.number("a", 100), call.given.number("s", 128)
    known = call.servers.clusters().cluster_addr_table
    wanted = call.given.text("c")
    if wanted is not None and wanted not in known:
        raise NoBroker(f"cluster [{wanted}] not exist")
    if amount < 1 or size < 1:
        raise BadArgument("-a and -s must be at least 1")
    for cluster in sorted(known) if wanted is None else [wanted]:
        for name in sorted(known[cluster]):
            total = sent = 0
            try:
                sender = Sender(call, name)
            except ClientError:
                yield {
                    "cluster": cluster,
                    "brokerName": name,
                    "averageMillis": 0.0,
                    "sent": 0,
                    "failed": amount,
                }
                continue
            for number in range(amount):
                queue = sender.queues[number % len(sender.queues)]
                millis, result = _timed(call, sender, Message(name, _text(size)), queue)
                sent += result is not None
                total += millis if number else 0
            row = {"cluster": cluster, "brokerName": name, "averageMillis": total / max(1, amount - 1)}
            yield {**row, "sent": sent, "failed": amount - sent}
