"""Dead letters: which groups have some; sent again to their topic or to the group; what became of each."""

from __future__ import annotations

from typing import Any

from mqgateway.engine.message import DLQ_PREFIX, RETRY_PREFIX, StoredMessage
from mqgateway.gateway.access.needs import Need
from mqgateway.gateway.access.policies import Action
from mqgateway.gateway.access.policies import topic as topic_resource
from mqgateway.gateway.broker.operations import OperationError
from mqgateway.gateway.remedies.replays import ReplayRefused, check_target, origin_of
from mqgateway.gateway.web.api.messages import find
from mqgateway.gateway.web.api.needs import of_cluster, of_group
from mqgateway.gateway.web.api.resends import copy_of
from mqgateway.gateway.web.api.topics import put
from mqgateway.gateway.web.call import WebCall
from mqgateway.gateway.web.console import Console
from mqgateway.gateway.web.lists import PAGE_FIELDS, Row, has, page_of
from mqgateway.gateway.web.route import ApiError, Role, Route, RouteField

REPLAY_MAX = 100
TO_TOPIC, TO_GROUP = "topic", "group"


def dead_letters(console: Console, call: WebCall) -> dict[str, Any]:
    """The groups that have dead letters, with their number and the time of the newest."""
    offsets, query = console.operations.offsets, call.query
    counts = {}
    for name in console.operations.topics.names():
        if name.startswith(DLQ_PREFIX) and has(name, query["search"]):
            count = offsets.range(name, 0).message_count
            if count:
                counts[name] = count
    rows: list[Row] = [(name if query["sort"] == "name" else count, name) for name, count in counts.items()]
    page = page_of(rows, query["limit"], query["cursor"], descending=query["descending"])
    return {
        "rows": [
            {
                "group": name.removeprefix(DLQ_PREFIX),
                "topic": name,
                "messages": counts[name],
                "lastTimestamp": offsets.store_time(name, 0, offsets.range(name, 0).end - 1),
            }
            for name in page.names
        ],
        "total": page.total,
        "cursor": page.cursor,
    }


async def replay(console: Console, call: WebCall) -> dict[str, Any]:
    """Send dead letters again: to their topic, for all its groups, or to their group alone.

    Each is stored as a new message, which has the old one's id as a property; the dead letter stays.
    """
    group, ids = call.path["group"], call.body["ids"]
    if call.body["to"] == TO_GROUP:
        try:
            check_target(RETRY_PREFIX + group, group, console.operations.clients.consumes_in_order)
        except ReplayRefused as error:
            raise ApiError(409, str(error)) from None
    if not 0 < len(ids) <= REPLAY_MAX:
        raise ApiError(400, f"ids must be 1 to {REPLAY_MAX} ids of messages")
    breathe, results = console.turns(), []
    for message_id in ids:
        await breathe()
        try:
            # The caller may read what is given up by the group: another message is refused below.
            stored = await find(console, call, str(message_id), None)
            if stored.topic != DLQ_PREFIX + group:
                raise ApiError(400, f"it is not a dead letter of {group}")
            target = _target(stored, group, call.body["to"])
            if target.startswith(DLQ_PREFIX) or target not in console.operations.topics:
                raise ApiError(404, f"there is no topic {target} to send it to")
            _check_may_send(console, call, target)
            outcome = await put(console, call, copy_of(stored, target, call.now))
        except (ApiError, OperationError) as error:
            results.append({"id": message_id, "error": error.message})
        else:
            results.append({"id": message_id, "newId": outcome.message_id, "topic": target})
    call.after = {"replayed": sum("newId" in result for result in results), "of": len(ids)}
    return {"results": results}


def _check_may_send(console: Console, call: WebCall, target: str) -> None:
    console.entrance.check_needs(call.caller, [Need(topic_resource(target), (Action.PUB, Action.SUB))])


def _target(stored: StoredMessage, group: str, to: str) -> str:
    if to == TO_GROUP:
        return RETRY_PREFIX + group
    return origin_of(stored.properties) or ""


ROUTES = (
    Route(
        "GET",
        "/dead-letters",
        Role.VIEWER,
        "List consumer groups with dead letters.",
        dead_letters,
        query=(*PAGE_FIELDS, RouteField("sort", str, "Sort key.", "name", choices=("name", "messages"))),
        needs=of_cluster(Action.GET),
    ),
    Route(
        "POST",
        "/dead-letters/{group}/replay",
        Role.OPERATOR,
        "Send dead letters again.",
        replay,
        body=(
            RouteField("ids", list, f"Message ids, at most {REPLAY_MAX}."),
            RouteField(
                "to",
                str,
                "Target: the original topic, or only this group.",
                TO_TOPIC,
                choices=(TO_TOPIC, TO_GROUP),
            ),
        ),
        needs=of_group(Action.SUB),
    ),
)
