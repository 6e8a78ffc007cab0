"""The brokers of the cluster, name servers, and who is connected."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mqgateway.gateway.access.policies import Action
from mqgateway.gateway.codec.codes import version_name
from mqgateway.gateway.web.api.needs import of_cluster
from mqgateway.gateway.web.call import WebCall
from mqgateway.gateway.web.console import Console
from mqgateway.gateway.web.lists import PAGE_FIELDS, has, page_of
from mqgateway.gateway.web.route import Role, Route


async def cluster(console: Console, call: WebCall) -> dict[str, Any]:
    """Brokers as name servers know them, and this broker's figures."""
    options, administration = console.operations.options, console.operations.administration
    role = administration.role
    return {
        "broker": options.broker_name,
        "cluster": options.broker_cluster_name,
        "role": role.kind.value,
        "brokerId": role.broker_id,
        "epoch": role.epoch,
        "nameServers": [
            {"address": address, "registered": is_registered}
            for address, is_registered in administration.name_servers().items()
        ],
        "brokers": await _brokers(console),
        "runtime": dict(sorted(administration.runtime_info().items())),
    }


async def _brokers(console: Console) -> list[dict[str, Any]] | None:
    """Brokers that are registered at the name server of this process, else at another one; None without
    any."""
    server, administration = console.name_server, console.operations.administration
    if server is not None:
        now = server.now()
        heard = {key.address: now - live.last_update for key, live in server.tables.live.items()}
        return _rows(server.tables.brokers, heard)
    if not administration.name_servers():
        return None
    return _rows({group.broker_name: group for group in await administration.broker_groups()}, {})


def _rows(groups: Mapping[str, Any], heard: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return a row for each broker of the groups; `heard` has the ms since its last heartbeat, by address."""
    return [
        {
            "broker": name,
            "cluster": group.cluster,
            "brokerId": broker_id,
            "address": address,
            "heardBefore": heard.get(address),
        }
        for name, group in sorted(groups.items())
        for broker_id, address in sorted(group.broker_addrs.items())
    ]


def clients(console: Console, call: WebCall) -> dict[str, Any]:
    """A page of who is connected: producers and consumers, one row for each group a client is in."""
    query = call.query
    found: dict[str, dict[str, Any]] = {}
    for group, client, is_consumer in console.operations.clients.all_members():
        kind = "consumer" if is_consumer else "producer"
        name = f"{client.client_id} {kind} {group} {client.peer.address}"
        if has(name, query["search"]):
            found[name] = {
                "kind": kind,
                "group": group,
                "clientId": client.client_id,
                "address": client.peer.address,
                "language": client.language,
                "version": version_name(client.version),
                "lastHeard": client.last_update,
            }
    page = page_of(
        [(name, name) for name in found], query["limit"], query["cursor"], descending=query["descending"]
    )
    return {"rows": [found[name] for name in page.names], "total": page.total, "cursor": page.cursor}


_SHOWN = of_cluster(Action.GET)

ROUTES = (
    Route("GET", "/cluster", Role.VIEWER, "Show brokers and name servers.", cluster, needs=_SHOWN),
    Route(
        "GET",
        "/clients",
        Role.VIEWER,
        "List connected clients.",
        clients,
        query=PAGE_FIELDS,
        needs=_SHOWN,
    ),
)
