"""What brokers and name servers say of a group; nothing here changes anything."""

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
    """What a broker keeps of topics, groups and offsets, as plain JSON values by name."""

    topics: dict[str, Any]
    groups: dict[str, Any]
    offsets: dict[str, dict[str, int]]
    modes: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        """As `progress` keeps it."""
        return asdict(self)


def members(servers: Servers, broker_name: str) -> dict[int, str]:
    """The addresses of a group by broker id, none where no name server knows it."""
    found = servers.clusters().broker_addr_table.get(broker_name)
    return dict(found.broker_addrs) if found is not None else {}


def id_of(servers: Servers, broker_name: str, address: str) -> int | None:
    """As what a broker is registered; None where it is not."""
    found = members(servers, broker_name)
    return next((number for number, where in found.items() if where == address), None)


def is_up(servers: Servers, address: str) -> bool:
    """Whether a broker answers."""
    try:
        servers.ask(admin_broker.figures(), address)
    except BrokerError:
        return True
    except ClientError:
        return False
    return True


def span(servers: Servers, address: str) -> tuple[int, int]:
    """Where the log of a broker begins and ends. Raises `ClientError`."""
    figures = servers.ask(admin_broker.figures(), address)
    try:
        return int(figures["commitLogMinOffset"]), int(figures["commitLogMaxOffset"])
    except (KeyError, ValueError):
        raise MigrationError(f"{address} does not say where its log begins and ends") from None


def version(figures: Mapping[str, str]) -> tuple[int, ...]:
    """The version of a broker, such as 5, 5, 0; empty when it cannot be read."""
    words = figures.get("brokerVersionDesc", "").removeprefix("V").split("_")
    return tuple(int(word) for word in words if word.isdecimal())


def slaves(servers: Servers, address: str) -> list[tuple[str, int, bool]]:
    """Where each follower of a master connects from, how many bytes it lacks, and whether it keeps up."""
    told = servers.ask(admin_replicas.replication(), address)
    return [(one.addr or "", one.diff, one.in_sync) for one in told.ha_connection_info]


def tables(servers: Servers, address: str) -> TableContents:
    """The tables of a broker. Raises `ClientError`."""
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
    """What of the wanted tables a broker does not have, for people; empty when it has all.

    An offset of a consumer is there when it is as far, or farther."""
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
    """The users of a broker, and whom it has policies of. Raises `ClientError`."""
    users = {f"user {one.username}" for one in servers.ask(admin_access.users(), address)}
    return users | {f"policies of {one.subject}" for one in servers.ask(admin_access.acls(), address)}


def master_of(servers: Servers, broker_name: str) -> str:
    """The master of a group. Raises `MigrationError`."""
    found = members(servers, broker_name)
    if MASTER not in found:
        raise MigrationError(
            f"{broker_name} has no master: the name servers know {found or 'no broker of that name'}"
        )
    return found[MASTER]
