"""`mqgateway broker` and `mqgateway cluster`."""

from __future__ import annotations

from collections.abc import Iterator

from mqgateway.gateway.mqadmin.declaration import CommandCall, Row, command
from mqgateway.gateway.mqadmin.servers import MASTER
from mqgateway.gateway.resources.borrowed import borrow
from mqgateway.gateway.resources.rendering import listed, table


@command(
    "cluster list",
    text=table("cluster", "brokers", "withoutMaster", "slaves", nothing="no clusters"),
)
def list_clusters(call: CommandCall) -> Iterator[Row]:
    """Yield the clusters of the name server; no broker is queried."""
    info = call.servers.clusters()
    for cluster, members in sorted(info.cluster_addr_table.items()):
        data = [info.broker_addr_table[name] for name in sorted(members) if name in info.broker_addr_table]
        yield {
            "cluster": cluster,
            "brokers": [one.broker_name for one in data],
            "withoutMaster": [one.broker_name for one in data if MASTER not in one.broker_addrs],
            "slaves": sum(number != MASTER for one in data for number in one.broker_addrs),
        }


borrow(
    "broker list",
    "clusterList",
    table("cluster", "brokerName", "brokerId", "address", "version", "putTps", "getTps", "isActive"),
)
borrow("broker status", "brokerStatus", listed)
