"""`mqgateway timer`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mqgateway.gateway.client import admin_broker as broker
from mqgateway.gateway.mqadmin.declaration import CommandCall, Row, command
from mqgateway.gateway.resources import targets
from mqgateway.gateway.resources.rendering import table


@command(
    "timer list",
    targets.CLUSTER,
    text=table("topic", "count", "brokers", "updatedAt", nothing="no pending timers"),
)
def list_timers(call: CommandCall) -> Iterator[Row]:
    """Yield the counts of the brokers' timer wheels; messages with delay levels are not included."""
    found: dict[str, dict[str, Any]] = {}
    for name, address in targets.brokers(call):
        with call.servers.part(address):
            counts = call.servers.ask(broker.timer_counts(), address)
            for topic, one in counts.get("timingCount", {}).items():
                row = found.setdefault(topic, {"topic": topic, "count": 0, "brokers": [], "updatedAt": 0})
                row["count"] += one.get("count", 0)
                row["brokers"].append(name)
                row["updatedAt"] = max(row["updatedAt"], one.get("timeStamp", 0))
    yield from (row for _, row in sorted(found.items()) if row["count"])
