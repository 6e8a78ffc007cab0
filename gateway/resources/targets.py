"""Brokers that resource commands query: one of each group of all clusters, or of one."""

from __future__ import annotations

from mqgateway.gateway.mqadmin.declaration import CommandCall, CommandOption, NameKind
from mqgateway.gateway.mqadmin.servers import reachable

CLUSTER = CommandOption("c", "cluster", "limit to the brokers of this cluster", values=NameKind.CLUSTER)


def brokers(call: CommandCall) -> list[tuple[str, str]]:
    """Broker names and addresses: of each group its master, else any of its slaves. Raises `NoBroker`."""
    if (cluster := call.given.text("c")) is not None:
        return list(reachable(call.servers.members(cluster)))
    return list(reachable(call.servers.clusters().broker_addr_table.values()))
