"""`mqgateway message get` and `find`; `tail` and `send` are commands of `gateway.cli`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from mqgateway.gateway.cli.plain import body_text, escaped
from mqgateway.gateway.client import admin_messages as messages
from mqgateway.gateway.client.errors import BrokerError, NoBroker
from mqgateway.gateway.codec.codes import ResponseCode
from mqgateway.gateway.mqadmin.commands import reading
from mqgateway.gateway.mqadmin.declaration import CommandCall, CommandOption, NameKind, Row, command, operand
from mqgateway.gateway.mqadmin.times import millis_of
from mqgateway.gateway.resources.rendering import listed

BODY_SHOWN = 60
"""Bytes of a body that a line of a table shows."""
TIME = "now, ms since the epoch or ISO 8601, as 2026-01-31T12:00:00"


def brief(row: Row) -> Row:
    """A message as a line of a table; the whole of it is what `--json` shows."""
    body = reading.body_of(row)
    place = f"{row['brokerName'] or '-'}:{row['queueId']}@{row['queueOffset']}"
    fields = {name: row[name] for name in ("msgId", "topic", "tags", "keys", "reconsumeTimes")}
    more = f" ... {len(body)} bytes" * (len(body) > BODY_SHOWN)
    return {
        **fields,
        "place": place,
        "storedAt": row["storeTimestamp"],
        "body": body_text(body[:BODY_SHOWN]) + more,
    }


def _text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    hidden = ("body", "bodyBase64")
    for row in rows:
        shown = {name: value for name, value in row.items() if name not in hidden}
        shown |= {"bornTimestamp": row["bornTimestamp"], "storeTimestamp": row["storeTimestamp"]}
        yield from listed(call, [shown])
        yield f"\n{escaped(row['body'])}\n"


@contextmanager
def _named(text: str) -> Iterator[None]:
    """Say in these words that nothing was found. Raises `NoBroker`."""
    try:
        yield
    except BrokerError as error:
        if error.code != ResponseCode.QUERY_NOT_FOUND:
            raise
        raise NoBroker(text) from None


@command(
    "message get",
    operand("t", "topic", "topic", values=NameKind.TOPIC),
    operand("i", "message-id", "message id: unique key or offset id"),
    text=_text,
)
def get(call: CommandCall) -> Iterator[Row]:
    """Exit code 3 where there is none."""
    topic, message_id = call.given.need("t"), call.given.need("i")
    with _named(f"there is no message {message_id} in the topic {topic}"):
        yield reading.message_row(reading.by_id(call, topic, message_id))


@command(
    "message find",
    operand("t", "topic", "topic", values=NameKind.TOPIC),
    operand("k", "key", "key"),
    CommandOption("", "since", f"first store time: {TIME}"),
    CommandOption("", "until", f"end of the store time, exclusive: {TIME}"),
    CommandOption("l", "limit", "maximum number of messages of each broker (default: 64)"),
    text=_text,
)
def find(call: CommandCall) -> Iterator[Row]:
    """Exit code 3 where there is none."""
    given, now = call.given, call.now()
    begin, end = given.text("since"), given.text("until")
    with _named(f"no message of the topic {given.need('t')} has the key {given.need('k')}"):
        found = reading.by_key(
            call,
            given.need("t"),
            given.need("k"),
            most=given.number("l", 64),
            begin=0 if begin is None else millis_of(begin, now),
            end=messages.FOREVER if end is None else millis_of(end, now),
        )
    yield from map(reading.message_row, found)
