"""The broker at a glance: what it is, how it is, what goes through it now and went in the last 24 hours."""

from __future__ import annotations

from heapq import nlargest
from typing import Any

from mqgateway.engine.message import DLQ_PREFIX, is_lmq
from mqgateway.gateway.access.policies import Action
from mqgateway.gateway.broker.stats import TOPIC_PUT_NUMS
from mqgateway.gateway.metrics.health import broker_health, name_server_health
from mqgateway.gateway.web.api.behind import behind
from mqgateway.gateway.web.api.needs import of_cluster
from mqgateway.gateway.web.call import Call
from mqgateway.gateway.web.console import Console
from mqgateway.gateway.web.route import Field, Role, Route
from mqgateway.gateway.web.streams import Events, Source

TOP = 10
LIVE_SECONDS = 2.0
ROWS_A_LOOK = 64


async def overview(console: Console, call: Call) -> dict[str, Any]:
    """Who the broker is and how it is, the busiest topics, the groups that are furthest behind, warnings."""
    broker, breathe = console.broker, console.turns()
    options = broker.options
    capacity, free = broker.environment.disk.capacity(broker.store_options.store_path_root_dir)
    lagging: dict[str, int] = {}
    dead_letters = 0
    for number, (topic, group) in enumerate(broker.tables.offsets.pairs()):
        if not number % ROWS_A_LOOK:
            await breathe()
        if group in broker.tables.groups and topic in broker.tables.topics and not is_lmq(topic):
            lagging[group] = lagging.get(group, 0) + behind(broker, topic, group)
    for name in broker.tables.topics.names():
        if name.startswith(DLQ_PREFIX):
            dead_letters += broker.store.max_offset(name, 0) - broker.store.min_offset(name, 0)
    rates: list[tuple[float, str]] = []
    for number, (topic, count) in enumerate(list(broker.stats.table(TOPIC_PUT_NUMS).items())):
        if not number % ROWS_A_LOOK:
            await breathe()
        rate = count.minute.rate().tps
        if rate:
            rates.append((rate, topic))
    busiest = nlargest(TOP, rates)
    furthest = nlargest(TOP, ((lag, group) for group, lag in lagging.items() if lag))
    return {
        "name": options.broker_name,
        "cluster": options.broker_cluster_name,
        "address": broker.environment.address,
        "role": broker.role.state.kind.value,
        "brokerId": broker.role.state.broker_id,
        "started": console.started,
        "topics": len(broker.tables.topics),
        "groups": len(broker.tables.groups),
        "messagesIn": broker.stats.put_total,
        "messagesOut": broker.stats.get_total,
        "deadLetters": dead_letters,
        "diskBytes": capacity,
        "diskFreeBytes": free,
        "logBytes": broker.store.max_physical_offset - broker.store.min_physical_offset,
        "health": _health(console),
        "warnings": _warnings(console),
        "busiestTopics": [{"topic": topic, "rate": round(rate, 2)} for rate, topic in busiest],
        "furthestBehind": [{"group": group, "behind": lag} for lag, group in furthest],
        "figures": console.rings.last(),
    }


def _health(console: Console) -> dict[str, dict[str, Any]]:
    broker = console.broker
    parts = broker_health(broker, broker.cluster.registration)
    if console.name_server is not None:
        parts |= name_server_health(console.name_server)
    return {part: {"ok": check.is_fine, "state": check.state} for part, check in parts.items()}


def _warnings(console: Console) -> list[dict[str, Any]]:
    """What somebody should look at, each with what it is about."""
    broker = console.broker
    found: list[dict[str, Any]] = [
        {"kind": "inconsistent", "group": group} for group in sorted(broker.clients.inconsistent_groups)[:TOP]
    ]
    for cause, count in sorted(broker.flow_control.totals.items()):
        found.append({"kind": "flowControl", "cause": cause, "count": count})
    if broker.store.sickness:
        found.append({"kind": "store", "cause": broker.store.sickness})
    return found


def series(console: Console, call: Call) -> dict[str, Any]:
    """Charts of the last minutes: `time` in s since the epoch and, by name, as many numbers."""
    return console.rings.since(call.now / 1000 - call.query["minutes"] * 60)


def events(console: Console, call: Call) -> Source:
    """Figures every two seconds, as events called `figures`."""
    before = console.counts()

    def tell() -> Events:
        nonlocal before
        figures = console.figures(before)
        before = console.counts()
        return [("figures", {"time": console.now() / 1000, **figures})]

    return Source(LIVE_SECONDS, tell)


def audit(console: Console, call: Call) -> dict[str, Any]:
    """What was done in the console since the broker started, the newest first."""
    rows = [entry for entry in reversed(console.audit) if call.query["search"] in str(entry)]
    return {"rows": rows[: call.query["limit"]], "total": len(rows)}


_SHOWN = of_cluster(Action.GET)

ROUTES = (
    Route("GET", "/overview", Role.VIEWER, "Show an overview of the broker.", overview, needs=_SHOWN),
    Route(
        "GET",
        "/series",
        Role.VIEWER,
        "Return chart series, at most the last 24 hours.",
        series,
        query=(Field("minutes", int, "Range of the charts, in minutes before now.", 60, least=1, most=1440),),
        needs=_SHOWN,
    ),
    Route("GET", "/events", Role.VIEWER, "Stream changed figures.", events, needs=_SHOWN, is_stream=True),
    Route(
        "GET",
        "/audit",
        Role.OPERATOR,
        "List changes that were made in the console.",
        audit,
        query=(
            Field("limit", int, "Maximum number of rows.", 200, least=1, most=1000),
            Field("search", str, "Text in the entries.", ""),
        ),
        needs=_SHOWN,
    ),
)
