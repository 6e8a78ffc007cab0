"""State of POP: messages in flight, requests that wait, and the progress of revival."""

from __future__ import annotations

from typing import Any

from mqgateway.engine.pop import OrderKey
from mqgateway.gateway.access.policies import Action
from mqgateway.gateway.broker.operations import ANY_QUEUE, Operations
from mqgateway.gateway.web.api.needs import of_cluster
from mqgateway.gateway.web.call import WebCall
from mqgateway.gateway.web.console import Console
from mqgateway.gateway.web.lists import PAGE_FIELDS, Row, has, page_of
from mqgateway.gateway.web.route import Role, Route, RouteField

ROWS_A_LOOK = 256


def pops(console: Console, call: WebCall) -> dict[str, Any]:
    """Counts of what waits and is out, and the revive queues. Times in ms."""
    figures = console.operations.pop.figures()
    return {
        "isRevived": figures.is_revived,
        "waitingPops": figures.waiting_pops,
        "waitingNotifications": figures.waiting_notifications,
        "queuesWithMessagesOut": figures.queues_in_flight,
        "queuesInOrder": figures.queues_in_order,
        "revive": [
            {"queueId": one.queue_id, "checkPoints": one.checkpoints, "behind": one.lag, "age": one.age}
            for one in console.operations.pop.revival()
        ],
    }


async def held(console: Console, call: WebCall) -> dict[str, Any]:
    """A page of queues as groups pop them; `queueId` is -1 for pops that wait for any queue."""
    operations, query, breathe = console.operations, call.query, console.turns()
    out, waiting = operations.pop.in_flight(), operations.pop.waiting_pops()
    counts = {"out": out, "waiting": waiting}.get(query["sort"])
    rows: list[Row] = []
    found: dict[str, OrderKey] = {}
    for number, key in enumerate({**out, **waiting}):
        if not number % ROWS_A_LOOK:
            await breathe()
        name = f"{key.group} {key.topic} {key.queue_id:05}"
        if has(name, query["search"]):
            found[name] = key
            rows.append((name if counts is None else counts.get(key, 0), name))
    page = page_of(rows, query["limit"], query["cursor"], descending=query["descending"])
    return {
        "rows": [
            _held(operations, found[name], out.get(found[name], 0), waiting.get(found[name], 0))
            for name in page.names
        ],
        "total": page.total,
        "cursor": page.cursor,
    }


def _held(operations: Operations, key: OrderKey, out: int, waiting: int) -> dict[str, Any]:
    topic, group, queue_id = key
    progress = None
    if queue_id != ANY_QUEUE:
        [progress] = operations.offsets.progress(group, topic, [queue_id])
    return {
        "group": group,
        "topic": topic,
        "queueId": queue_id,
        "out": out,
        "waiting": waiting,
        "offset": None if progress is None else progress.offset,
        "maxOffset": None if progress is None else progress.range.end,
    }


_SHOWN = of_cluster(Action.GET)

ROUTES = (
    Route("GET", "/pops", Role.VIEWER, "Show POP messages in flight.", pops, needs=_SHOWN),
    Route(
        "GET",
        "/pops/held",
        Role.VIEWER,
        "List queues with popped messages or waiting pop requests.",
        held,
        query=(
            *PAGE_FIELDS,
            RouteField("sort", str, "Sort key.", "name", choices=("name", "out", "waiting")),
        ),
        needs=_SHOWN,
    ),
)
