"""Queries to brokers and name servers about a group. They change nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from mqgateway.gateway.client import admin_access, admin_broker, admin_groups, admin_replicas, admin_topics
from mqgateway.gateway.client.errors import BrokerError, ClientError
from mqgateway.gateway.migration.plan import MigrationError
from mqgateway.gateway.mqadmin.servers import MASTER, Servers

SHOWN_MAX = 3


@dataclass
class TableContents:
    """A broker's tables of topics, groups, offsets and modes, as plain JSON values by name."""

    topics: dict[str, Any]
    groups: dict[str, Any]
    offsets: dict[str, dict[str, int]]
    modes: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Return the tables as stored in `Progress`."""
        return asdict(self)


def members(servers: Servers, broker_name: str) -> dict[int, str]:
    """Return the addresses of a group by broker id; empty if no name server knows it."""
    found = servers.clusters().broker_addr_table.get(broker_name)
    return dict(found.broker_addrs) if found is not None else {}


def id_of(servers: Servers, broker_name: str, address: str) -> int | None:
    """Return the id under which a broker is registered, None if it is not."""
    found = members(servers, broker_name)
    return next((number for number, where in found.items() if where == address), None)


def is_up(servers: Servers, address: str) -> bool:
    """Return True if a broker answers."""
    try:
        servers.ask(admin_broker.figures(), address)
    except BrokerError:
        return True
    except ClientError:
        return False
    return True


def span(servers: Servers, address: str) -> tuple[int, int]:
    """Return start and end of a broker's log. Raises `ClientError`, and `MigrationError` if not reported."""
    figures = servers.ask(admin_broker.figures(), address)
    try:
        return int(figures["commitLogMinOffset"]), int(figures["commitLogMaxOffset"])
    except (KeyError, ValueError):
        raise MigrationError(f"{address} does not say where its log begins and ends") from None


def version(figures: Mapping[str, str]) -> tuple[int, ...]:
    """Return the version of a broker, such as 5, 5, 0; empty if unreadable."""
    words = figures.get("brokerVersionDesc", "").removeprefix("V").split("_")
    return tuple(int(word) for word in words if word.isdecimal())


def slaves(servers: Servers, address: str) -> list[tuple[str, int, bool]]:
    """Return address, lag in bytes and in-sync state of each slave connected to a master."""
    status = servers.ask(admin_replicas.replication(), address)
    return [(one.addr or "", one.diff, one.in_sync) for one in status.ha_connection_info]


def tables(servers: Servers, address: str) -> TableContents:
    """Return the tables of a broker. Raises `ClientError`."""
    topics = servers.ask(admin_topics.all_configs(), address)
    groups = servers.ask(admin_groups.all_configs(), address)
    offsets = servers.ask(admin_groups.all_offsets(), address)
    modes = servers.ask(admin_groups.all_modes(), address)
    return TableContents(
        {name: asdict(one) for name, one in topics.items()},
        {name: asdict(one) for name, one in groups.items()},
        {key: {str(queue): at for queue, at in queues.items()} for key, queues in offsets.items()},
        {topic: sorted(of) for topic, of in modes.items()},
    )


def lacks(has: TableContents, wanted: TableContents) -> str:
    """Return a description of the `wanted` entries that a broker lacks; empty if it has all.

    A consumer offset may be greater than the wanted one.
    """
    for kind, mine, theirs in (
        ("topics", has.topics, wanted.topics),
        ("groups", has.groups, wanted.groups),
        ("modes of", has.modes, wanted.modes),
    ):
        if missing := [name for name, one in theirs.items() if mine.get(name) != one]:
            return f"{kind} {', '.join(sorted(missing)[:SHOWN_MAX])} are not the same ({len(missing)})"
    behind = [
        f"{key} queue {queue}"
        for key, queues in wanted.offsets.items()
        for queue, at in queues.items()
        if has.offsets.get(key, {}).get(queue, -1) < at
    ]
    return f"offsets of {', '.join(behind[:SHOWN_MAX])} are behind ({len(behind)})" if behind else ""


def accounts(servers: Servers, address: str) -> set[str]:
    """Return the users of a broker, and the subjects of its policies. Raises `ClientError`."""
    users = {f"user {one.username}" for one in servers.ask(admin_access.users(), address)}
    return users | {f"policies of {one.subject}" for one in servers.ask(admin_access.acls(), address)}


def master_of(servers: Servers, broker_name: str) -> str:
    """Return the address of a group's master. Raises `MigrationError` if there is none."""
    found = members(servers, broker_name)
    if MASTER not in found:
        raise MigrationError(
            f"{broker_name} has no master: the name servers know {found or 'no broker of that name'}"
        )
    return found[MASTER]
