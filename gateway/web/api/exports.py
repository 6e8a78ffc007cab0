"""Messages as files: what a search finds as lines of JSON or as CSV, and the body of one message."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from mqgateway.engine.message import StoredMessage
from mqgateway.engine.store.record import decode
from mqgateway.gateway.access.policies import Action
from mqgateway.gateway.broker.operations import Use
from mqgateway.gateway.web import messages as shown
from mqgateway.gateway.web.api.messages import CRITERIA, KEY_CRITERIA, criteria, find, indexed, may_read
from mqgateway.gateway.web.api.needs import of_topic
from mqgateway.gateway.web.call import WebCall
from mqgateway.gateway.web.console import Console
from mqgateway.gateway.web.downloads import Download
from mqgateway.gateway.web.route import Role, Route, RouteField
from mqgateway.gateway.web.scan import QueueSource, beginning, next_message

LIMIT_MAX = 10_000
BUDGET_MAX = 1_000_000
BODY_MAX = 1024**2
"""Bytes of a body in a line of JSON; `isWhole` is false for a larger one."""
CHUNK = 64 * 1024
COLUMNS = (
    *("id", "uniqueKey", "topic", "queueId", "queueOffset", "storeTimestamp"),
    *("tags", "keys", "bytes", "form", "preview"),
)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""First characters of a text that a spreadsheet takes as a formula."""

Write = Callable[[StoredMessage], bytes]


def found(console: Console, call: WebCall) -> Download:
    """Return the messages that a search finds; the search is that of `/messages`, with larger limits."""
    query, wanted = call.query, criteria(console, call)
    source = QueueSource(console.operations, console.permit(call, Use.QUERY))

    async def matching() -> AsyncIterator[StoredMessage]:
        breathe, count = console.turns(), 0
        queues = await beginning(source, wanted, query["cursor"])
        for _ in range(query["budget"]):
            message = await next_message(source, wanted, queues)
            if message is None or count == query["limit"]:
                return
            if wanted.fits(message):
                count += 1
                yield message
            await breathe()

    return _file(query["topic"], query["form"], matching())


def by_key(console: Console, call: WebCall) -> Download:
    """Return the messages with a key in the index, as `/messages/by-key` lists them."""

    async def matching() -> AsyncIterator[StoredMessage]:
        for record in (await indexed(console, call)).records:
            yield decode(record)

    return _file(call.query["topic"], call.query["form"], matching())


def body(console: Console, call: WebCall) -> Download:
    """Return the body of a message, decompressed or as it is stored."""

    async def chunks() -> AsyncIterator[bytes]:
        stored = await find(console, call, call.path["id"], may_read(console, call))
        content = stored.body if call.query["stored"] else shown.body_of(stored)
        for start in range(0, len(content), CHUNK):
            yield content[start : start + CHUNK]

    return Download(f"{call.path['id']}.bin", "application/octet-stream", chunks())


def _file(name: str, form: str, messages: AsyncIterator[StoredMessage]) -> Download:
    if form == "csv":
        return Download(
            f"{name}.csv", "text/csv; charset=utf-8", _chunks(messages, csv_row, csv_line(COLUMNS))
        )
    return Download(f"{name}.jsonl", "application/x-ndjson", _chunks(messages, json_line, b""))


async def _chunks(messages: AsyncIterator[StoredMessage], write: Write, head: bytes) -> AsyncIterator[bytes]:
    """Yield lines in chunks of some size, as each chunk costs a write to the connection."""
    chunk = bytearray(head)
    async for message in messages:
        chunk += write(message)
        if len(chunk) >= CHUNK:
            yield bytes(chunk)
            chunk.clear()
    if chunk:
        yield bytes(chunk)


def json_line(message: StoredMessage) -> bytes:
    """Return a message with its properties and its body as a line of JSON."""
    text = json.dumps(shown.whole(message, BODY_MAX), ensure_ascii=False, separators=(",", ":"))
    return text.encode(errors="replace") + b"\n"


def csv_row(message: StoredMessage) -> bytes:
    """Return a message as a line of CSV, as lists show it."""
    listed = shown.row(message)
    return csv_line([listed[name] for name in COLUMNS])


def csv_line(values: Any) -> bytes:
    """Return a line of CSV. An apostrophe before a text that would be a formula makes it text."""
    line = io.StringIO()
    csv.writer(line).writerow(
        [f"'{one}" if isinstance(one, str) and one.startswith(_FORMULA) else one for one in values]
    )
    return line.getvalue().encode(errors="replace")


_FORM = RouteField("form", str, "Form of the file.", "jsonl", choices=("jsonl", "csv"))

ROUTES = (
    Route(
        "GET",
        "/messages/export",
        Role.READER,
        "Download the messages that a search finds.",
        found,
        query=(
            *CRITERIA,
            RouteField(
                "limit", int, "Maximum number of messages to write.", LIMIT_MAX, least=1, most=LIMIT_MAX
            ),
            RouteField(
                "budget", int, "Maximum number of messages to read.", 100_000, least=1, most=BUDGET_MAX
            ),
            RouteField("cursor", str, "`start` or `cursor` of a response of `/messages`; empty for all.", ""),
            _FORM,
        ),
        needs=of_topic(Action.SUB),
        is_download=True,
    ),
    Route(
        "GET",
        "/messages/by-key/export",
        Role.READER,
        "Download messages with a key in the index, at most 64.",
        by_key,
        query=(*KEY_CRITERIA, _FORM),
        needs=of_topic(Action.SUB),
        is_download=True,
    ),
    Route(
        "GET",
        "/messages/{id}/body",
        Role.READER,
        "Download the body of a message.",
        body,
        query=(RouteField("stored", bool, "Return it as it is stored, without decompression.", False),),
        is_download=True,
    ),
)
