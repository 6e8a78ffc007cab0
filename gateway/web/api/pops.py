"""What POP has under way: messages that are out, pops that wait, and how far revival is."""

from __future__ import annotations

from typing import Any

from mqgateway.engine.pop.names import REVIVE_GROUP
from mqgateway.gateway.access.policies import Action
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.operations import ANY_QUEUE
from mqgateway.gateway.web.api.needs import of_cluster
from mqgateway.gateway.web.call import Call
from mqgateway.gateway.web.console import Console
from mqgateway.gateway.web.lists import PAGE_FIELDS, Row, has, page_of
from mqgateway.gateway.web.route import Field, Role, Route

ROWS_A_LOOK = 256


def pops(console: Console, call: Call) -> dict[str, Any]:
    """Counts of what waits and is out, and the revive queues. Times in ms."""
    broker = console.broker
    return {
        "isRevived": broker.timers.is_enabled,
        "waitingPops": len(broker.pop.parked),
        "waitingNotifications": len(broker.pop.parked_notifications),
        "queuesWithMessagesOut": len(broker.pop.log.in_flight),
        "queuesInOrder": len(broker.pop.orders),
        "revive": _revive(broker, broker.store.steady.now()),
    }


def _revive(broker: Broker, now: int) -> list[dict[str, Any]]:
    """Revive queues: what is not done with, how old the first of it is, and check points not due yet."""
    topic, store = broker.pop.log.topic, broker.store
    queues = []
    for queue_id, points in enumerate(broker.pop.log.open_points):
        done = broker.tables.offsets.query(REVIVE_GROUP, topic, queue_id)
        behind = max(0, store.max_offset(topic, queue_id) - 1 - done)
        first = store.store_time(topic, queue_id, done + 1) if behind else -1
        age = 0 if first < 0 else max(0, now - first)
        queues.append({"queueId": queue_id, "checkPoints": points, "behind": behind, "age": age})
    return queues


async def held(console: Console, call: Call) -> dict[str, Any]:
    """A page of queues as groups pop them; `queueId` is -1 for pops that wait for any queue."""
    broker, query, breathe = console.broker, call.query, console.turns()
    out = dict(broker.pop.log.in_flight.items())
    waiting = {(key.topic, key.group, key.queue_id): count for key, count in broker.pop.parked.counts()}
    counts = {"out": out, "waiting": waiting}.get(query["sort"])
    rows: list[Row] = []
    found: dict[str, tuple[str, str, int]] = {}
    for number, key in enumerate({**out, **waiting}):
        if not number % ROWS_A_LOOK:
            await breathe()
        name = f"{key[1]} {key[0]} {key[2]:05}"
        if has(name, query["search"]):
            found[name] = key
            rows.append((name if counts is None else counts.get(key, 0), name))
    page = page_of(rows, query["limit"], query["cursor"], descending=query["descending"])
    return {
        "rows": [
            _held(broker, found[name], out.get(found[name], 0), waiting.get(found[name], 0))
            for name in page.names
        ],
        "total": page.total,
        "cursor": page.cursor,
    }


def _held(broker: Broker, key: tuple[str, str, int], out: int, waiting: int) -> dict[str, Any]:
    topic, group, queue_id = key
    is_any = queue_id == ANY_QUEUE
    return {
        "group": group,
        "topic": topic,
        "queueId": queue_id,
        "out": out,
        "waiting": waiting,
        "offset": None if is_any else broker.tables.offsets.query(group, topic, queue_id),
        "maxOffset": None if is_any else broker.store.max_offset(topic, queue_id),
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
            Field("sort", str, "Sort key.", "name", choices=("name", "out", "waiting")),
        ),
        needs=_SHOWN,
    ),
)
