"""What clients say of a message that they traced. Standard: `QueryMsgTraceByIdSubCommand`, `TraceView`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from mqgateway.engine.message import TRACE_TOPIC
from mqgateway.gateway.client import admin_messages as messages
from mqgateway.gateway.client.message import ReceivedMessage
from mqgateway.gateway.mqadmin.commands import reading
from mqgateway.gateway.mqadmin.declaration import Call, Known, Option, Row, command
from mqgateway.gateway.mqadmin.rendering import second, shown

_RECORD_END, _FIELD_END = "\x02", "\x01"
_LINE = "{type:<10} {group:<20} {clientHost:<20} {time:<20} {cost:<10} {status:<10}\n"
_TITLES = {
    "Pub": ("#Type", "#ProducerGroup", "#ClientHost", "#SendTime", "#CostTimes", "#Status"),
    "Sub": ("#Type", "#ConsumerGroup", "#ClientHost", "#ConsumerTime", "#CostTimes", "#Status"),
}
_WIDTHS = "{:<10} {:<20} {:<20} {:<20} {:<10} {:<10}\n"


def records(message: ReceivedMessage, message_id: str) -> Iterator[dict[str, Any]]:
    """The records of a trace message that are about a message; those of another form are left out.

    Standard: `TraceDataEncoder.decoderFromTraceDataString`.
    """
    for text in message.body.decode("utf-8", "replace").split(_RECORD_END):
        told = text.split(_FIELD_END)
        row: dict[str, Any] = {"clientHost": message.born_host.rpartition(":")[0]}
        try:
            if told[0] == "Pub" and told[5] == message_id:
                is_good = told[12] if len(told) == 13 else told[13]
                row |= {"type": "Pub", "group": told[3], "timestamp": int(told[1]), "millis": int(told[10])}
                yield row | {"topic": told[4], "status": _status(is_good)}
            elif told[0] == "SubAfter" and told[2] == message_id:
                timestamp = int(told[7]) if len(told) > 7 else 0
                group = told[8] if len(told) > 8 else ""
                row |= {"type": "Sub", "group": group, "timestamp": timestamp, "millis": int(told[3])}
                yield row | {"topic": "", "status": _status(told[4])}
        except (IndexError, ValueError):
            continue


def _status(is_good: str) -> str:
    return "success" if is_good == "true" else "failed"


def _text(call: Call, rows: Iterable[Row]) -> Iterator[str]:
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
    Option("b", "beginTimestamp", "stored at or after this time, in ms since the epoch"),
    Option("c", "maxNum", "how many trace messages at most of each broker, 64 unless given"),
    Option("e", "endTimestamp", "stored at or before this time, in ms since the epoch"),
    Option("i", "msgId", "the id of the message", required=True),
    Option("t", "traceTopic", f"the topic of traces, {TRACE_TOPIC} unless given", values=Known.TOPIC),
    text=_text,
)
def trace(call: Call) -> Iterator[Row]:
    """Standard: `QueryMsgTraceByIdSubCommand`. Times are ms since the epoch."""
    given = call.given
    message_id = given.need("i")
    chosen: dict[str, Any] = {
        "most": given.number("c", 64),
        "begin": given.number("b", 0),
        "end": given.number("e", messages.FOREVER),
    }
    for message in reading.by_key(call, given.text("t") or TRACE_TOPIC, message_id, **chosen):
        yield from records(message, message_id)
