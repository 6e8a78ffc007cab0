"""Rows of the sink as messages; pure.

| column      | type                        | meaning                                                     |
|-------------|-----------------------------|-------------------------------------------------------------|
| body        | string, binary              | the body; required, not null                                |
| topic       | string                      | the target; the option `topic` overrides it                 |
| tags        | string                      | the tag                                                     |
| keys        | string, array<string>       | keys; those in a string are separated by blanks             |
| properties  | map<string,string>, string  | more properties; a string is a JSON object                  |
| flag        | int, bigint                 | a number for the application's use                          |
| delayLevel  | int, bigint                 | level of delay, 1 to 18                                     |
| delayMillis | int, bigint                 | delay in ms                                                 |
| deliverAt   | timestamp, bigint           | time of delivery; a number is ms since the epoch            |
| shardingKey | string                      | key of messages that consumers get in order                 |

Other columns are ignored, and so are properties that brokers and clients set themselves: rows from the source
can be written as they are. The stock connector knows body, topic and tags.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from mqgateway.engine.message import (
    PROPERTY_CLUSTER,
    PROPERTY_CRC32,
    PROPERTY_DELAY_TIME_LEVEL,
    PROPERTY_KEYS,
    PROPERTY_MAX_OFFSET,
    PROPERTY_MIN_OFFSET,
    PROPERTY_MSG_REGION,
    PROPERTY_REAL_QUEUE_ID,
    PROPERTY_REAL_TOPIC,
    PROPERTY_TAGS,
    PROPERTY_TIMER_DELAY_MS,
    PROPERTY_TIMER_DELAY_SEC,
    PROPERTY_TIMER_DELIVER_MS,
    PROPERTY_TIMER_DEQUEUE_MS,
    PROPERTY_TIMER_ENQUEUE_MS,
    PROPERTY_TIMER_OUT_MS,
    PROPERTY_TIMER_ROLL_TIMES,
    PROPERTY_TRACE_SWITCH,
    PROPERTY_TRANSACTION_ID,
    PROPERTY_TRANSACTION_PREPARED,
    PROPERTY_UNIQ_KEY,
    PROPERTY_WAIT_STORE_MSG_OK,
)
from mqgateway.gateway.client.errors import ClientError
from mqgateway.gateway.client.message import Message
from mqgateway.pipeline.errors import BadOption, SinkError
from mqgateway.pipeline.options import SinkOptions

SPARK_ID = "SPARK_ID"
"""Property that identifies repeats: key, batch, partition, number of the row."""
SPARK_TRANSACTION = "SPARK_TRANSACTION"
"""Property of messages sent in a transaction: query and batch."""

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "body": ("string", "binary"),
    "topic": ("string",),
    "tags": ("string",),
    "keys": ("string", "array<string>"),
    "properties": ("map<string,string>", "string"),
    "flag": ("int", "bigint"),
    "delayLevel": ("int", "bigint"),
    "delayMillis": ("int", "bigint"),
    "deliverAt": ("timestamp", "bigint"),
    "shardingKey": ("string",),
}
"""Columns that the sink uses, and the types they may have."""

_MADE_BY_OTHERS = frozenset(
    {
        PROPERTY_CLUSTER,
        PROPERTY_CRC32,
        PROPERTY_DELAY_TIME_LEVEL,
        PROPERTY_MAX_OFFSET,
        PROPERTY_MIN_OFFSET,
        PROPERTY_MSG_REGION,
        PROPERTY_REAL_QUEUE_ID,
        PROPERTY_REAL_TOPIC,
        PROPERTY_TIMER_DELAY_MS,
        PROPERTY_TIMER_DELAY_SEC,
        PROPERTY_TIMER_DELIVER_MS,
        PROPERTY_TIMER_DEQUEUE_MS,
        PROPERTY_TIMER_ENQUEUE_MS,
        PROPERTY_TIMER_OUT_MS,
        PROPERTY_TIMER_ROLL_TIMES,
        PROPERTY_TRACE_SWITCH,
        PROPERTY_TRANSACTION_ID,
        PROPERTY_TRANSACTION_PREPARED,
        PROPERTY_UNIQ_KEY,
        PROPERTY_WAIT_STORE_MSG_OK,
        SPARK_ID,
        SPARK_TRANSACTION,
    }
)


def check_columns(types: Mapping[str, str], options: SinkOptions) -> None:
    """Check columns, given by name with their type in Spark's DDL. Raises `BadOption` for unsendable ones."""
    if "body" not in types:
        raise BadOption(
            "columns", ", ".join(types), "there is no column body", "call the column of the payload body"
        )
    for name, allowed in COLUMNS.items():
        if name in types and types[name] not in allowed:
            raise BadOption(
                "columns", name, f"is of type {types[name]}", f"cast it to {' or '.join(allowed)}"
            )
    if not options.topic and "topic" not in types:
        raise BadOption("topic", "", "is needed", "name a topic, or have a column topic")
    for option, name in (("orderColumn", options.order_column), ("paceColumn", options.pace_column)):
        if name and name not in types:
            raise BadOption(option, name, "is not a column", f"there are {', '.join(types)}")


def check_transactional(types: Mapping[str, str], options: SinkOptions, folder: str) -> None:
    """Check that rows can be sent in a transaction, and that there is a `folder` for it. Raises
    `BadOption`."""
    delays = [name for name in ("delayLevel", "delayMillis", "deliverAt") if name in types]
    if delays:
        right = "drop the column, or write without transactional"
        raise BadOption("transactional", "true", f"half messages have no {delays[0]}", right)
    if options.pace_column:
        right = "leave it out, or write without transactional"
        raise BadOption("paceColumn", options.pace_column, "rows are seen when the batch is committed", right)
    if not folder:
        right = "name a folder that the driver finds again when it is restarted"
        raise BadOption("transactionLog", "", "is needed for transactional", right)


def as_message(row: Mapping[str, Any], topic: str) -> Message:
    """Return a row as a message; `topic` overrides the row's. Raises `SinkError` for an unsendable row."""
    body = row["body"]
    target = topic or row.get("topic")
    if not target:
        raise SinkError("a row without a topic")
    if not body:
        raise SinkError(f"a row for {target} without a body: no broker takes an empty message")
    properties = _properties(row.get("properties"), target)
    try:
        return Message(
            target,
            body,
            tags=row.get("tags") or properties.pop(PROPERTY_TAGS, None),
            keys=row.get("keys") or properties.pop(PROPERTY_KEYS, None),
            properties=properties,
            flag=row.get("flag") or 0,
            delay_level=row.get("delayLevel") or 0,
            delay_millis=row.get("delayMillis") or 0,
            deliver_at=as_millis(row.get("deliverAt")),
            sharding_key=row.get("shardingKey"),
        )
    except ClientError as error:
        raise SinkError(f"a row for {target} cannot be sent: {error}") from None


def goes_alone(message: Message) -> bool:
    """Return True if a message cannot be in a batch: it has a delay."""
    properties = message.properties
    return any(
        name in properties
        for name in (PROPERTY_DELAY_TIME_LEVEL, PROPERTY_TIMER_DELAY_MS, PROPERTY_TIMER_DELIVER_MS)
    )


def _properties(given: Any, topic: str) -> dict[str, str]:
    if not given:
        return {}
    pairs: Iterable[tuple[str, Any]]
    if isinstance(given, str):
        try:
            parsed = json.loads(given)
        except ValueError as error:
            raise SinkError(f"properties of a row for {topic} are not JSON: {error}") from None
        if not isinstance(parsed, dict):
            raise SinkError(f"properties of a row for {topic} are not a JSON object")
        pairs = parsed.items()
    else:
        pairs = given.items() if isinstance(given, dict) else given
    found = {}
    for name, value in pairs:
        if name in _MADE_BY_OTHERS or value is None or value == "":
            continue
        found[name] = value if isinstance(value, str) else json.dumps(value)
    return found


def as_millis(value: Any) -> int:
    """Return a time as ms since the epoch; without a zone it is UTC, None is 0."""
    if value is None:
        return 0
    if isinstance(value, datetime):
        return int((value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp() * 1000)
    return int(value)
