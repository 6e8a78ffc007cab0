"""Replicas of all broker groups: in-sync set and lag of each, as its master reports them."""

from __future__ import annotations

from typing import Any

from mqgateway.gateway.access.policies import Action
from mqgateway.gateway.broker.operations import Permit, Use
from mqgateway.gateway.codec.bodies import HARuntimeInfo
from mqgateway.gateway.web.api.needs import of_cluster
from mqgateway.gateway.web.call import WebCall
from mqgateway.gateway.web.cluster_brokers import BrokerGroup, ask_all, broker_groups
from mqgateway.gateway.web.console import Console
from mqgateway.gateway.web.route import Role, Route


async def replication(console: Console, call: WebCall) -> dict[str, Any]:
    """List broker groups with their replicas; lags are in bytes, `inSync` counts slaves."""
    permit = console.permit(call, Use.QUERY)
    asked = await ask_all(await broker_groups(console), lambda group: _ask(console, permit, group))
    return {
        "rows": [_row(group, info) for group, info in asked.answers if info is not None],
        "unanswered": asked.unanswered,
    }


def _ask(console: Console, permit: Permit, group: BrokerGroup) -> Any:
    """Return the state of a group's replicas, or a Deferred of it; None for one that has no replication."""
    administration = console.operations.administration
    if group.address == console.operations.address:
        return administration.replication()
    return console.operations.other_brokers.replication(permit, group.address)


def _row(group: BrokerGroup, info: HARuntimeInfo) -> dict[str, Any]:
    return {
        "broker": group.name,
        "address": group.address,
        "isMaster": info.master,
        "logEnd": info.master_commit_log_max_offset,
        "inSync": info.in_sync_slave_nums,
        "replicas": [
            {
                "address": replica.addr,
                "offset": replica.slave_ack_offset,
                "behind": replica.diff,
                "inSync": replica.in_sync,
                "bytesPerSecond": replica.transferred_byte_in_second,
            }
            for replica in info.ha_connection_info
        ],
    }


ROUTES = (
    Route(
        "GET",
        "/cluster/replication",
        Role.VIEWER,
        "List the replicas of all broker groups.",
        replication,
        needs=of_cluster(Action.GET),
    ),
)
