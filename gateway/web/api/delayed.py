"""What is not to be consumed yet: delayed messages by the time they are due, and open transactions."""

from __future__ import annotations

from typing import Any

from mqgateway.engine.message import SCHEDULE_TOPIC
from mqgateway.gateway.access.policies import Action
from mqgateway.gateway.web.api.needs import of_cluster
from mqgateway.gateway.web.call import Call
from mqgateway.gateway.web.console import Console
from mqgateway.gateway.web.route import Field, Role, Route

BARS = 60
SLOTS_A_LOOK = 2048
MINUTE = 60_000


async def delayed(console: Console, call: Call) -> dict[str, Any]:
    """How many messages are due when: of timers in `bars` of equal width, of delay levels by level."""
    broker, breathe = console.broker, console.turns()
    timers, store = broker.timers, broker.store
    width = call.query["minutes"] * MINUTE // BARS
    wheel, now = timers.wheel, store.steady.now()
    bars = []
    if timers.is_enabled and wheel.file is not None:
        for number in range(BARS):
            begin, end, count = now + number * width, now + (number + 1) * width, 0
            at, end_slot = wheel.floor(begin), wheel.floor(end)
            while at < end_slot:
                part = min(end_slot, at + SLOTS_A_LOOK * wheel.precision)
                count += sum(slot.total for slot in wheel.used(at, part))
                at = part
                await breathe()
            bars.append({"begin": begin, "end": end, "messages": count})
    counts = timers.metrics.counts()
    done = broker.delays.offsets
    levels = []
    for level in range(1, broker.delays.levels.max_level + 1):
        waiting = max(0, store.max_offset(SCHEDULE_TOPIC, level - 1) - done.get(level, 0))
        levels.append({"level": level, "delay": broker.delays.levels.delay(level), "messages": waiting})
    return {
        "now": now,
        "timers": timers.pending if timers.is_enabled else None,
        "bars": bars,
        "topics": [
            {"topic": topic, "messages": max(0, count)} for topic, count in sorted(counts.items()) if count
        ],
        "levels": levels,
    }


def transactions(console: Console, call: Call) -> dict[str, Any]:
    """Open transactions: half messages that nobody committed or rolled back yet, the oldest first."""
    broker = console.broker
    time_out, check_max = broker.options.transaction_time_out, broker.options.transaction_check_max
    halves = broker.transactions.open_halves(call.query["limit"])
    return {
        "topics": [
            {"topic": topic, "messages": count}
            for topic, count in sorted(broker.transactions.counts.table.items())
            if count
        ],
        "timeOut": time_out,
        "checkMax": check_max,
        "rows": [
            {
                "id": half.stored.message_id,
                "topic": half.topic,
                "group": half.group,
                "age": half.age(call.now),
                "checks": half.check_times,
                "isReachable": bool(broker.clients.producer_groups.get(half.group)),
            }
            for half in halves
        ],
    }


ROUTES = (
    Route(
        "GET",
        "/delayed",
        Role.VIEWER,
        "Show delayed messages by due time.",
        delayed,
        query=(Field("minutes", int, "Range of due times, in minutes from now.", 60, least=1, most=4320),),
        needs=of_cluster(Action.GET),
    ),
    Route(
        "GET",
        "/transactions",
        Role.VIEWER,
        "List open transactions.",
        transactions,
        query=(Field("limit", int, "Maximum number of rows.", 100, least=1, most=1000),),
        needs=of_cluster(Action.GET),
    ),
)
