"""Trace of a message, as its clients recorded it. RocketMQ: `QueryMsgTraceByIdSubCommand`, `TraceView`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from mqgateway.engine.message import TRACE_TOPIC
from mqgateway.gateway.client import admin_messages as messages
from mqgateway.gateway.client.message import ReceivedMessage
from mqgateway.gateway.codec.traces import trace_records
from mqgateway.gateway.mqadmin.commands import reading
from mqgateway.gateway.mqadmin.declaration import CommandCall, CommandOption, NameKind, Row, command
from mqgateway.gateway.mqadmin.rendering import second, shown

_TYPES = {"Pub": "Pub", "SubAfter": "Sub"}
_LINE = "{type:<10} {group:<20} {clientHost:<20} {time:<20} {cost:<10} {status:<10}\n"
_TITLES = {
    "Pub": ("#Type", "#ProducerGroup", "#ClientHost", "#SendTime", "#CostTimes", "#Status"),
    "Sub": ("#Type", "#ConsumerGroup", "#ClientHost", "#ConsumerTime", "#CostTimes", "#Status"),
}
_WIDTHS = "{:<10} {:<20} {:<20} {:<20} {:<10} {:<10}\n"


def records(message: ReceivedMessage, message_id: str) -> Iterator[dict[str, Any]]:
    """Yield the records of a trace message about the sending and consumption of a message."""
    for traced in trace_records(message.body):
        if traced.message_id != message_id or traced.kind not in _TYPES:
            continue
        yield {
            "clientHost": message.born_host.rpartition(":")[0],
            "type": _TYPES[traced.kind],
            "group": traced.group,
            "timestamp": traced.time,
            "millis": traced.took,
            "topic": traced.topic,
            "status": "success" if traced.is_good else "failed",
        }


def _text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    found = list(rows)
    for row in [row for row in found if row["type"] == "Pub"]:
        yield from _table([row])
    read = sorted((row for row in found if row["type"] == "Sub"), key=lambda row: str(row["group"]))
    for _, group in groupby(read, key=lambda row: row["group"]):
        yield from _table(list(group))


def _table(rows: list[Row]) -> Iterator[str]:
    yield _WIDTHS.format(*_TITLES[rows[0]["type"]])
    for row in rows:
        yield shown(_LINE, {**row, "time": second(row["timestamp"]), "cost": f"{row['millis']}ms"})
    yield "\n"


@command(
    "queryMsgTraceById",
    CommandOption("b", "beginTimestamp", "first store time, in ms since the epoch"),
    CommandOption("c", "maxNum", "maximum number of trace messages of each broker (default: 64)"),
    CommandOption("e", "endTimestamp", "last store time, in ms since the epoch"),
    CommandOption("i", "msgId", "message id", required=True),
    CommandOption("t", "traceTopic", f"trace topic (default: {TRACE_TOPIC})", values=NameKind.TOPIC),
    text=_text,
)
def trace(call: CommandCall) -> Iterator[Row]:
    """RocketMQ: `QueryMsgTraceByIdSubCommand`. Times are ms since the epoch."""
    given = call.given
    message_id = given.need("i")
    chosen: dict[str, Any] = {
        "most": given.number("c", 64),
        "begin": given.number("b", 0),
        "end": given.number("e", messages.FOREVER),
    }
    for message in reading.by_key(call, given.text("t") or TRACE_TOPIC, message_id, **chosen):
        yield from records(message, message_id)
