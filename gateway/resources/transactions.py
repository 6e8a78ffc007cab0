"""`mqgateway transaction`: half messages without commit or rollback.

A broker scans its half messages and their end marks. This module reads both from the broker's position.
Standard: `TransactionalMessageServiceImpl`.
"""

from __future__ import annotations

from collections.abc import Iterator

from mqgateway.engine.message import (
    PROPERTY_PRODUCER_GROUP,
    PROPERTY_REAL_TOPIC,
    PROPERTY_TRANSACTION_CHECK_TIMES,
    TRANS_HALF_TOPIC,
    TRANS_OP_HALF_TOPIC,
)
from mqgateway.gateway.client import admin_groups as groups
from mqgateway.gateway.client import admin_messages as messages
from mqgateway.gateway.client import admin_topics as topics
from mqgateway.gateway.codec.bodies import MessageQueue
from mqgateway.gateway.mqadmin.commands import reading
from mqgateway.gateway.mqadmin.declaration import CommandCall, CommandOption, NameKind, Row, command, operand
from mqgateway.gateway.resources import targets
from mqgateway.gateway.resources.existing import need_topic
from mqgateway.gateway.resources.rendering import listed, table

WALKER = "CID_RMQ_SYS_TRANS"
"""Group whose offsets are the broker's position."""
READ_MAX = 10_000
"""Maximum number of half messages, and of end marks, read from a broker."""


@command(
    "transaction list",
    operand("t", "topic", "limit to this topic", required=False, values=NameKind.TOPIC),
    targets.CLUSTER,
    text=table(
        "topic",
        "producerGroup",
        "bornAt",
        "checks",
        "brokerName",
        "offsetId",
        "msgId",
        nothing="no open transactions",
    ),
)
def list_open(call: CommandCall) -> Iterator[Row]:
    """Yield the half messages after each broker's position, without those that have ended since."""
    wanted = call.given.text("t")
    if wanted is not None:
        need_topic(call)
    for name, address in targets.brokers(call):
        with call.servers.part(address):
            found = [one for one in open_halves(call, name, address) if wanted in (None, one["topic"])]
            yield from sorted(found, key=lambda one: one["bornAt"])


def open_halves(call: CommandCall, broker: str, address: str) -> list[Row]:
    """Return the open half messages of a broker, at most `READ_MAX`. Raises `ClientError`."""
    half, op = (MessageQueue(topic, broker, 0) for topic in (TRANS_HALF_TOPIC, TRANS_OP_HALF_TOPIC))
    begin, op_begin = (
        max(0, call.servers.ask(groups.offset(WALKER, queue), address)) for queue in (half, op)
    )
    ended = {
        int(number)
        for row in _read(call, op, address, op_begin)
        for number in row["body"].split(",")
        if number.strip().isdecimal()
    }
    return [
        {
            "topic": row["properties"].get(PROPERTY_REAL_TOPIC),
            "producerGroup": row["properties"].get(PROPERTY_PRODUCER_GROUP),
            "bornAt": row["bornTimestamp"],
            "checks": int(row["properties"].get(PROPERTY_TRANSACTION_CHECK_TIMES, "0")),
            "brokerName": broker,
            "offsetId": row["offsetId"],
            "msgId": row["msgId"],
        }
        for row in _read(call, half, address, begin)
        if row["queueOffset"] not in ended
    ]


def _read(call: CommandCall, queue: MessageQueue, address: str, begin: int) -> Iterator[Row]:
    """Yield the messages of a system queue from offset `begin`, at most `READ_MAX`."""
    ends = call.servers.ask(topics.stats(queue.topic), address).offset_table
    end = max((one.max_offset for one in ends.values()), default=0)
    for _, rows in reading.pulled(call, queue, address, begin, min(end, begin + READ_MAX)):
        yield from rows


@command(
    "transaction resume",
    operand(
        "i", "offset-id", "message id from `transaction list` or from the topic TRANS_CHECK_MAX_TIME_TOPIC"
    ),
    CommandOption(
        "b", "brokerAddr", "broker of the message, as host:port", required=True, values=NameKind.ADDRESS
    ),
    text=listed,
)
def resume(call: CommandCall) -> Iterator[Row]:
    """Make a broker check a half message again. Standard: `RESUME_CHECK_HALF_MESSAGE`."""
    broker, offset_id = call.given.need("b"), call.given.need("i")
    call.servers.change(messages.ask_about_again(offset_id), broker)
    yield {"broker": broker, "offsetId": offset_id}
