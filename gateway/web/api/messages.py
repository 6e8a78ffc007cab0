"""Messages: looked for in a topic within a budget, by key, by id; one of them shown whole."""

from __future__ import annotations

from typing import Any

from mqgateway.engine.filters.tokens import ExpressionError
from mqgateway.engine.message import (
    PROPERTY_UNIQ_KEY,
    StoredMessage,
    format_host,
    parse_offset_message_id,
)
from mqgateway.engine.store.record import decode
from mqgateway.engine.store.results import QueryResult
from mqgateway.gateway.access.needs import Need
from mqgateway.gateway.access.policies import Action
from mqgateway.gateway.access.policies import topic as topic_resource
from mqgateway.gateway.access.resources import needs_of_record
from mqgateway.gateway.broker.operations import MayUse, Use
from mqgateway.gateway.codec.traces import trace_records
from mqgateway.gateway.web import messages as shown
from mqgateway.gateway.web.api.needs import of_topic
from mqgateway.gateway.web.call import WebCall
from mqgateway.gateway.web.console import Console
from mqgateway.gateway.web.route import ApiError, Role, Route, RouteField
from mqgateway.gateway.web.scan import QueueSource, SearchCriteria, scan, settled
from mqgateway.gateway.web.search_expressions import SearchExpression, compile_search
from mqgateway.gateway.web.timeline import HostRecord, timeline

KEY_MAX = 64
BUDGET_MAX = 100_000


async def search(console: Console, call: WebCall) -> dict[str, Any]:
    """Messages of a topic that fit; `scanned` were read, `left` are still to be read from `cursor` on."""
    query = call.query
    found = await scan(
        QueueSource(console.operations, console.permit(call, Use.QUERY)),
        criteria(console, call),
        limit=query["limit"],
        budget=query["budget"],
        cursor=query["cursor"],
        breathe=console.turns(),
    )
    rows = [shown.row(message) for message in found.messages]
    return {
        "rows": rows,
        "scanned": found.scanned,
        "left": found.left,
        "start": found.start,
        "cursor": found.cursor,
    }


def criteria(console: Console, call: WebCall) -> SearchCriteria:
    """Return the criteria of a search. Raises `ApiError`."""
    query = call.query
    if query["topic"] not in console.operations.topics:
        raise ApiError(404, f"there is no topic {query['topic']} on this broker")
    return SearchCriteria(
        query["topic"],
        queue_id=query["queueId"],
        begin=query["begin"],
        end=query["end"],
        tag=query["tag"],
        key=query["key"],
        property=query["property"],
        text=query["text"],
        expression=_compiled(query["expression"]),
        newest_first=query["order"] == "newest",
    )


def _compiled(text: str) -> SearchExpression | None:
    """Compile the expression of a search, None for an empty one. Raises `ApiError`."""
    try:
        return compile_search(text) if text.strip() else None
    except ExpressionError as error:
        raise ApiError(400, f"expression, character {error.position + 1}: {error.reason}") from None


async def by_key(console: Console, call: WebCall) -> dict[str, Any]:
    """Return messages with a key, or with the unique key that clients call the message's id, by the index."""
    found = (await indexed(console, call)).records
    return {"rows": [shown.row(decode(record)) for record in found], "isAll": len(found) < KEY_MAX}


async def indexed(console: Console, call: WebCall) -> QueryResult:
    """Return the messages of a topic with a key in the index, at most `KEY_MAX`."""
    return await _by_key(console, call, call.query["topic"], call.query["key"])


async def message(console: Console, call: WebCall) -> dict[str, Any]:
    """One message, by the id that the broker gave it, and which groups are past it."""
    stored = await find(console, call, call.path["id"], may_read(console, call))
    offsets = console.operations.offsets
    groups = sorted(offsets.groups_of(stored.topic))
    return {
        **shown.whole(stored),
        "groups": [
            {
                "group": group,
                "isPast": (offsets.recorded(group, stored.topic, stored.queue_id) or 0) > stored.queue_offset,
            }
            for group in groups
        ],
    }


async def trace(console: Console, call: WebCall) -> dict[str, Any]:
    """Show the trace records of a message; times are in ms since the epoch."""
    stored = await find(console, call, call.path["id"], may_read(console, call))
    topic = console.operations.options.msg_trace_topic_name
    console.entrance.check_needs(call.caller, [Need(topic_resource(topic), (Action.SUB,))])
    key = stored.properties.get(PROPERTY_UNIQ_KEY, "")
    records: list[HostRecord] = []
    result = await _by_key(console, call, topic, key) if key else None
    for record in () if result is None else result.records:
        message = decode(record)
        records += [
            HostRecord(format_host(message.born_host).rpartition(":")[0], one)
            for one in trace_records(shown.body_of(message))
            if one.message_id == key
        ]
    return {
        "stored": stored.store_timestamp,
        "storeHost": format_host(stored.store_host),
        "isAll": result is None or len(result.records) < KEY_MAX,
        **timeline(records),
    }


async def _by_key(console: Console, call: WebCall, topic: str, key: str) -> QueryResult:
    permit = console.permit(call, Use.QUERY)
    found: QueryResult = await settled(console.operations.queries.by_key(permit, topic, key, KEY_MAX))
    return found


def may_read(console: Console, call: WebCall) -> MayUse:
    """Return what decides whether the caller may read messages of a topic."""

    def may_use(topic: str) -> bool:
        try:
            console.entrance.check_needs(call.caller, needs_of_record(topic, (Action.SUB,), ""))
        except ApiError:
            return False
        return True

    return may_use


async def find(console: Console, call: WebCall, message_id: str, may_use: MayUse | None) -> StoredMessage:
    """Return the message with an id of ours. Raises `ApiError`, and `OperationError` for a refusal."""
    try:
        offset = parse_offset_message_id(message_id)[2]
    except ValueError:
        raise ApiError(400, f"{message_id} is not an offset id; search for it by key in its topic") from None
    record = await settled(
        console.operations.queries.by_position(console.permit(call, Use.QUERY), offset, may_use)
    )
    stored = decode(record)
    if stored.message_id != message_id.upper():
        raise ApiError(404, f"there is no message {message_id} on this broker")
    return stored


CRITERIA = (
    RouteField("topic", str, "Topic name."),
    RouteField("queueId", int, "Queue id; -1 for all queues.", -1, least=-1),
    RouteField("begin", int, "Earliest store time, in ms since the epoch; 0 for any.", 0, least=0),
    RouteField("end", int, "Latest store time, in ms since the epoch; 0 for any.", 0, least=0),
    RouteField("tag", str, "Tag of the messages.", ""),
    RouteField("key", str, "Key of the messages.", ""),
    RouteField("property", str, "Property of the messages: name or name=value.", ""),
    RouteField("text", str, "Text in the message body.", ""),
    RouteField("expression", str, "SQL92 expression over properties, `BODY` and paths into JSON.", ""),
    RouteField("order", str, "Order of the result.", "newest", choices=("newest", "oldest")),
)
KEY_CRITERIA = (RouteField("topic", str, "Topic name."), RouteField("key", str, "Key or unique key."))

ROUTES = (
    Route(
        "GET",
        "/messages",
        Role.READER,
        "Search a topic; reads at most `budget` messages.",
        search,
        query=(
            *CRITERIA,
            RouteField("limit", int, "Maximum number of messages to return.", 50, least=1, most=500),
            RouteField("budget", int, "Maximum number of messages to read.", 2000, least=1, most=BUDGET_MAX),
            RouteField("cursor", str, "`cursor` of the previous response, to continue the search.", ""),
        ),
        needs=of_topic(Action.SUB),
    ),
    Route(
        "GET",
        "/messages/by-key",
        Role.READER,
        "Query messages by key in the index; returns at most 64.",
        by_key,
        query=KEY_CRITERIA,
        needs=of_topic(Action.SUB),
    ),
    Route("GET", "/messages/{id}", Role.READER, "Show a message with its body.", message),
    Route(
        "GET", "/messages/{id}/trace", Role.READER, "Show the producers and consumers of a message.", trace
    ),
)
