"""Queries of messages for commands, by id, by key or from a queue, and their rows and text."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from mqgateway.engine.message import parse_offset_message_id
from mqgateway.gateway.client import admin_messages as messages
from mqgateway.gateway.client.admin_question import Question
from mqgateway.gateway.client.answers import decode_header
from mqgateway.gateway.client.errors import BrokerError, ClientError
from mqgateway.gateway.client.message import PullResult, PullStatus, ReceivedMessage
from mqgateway.gateway.client.reading import bounds, read_messages, wanted
from mqgateway.gateway.codec.bodies import MessageQueue
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import PullMessageRequestHeader, PullMessageResponseHeader
from mqgateway.gateway.mqadmin.declaration import CommandCall, Row
from mqgateway.gateway.mqadmin.rendering import java
from mqgateway.gateway.mqadmin.servers import reachable

TOOLS_GROUP = "TOOLS_CONSUMER"
"""A group that exists on every broker. RocketMQ: `MixAll.TOOLS_CONSUMER_GROUP`."""
BODY_FOLDER = "/tmp/rocketmq/msgbodys"
"""Folder in which RocketMQ's tool stores the bodies of messages that it shows."""
_SUBSCRIPTION = 4
_STATUS = {
    ResponseCode.SUCCESS: PullStatus.FOUND,
    ResponseCode.PULL_NOT_FOUND: PullStatus.NO_NEW_MSG,
    ResponseCode.PULL_RETRY_IMMEDIATELY: PullStatus.NO_MATCHED_MSG,
    ResponseCode.PULL_OFFSET_MOVED: PullStatus.OFFSET_ILLEGAL,
}


def pull(queue: MessageQueue, offset: int, count: int, tags: str, group: str) -> Question[PullResult]:
    """Return a query for at most `count` messages of a queue, from an offset on, with one of these tags
    (`TagA || TagB`)."""
    chosen = set() if tags in ("", "*") else {tag.strip() for tag in tags.split("||")}

    def read(answer: RemotingCommand) -> PullResult:
        status = _STATUS[ResponseCode(answer.code)]
        found = decode_header(PullMessageResponseHeader, answer)
        ends = bounds(found.min_offset, found.max_offset)
        pulled = read_messages(answer.body, queue.broker_name, ends) if status is PullStatus.FOUND else []
        for one in pulled:
            one.queue_offset += found.offset_delta or 0
        kept = wanted(pulled, chosen)
        return PullResult(status, found.next_begin_offset, found.min_offset, found.max_offset, kept)

    header = PullMessageRequestHeader(
        consumer_group=group,
        topic=queue.topic,
        queue_id=queue.queue_id,
        queue_offset=offset,
        max_msg_nums=count,
        sys_flag=_SUBSCRIPTION,
        commit_offset=0,
        suspend_timeout_millis=0,
        subscription=tags,
        sub_version=0,
        expression_type="TAG",
        bname=queue.broker_name,
    )
    refusals = tuple(code for code in _STATUS if code is not ResponseCode.SUCCESS)
    return Question(RequestCode.PULL_MESSAGE, read, header, nothing_codes=refusals)


def by_key(
    call: CommandCall, topic: str, key: str, route: str | None = None, **chosen: Any
) -> list[ReceivedMessage]:
    """Return the messages with a key from all brokers of a topic, the oldest first.

    Raises `BrokerError` if there is none.
    """
    found: list[ReceivedMessage] = []
    question = messages.by_key(topic, key, **chosen)
    for _, address in reachable(call.servers.route(route or topic).broker_datas):
        with call.servers.part(address):
            answer: list[ReceivedMessage] = call.servers.ask(question, address, 15.0)
            found += answer
    if not found and not call.servers.errors:
        why = "query message by key finished, but no message."
        raise BrokerError(ResponseCode.QUERY_NOT_FOUND, why, "the brokers")
    return sorted(found, key=lambda one: one.store_timestamp)


def by_id(call: CommandCall, topic: str, message_id: str, route: str | None = None) -> ReceivedMessage:
    """Return the message of an offset id or unique key. Raises `BrokerError` if there is none."""
    try:
        ip, port, offset = parse_offset_message_id(message_id)
        address = f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"
    except ValueError:
        address = ""
    info = call.servers.clusters()
    known = {one for data in info.broker_addr_table.values() for one in data.broker_addrs.values()}
    # The two kinds are equally long. It is an offset id if the address in it is that of a broker.
    if address in known:
        found = call.servers.ask(messages.at(offset, topic), address)
        if found is not None:
            return found
    try:
        return by_key(call, topic, message_id, route, most=32, kind=messages.UNIQUE_KEY)[0]
    except BrokerError as error:
        if error.code != ResponseCode.QUERY_NOT_FOUND or not address or address in known:
            raise
    found = _moved(call, topic, message_id, offset, known)
    if found is None:
        why = (
            f"no message has the unique key {message_id}. As an offset id it names the broker {address}, "
            "which no name server knows, and no other broker has that message"
        )
        raise BrokerError(ResponseCode.QUERY_NOT_FOUND, why, "the brokers")
    return found


def _moved(
    call: CommandCall, topic: str, message_id: str, offset: int, addresses: Iterable[str]
) -> ReceivedMessage | None:
    """Return the message of an offset id from the broker that stored it and has another address now."""
    for address in sorted(addresses):
        try:
            found = call.servers.ask(messages.at(offset, topic), address)
        except ClientError:
            continue
        if found is not None and found.offset_message_id == message_id.upper():
            return found
    return None


def message_row(message: ReceivedMessage) -> dict[str, Any]:
    """Return a message as a row; times are ms since the epoch."""
    fields: dict[str, Any] = {
        "offsetId": message.offset_message_id,
        "msgId": message.message_id,
        "topic": message.topic,
        "tags": message.tags,
        "keys": message.properties.get("KEYS"),
        "brokerName": message.queue.broker_name,
        "queueId": message.queue.queue_id,
        "queueOffset": message.queue_offset,
        "commitLogOffset": message.physical_offset,
        "reconsumeTimes": message.reconsume_times,
        "bornTimestamp": message.born_timestamp,
        "storeTimestamp": message.store_timestamp,
        "bornHost": message.born_host,
        "storeHost": message.store_host,
        "sysFlag": message.sys_flag,
        "flag": message.flag,
        "storeSize": message.store_size,
        "properties": dict(sorted(message.properties.items())),
    }
    try:
        fields["body"] = message.body.decode()
    except UnicodeDecodeError:
        fields["body"] = message.body.decode("utf-8", "replace")
        fields["bodyBase64"] = base64.b64encode(message.body).decode()
    return fields


def body_of(row: Row) -> bytes:
    """Return the body of a message row."""
    if "bodyBase64" in row:
        return base64.b64decode(row["bodyBase64"])
    text: str = row["body"]
    return text.encode()


def keep_body(row: Row, suffix: str = "") -> str:
    """Store the body of a message in the folder that RocketMQ's tool uses; return the file's path."""
    folder = Path(BODY_FOLDER)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{Path(row['msgId']).name}{suffix}"
    path.write_bytes(body_of(row))
    return str(path)


def as_java(row: Row, *, with_body: bool = True) -> str:
    """Return a message as Java prints it. RocketMQ: `MessageExt.toString`."""
    body = body_of(row)
    octets = ", ".join(str(octet - 256 if octet > 127 else octet) for octet in body)
    shown_body = f"[{octets}]" if with_body else "null"
    broker = row["brokerName"] or "null"
    return (
        f"MessageExt [brokerName={broker}, queueId={row['queueId']}, storeSize={row['storeSize']}, "
        f"queueOffset={row['queueOffset']}, sysFlag={row['sysFlag']}, bornTimestamp={row['bornTimestamp']}, "
        f"bornHost=/{row['bornHost']}, storeTimestamp={row['storeTimestamp']}, "
        f"storeHost=/{row['storeHost']}, "
        f"msgId={row['offsetId']}, commitLogOffset={row['commitLogOffset']}, "
        f"bodyCRC={zlib.crc32(body) & 0x7FFFFFFF}, "
        f"reconsumeTimes={row['reconsumeTimes']}, preparedTransactionOffset=0, "
        f"toString()=Message{{topic='{java(row['topic'])}', flag={row['flag']}, "
        f"properties={java(row['properties'])}, body={shown_body}, transactionId='null'}}]"
    )


def queue_text(queue: MessageQueue) -> str:
    """Return a queue as Java prints it."""
    return f"MessageQueue [topic={queue.topic}, brokerName={queue.broker_name}, queueId={queue.queue_id}]"


def addresses(call: CommandCall, topic: str) -> dict[str, str]:
    """Return the addresses of the topic's brokers by broker name: the master, else a slave."""
    return dict(reachable(call.servers.route(topic).broker_datas))


def decoded(row: Row, charset: str) -> str:
    """Return a body as text of a character set. Raises `LookupError` for an unknown one."""
    return body_of(row).decode(charset, "replace")


def pulled(
    call: CommandCall, queue: MessageQueue, address: str, begin: int, end: int, tags: str = "*"
) -> Iterator[tuple[PullResult, Sequence[Row]]]:
    """Pull a queue from one offset up to another; yield each result with its messages as rows.

    Stops early if there are no new messages or the offset is out of range.
    """
    offset = begin
    while offset < end:
        found = call.servers.ask(pull(queue, offset, 32, tags, TOOLS_GROUP), address, 20.0)
        offset = found.next_offset
        yield found, [message_row(one) for one in found.messages]
        if found.status in (PullStatus.NO_NEW_MSG, PullStatus.OFFSET_ILLEGAL):
            return
