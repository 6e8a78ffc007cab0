"""Messages that cannot be consumed yet: delayed ones by the time when they are due, open transactions."""

from __future__ import annotations

from typing import Any

from mqgateway.gateway.access.policies import Action
from mqgateway.gateway.web.api.needs import of_cluster
from mqgateway.gateway.web.call import WebCall
from mqgateway.gateway.web.console import Console
from mqgateway.gateway.web.route import Role, Route, RouteField

BARS = 60
MINUTE = 60_000


async def delayed(console: Console, call: WebCall) -> dict[str, Any]:
    """Count delayed messages: those of timers in `bars` of equal width, those of delay levels by level."""
    queries, now = console.operations.queries, console.operations.steady.now()
    width = call.query["minutes"] * MINUTE // BARS
    due = await queries.due(now, width, BARS)
    timers = queries.timers()
    return {
        "now": now,
        "timers": timers.pending,
        "bars": [
            {"begin": now + number * width, "end": now + (number + 1) * width, "messages": count}
            for number, count in enumerate(due)
        ],
        "topics": [
            {"topic": topic, "messages": max(0, count)}
            for topic, count in sorted(timers.topics.items())
            if count
        ],
        "levels": [one._asdict() for one in queries.delay_levels()],
    }


def transactions(console: Console, call: WebCall) -> dict[str, Any]:
    """List open transactions, the oldest first: half messages not committed or rolled back yet, and
    transactions of Kafka's producers, and those that hang in partitions. `started` and `stored` are times in
    ms, `age` and `timeout` are in ms."""
    operations = console.operations
    return {
        "topics": [
            {"topic": topic, "messages": count}
            for topic, count in sorted(operations.transactions.open_counts().items())
        ],
        "timeOut": operations.options.transaction_time_out,
        "checkMax": operations.options.transaction_check_max,
        "rows": [
            {
                "id": one.message_id,
                "topic": one.topic,
                "group": one.group,
                "age": one.age,
                "checks": one.checks,
                "isReachable": operations.clients.has_producers(one.group),
            }
            for one in operations.transactions.open(call.query["limit"], call.now)
        ],
        "kafka": [one._asdict() for one in operations.coordinated.transactions()[: call.query["limit"]]],
        "hanging": [
            one._asdict() for one in operations.coordinated.hanging_transactions()[: call.query["limit"]]
        ],
    }


ROUTES = (
    Route(
        "GET",
        "/delayed",
        Role.VIEWER,
        "Show delayed messages by due time.",
        delayed,
        query=(
            RouteField("minutes", int, "Range of due times, in minutes from now.", 60, least=1, most=4320),
        ),
        needs=of_cluster(Action.GET),
    ),
    Route(
        "GET",
        "/transactions",
        Role.VIEWER,
        "List open transactions.",
        transactions,
        query=(RouteField("limit", int, "Maximum number of rows.", 100, least=1, most=1000),),
        needs=of_cluster(Action.GET),
    ),
)
