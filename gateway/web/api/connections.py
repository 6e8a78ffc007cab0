"""Every connection of the broker's ports, whose it is, and its end.

A client of gRPC is in the broker's tables by the address that it last called from, one of the remoting
protocol by its connection: both are told by their addresses.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from mqgateway.gateway.access.policies import Action
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.operations import Client
from mqgateway.gateway.codec.codes import version_name
from mqgateway.gateway.remoting.addresses import format_address
from mqgateway.gateway.remoting.server import OpenConnection
from mqgateway.gateway.web.api.needs import of_cluster
from mqgateway.gateway.web.call import Call
from mqgateway.gateway.web.console import Console
from mqgateway.gateway.web.lists import PAGE_FIELDS, Row, has, page_of
from mqgateway.gateway.web.route import ApiError, Field, Role, Route

ROWS_A_LOOK = 256


class Membership(NamedTuple):
    """A client in a group; `kind` is producer or consumer."""

    kind: str
    group: str
    client: Client


async def connections(console: Console, call: Call) -> dict[str, Any]:
    """A page of connections; `age` and `quiet`, how long they are open and silent, in ms."""
    query, breathe = call.query, console.turns()
    members = _members(console.broker)
    rows: list[Row] = []
    found: dict[str, OpenConnection] = {}
    for number, one in enumerate(console.server.connections()):
        if not number % ROWS_A_LOOK:
            await breathe()
        name = f"{one.address} {one.number}"
        memberships = members.get(one.address, ())
        if any(has(text, query["search"]) for text in (one.address, *_words(memberships))):
            found[name] = one
            key = {"age": one.age, "quiet": one.quiet}.get(query["sort"], one.address)
            rows.append((key, name))
    page = page_of(rows, query["limit"], query["cursor"], descending=query["descending"])
    return {
        "rows": [_row(found[name], members.get(found[name].address, [])) for name in page.names],
        "total": page.total,
        "cursor": page.cursor,
    }


def close(console: Console, call: Call) -> dict[str, Any]:
    """Close a connection; its client usually comes back by itself."""
    text, server = call.path["connection"], console.server
    one = next((one for one in server.connections() if str(one.number) == text), None)
    if one is None:
        raise ApiError(404, f"there is no connection {text} any more")
    call.before = _row(one, _members(console.broker).get(one.address, []))
    server.close(one.number, f"{call.caller.user or 'an anonymous user'} closed it in the console")
    return {"id": one.number}


def _members(broker: Broker) -> dict[str, list[Membership]]:
    """Who is in which groups, by address."""
    table = broker.clients
    found: dict[str, list[Membership]] = {}
    for kind, groups in (
        ("producer", table.producer_groups),
        ("consumer", {name: group.clients for name, group in table.consumer_groups.items()}),
    ):
        for group, members in groups.items():
            for client in members.values():
                found.setdefault(_address(client), []).append(Membership(kind, group, client))
    return found


def _address(client: Client) -> str:
    """As connections have it: gRPC says IPv6 addresses without brackets."""
    host, _, port = client.peer.address.rpartition(":")
    return format_address(host, int(port)) if ":" in host and host[0] != "[" else client.peer.address


def _words(memberships: Iterable[Membership]) -> list[str]:
    return [f"{one.client.client_id} {one.group}" for one in memberships]


def _row(one: OpenConnection, memberships: list[Membership]) -> dict[str, Any]:
    clients = {member.client.client_id: member.client for member in memberships}
    spoken = {f"{client.language} {version_name(client.version)}" for client in clients.values()}
    return {
        "id": one.number,
        "address": one.address,
        "port": one.port,
        "isSecure": one.is_secure,
        "clients": sorted(clients),
        "languages": sorted(spoken),
        "groups": [{"kind": member.kind, "group": member.group} for member in memberships],
        "lastRequest": one.last_request,
        "age": round(one.age * 1000),
        "quiet": round(one.quiet * 1000),
    }


ROUTES = (
    Route(
        "GET",
        "/connections",
        Role.VIEWER,
        "List connections.",
        connections,
        query=(
            *PAGE_FIELDS,
            Field("sort", str, "Sort key.", "address", choices=("address", "age", "quiet")),
        ),
        needs=of_cluster(Action.GET),
    ),
    Route(
        "DELETE",
        "/connections/{connection}",
        Role.ADMIN,
        "Close a connection.",
        close,
        needs=of_cluster(Action.UPDATE),
    ),
)
