"""The broker at a glance: what it is, how it is, what goes through it now and went in the last 24 hours."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import nlargest
from typing import Any

from mqgateway.engine.message import DLQ_PREFIX
from mqgateway.engine.names import is_lmq, is_system_group
from mqgateway.gateway.access.policies import Action
from mqgateway.gateway.metrics.health import name_server_health
from mqgateway.gateway.web.api.groups import state_of
from mqgateway.gateway.web.api.needs import of_cluster
from mqgateway.gateway.web.api.topics import is_of_users
from mqgateway.gateway.web.call import WebCall
from mqgateway.gateway.web.console import Console
from mqgateway.gateway.web.route import Role, Route, RouteField
from mqgateway.gateway.web.streams import Events, EventSource

TOP = 10
LIVE_SECONDS = 2.0
ROWS_A_LOOK = 64


async def overview(console: Console, call: WebCall) -> dict[str, Any]:
    """Show the broker and its health, the busiest topics, the groups with the largest lag, warnings."""
    operations, breathe = console.operations, console.turns()
    options, offsets = operations.options, operations.offsets
    topics, groups = operations.topics, operations.groups
    capacity, free = operations.storage.usage()
    lagging: dict[str, int] = {}
    consumed: dict[str, list[str]] = {}
    dead_letters = 0
    for number, (topic, group) in enumerate(offsets.pairs()):
        if not number % ROWS_A_LOOK:
            await breathe()
        if group in groups and topic in topics and not is_lmq(topic):
            lagging[group] = lagging.get(group, 0) + offsets.lag(group, topic)
            consumed.setdefault(group, []).append(topic)
    for name in topics.names():
        if name.startswith(DLQ_PREFIX):
            dead_letters += offsets.range(name, 0).message_count
    user_topics = 0
    for number, config in enumerate(topics.all()):
        if not number % ROWS_A_LOOK:
            await breathe()
        user_topics += is_of_users(operations, config)
    known_groups = {*groups.names(), *operations.clients.consumer_groups()}
    rates: list[tuple[float, str]] = []
    for number, (topic, rate) in enumerate(topics.put_rates()):
        if not number % ROWS_A_LOOK:
            await breathe()
        if rate:
            rates.append((rate, topic))
    busiest = nlargest(TOP, rates)
    furthest = nlargest(TOP, ((lag, group) for group, lag in lagging.items() if lag))
    stuck = [group for _, group in furthest if state_of(console, group, consumed[group]) == "stuck"]
    figures, role = operations.administration.figures(), operations.administration.role
    return {
        "name": options.broker_name,
        "cluster": options.broker_cluster_name,
        "address": operations.address,
        "role": role.kind.value,
        "brokerId": role.broker_id,
        "started": console.started,
        "topics": user_topics,
        "groups": sum(not is_system_group(group) for group in known_groups),
        "messagesIn": figures.messages_in,
        "messagesOut": figures.messages_out,
        "deadLetters": dead_letters,
        "diskBytes": capacity,
        "diskFreeBytes": free,
        "logBytes": figures.log_end - figures.log_begin,
        "health": _health(console),
        "warnings": _warnings(console, stuck),
        "busiestTopics": [{"topic": topic, "rate": round(rate, 2)} for rate, topic in busiest],
        "furthestBehind": [{"group": group, "behind": lag} for lag, group in furthest],
        "figures": console.rings.last(),
    }


def _health(console: Console) -> dict[str, dict[str, Any]]:
    parts = console.operations.administration.health()
    if console.name_server is not None:
        parts |= name_server_health(console.name_server)
    return {part: {"ok": check.is_fine, "state": check.state} for part, check in parts.items()}


def _warnings(console: Console, stuck: Sequence[str]) -> list[dict[str, Any]]:
    """List states that an administrator should look at, each with its subject."""
    operations = console.operations
    found: list[dict[str, Any]] = [{"kind": "stuck", "group": group} for group in stuck]
    found += [
        {"kind": "inconsistent", "group": group} for group in operations.clients.inconsistent_groups()[:TOP]
    ]
    for cause, count in sorted(operations.administration.refusals().items()):
        found.append({"kind": "flowControl", "cause": cause, "count": count})
    if sickness := operations.storage.sickness:
        found.append({"kind": "store", "cause": sickness})
    return found


def series(console: Console, call: WebCall) -> dict[str, Any]:
    """Charts of the last minutes: `time` in s since the epoch and, by name, as many numbers."""
    return console.rings.since(call.now / 1000 - call.query["minutes"] * 60)


def events(console: Console, call: WebCall) -> EventSource:
    """Figures every two seconds, as events called `figures`."""
    before = console.counts()

    def latest() -> Events:
        nonlocal before
        figures = console.figures(before)
        before = console.counts()
        return [("figures", {"time": console.now() / 1000, **figures})]

    return EventSource(LIVE_SECONDS, latest)


def audit(console: Console, call: WebCall) -> dict[str, Any]:
    """List changes made in the console since the broker started, the newest first."""
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
        query=(
            RouteField("minutes", int, "Range of the charts, in minutes before now.", 60, least=1, most=1440),
        ),
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
            RouteField("limit", int, "Maximum number of rows.", 200, least=1, most=1000),
            RouteField("search", str, "Text in the entries.", ""),
        ),
        needs=_SHOWN,
    ),
)
