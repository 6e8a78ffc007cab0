"""Connections of the broker's ports, with their clients and groups; the end of one.

A client of gRPC is in the broker's tables by the address that it last called from, one of the remoting
protocol by its connection: both are identified by their addresses.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mqgateway.gateway.access.policies import Action
from mqgateway.gateway.broker.operations import ClientOperations, GroupClient, GroupMember
from mqgateway.gateway.codec.codes import version_name
from mqgateway.gateway.remoting.addresses import format_address
from mqgateway.gateway.remoting.server import OpenConnection
from mqgateway.gateway.web.api.needs import of_cluster
from mqgateway.gateway.web.call import WebCall
from mqgateway.gateway.web.console import Console
from mqgateway.gateway.web.lists import PAGE_FIELDS, Row, has, page_of
from mqgateway.gateway.web.route import ApiError, Role, Route, RouteField

ROWS_A_LOOK = 256


async def connections(console: Console, call: WebCall) -> dict[str, Any]:
    """A page of connections; `age` and `quiet`, how long they are open and silent, in ms."""
    query, breathe = call.query, console.turns()
    members = _members(console.operations.clients)
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


def close(console: Console, call: WebCall) -> dict[str, Any]:
    """Close a connection; its client usually comes back by itself."""
    text, server = call.path["connection"], console.server
    one = next((one for one in server.connections() if str(one.number) == text), None)
    if one is None:
        raise ApiError(404, f"there is no connection {text} any more")
    call.before = _row(one, _members(console.operations.clients).get(one.address, []))
    server.close(one.number, f"{call.caller.user or 'an anonymous user'} closed it in the console")
    return {"id": one.number}


def _members(clients: ClientOperations) -> dict[str, list[GroupMember]]:
    """Return the members of groups by address."""
    found: dict[str, list[GroupMember]] = {}
    for member in clients.all_members():
        found.setdefault(_address(member.client), []).append(member)
    return found


def _address(client: GroupClient) -> str:
    """As connections have it: gRPC says IPv6 addresses without brackets."""
    host, _, port = client.peer.address.rpartition(":")
    return format_address(host, int(port)) if ":" in host and host[0] != "[" else client.peer.address


def _words(memberships: Iterable[GroupMember]) -> list[str]:
    return [f"{one.client.client_id} {one.group}" for one in memberships]


def _row(one: OpenConnection, memberships: list[GroupMember]) -> dict[str, Any]:
    clients = {member.client.client_id: member.client for member in memberships}
    spoken = {f"{client.language} {version_name(client.version)}" for client in clients.values()}
    return {
        "id": one.number,
        "address": one.address,
        "port": one.port,
        "isSecure": one.is_secure,
        "clients": sorted(clients),
        "languages": sorted(spoken),
        "groups": [
            {"kind": "consumer" if member.is_consumer else "producer", "group": member.group}
            for member in memberships
        ],
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
            RouteField("sort", str, "Sort key.", "address", choices=("address", "age", "quiet")),
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
