"""State of a cluster: master and slaves of each broker group, as name servers, controllers and the brokers
report them, and the problems found.

    {"controllers": [{"id","address","leads"}], "groups": [{"cluster","brokerName","master","masterEpoch",
     "syncStateSetEpoch","members": [{"address","brokerId","role","alive","inSync","epoch","maxOffset",
     "behind"}]}], "problems": [...], "errors": [...]}

Unknown values are null: groups without a controller have no epochs. Offsets and `behind` are bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from mqgateway.gateway.cli.plain import escaped
from mqgateway.gateway.client import admin_broker
from mqgateway.gateway.client import admin_replicas as replicas
from mqgateway.gateway.client.errors import NoBroker
from mqgateway.gateway.mqadmin.servers import MASTER, Servers
from mqgateway.gateway.runtime.name_servers import split_addresses

if TYPE_CHECKING:
    from mqgateway.gateway.client.admin_question import Question
    from mqgateway.gateway.codec.bodies import BrokerData, ReplicasInfo

T = TypeVar("T")


class ControllerStatus(TypedDict):
    """One controller; `leads` is None if it was not reached."""

    id: str
    address: str
    leads: bool | None


class BrokerStatus(TypedDict):
    """One broker; `brokerId` is the id at the controller if there is one."""

    address: str
    brokerId: int
    role: str
    alive: bool | None
    inSync: bool | None
    epoch: int | None
    maxOffset: int | None
    behind: int | None


class BrokerGroupStatus(TypedDict):
    """The brokers with one broker name."""

    cluster: str
    brokerName: str
    master: str | None
    masterEpoch: int | None
    syncStateSetEpoch: int | None
    members: list[BrokerStatus]


class ClusterStatus(TypedDict):
    """State of controllers and broker groups, and the problems found."""

    controllers: list[ControllerStatus]
    groups: list[BrokerGroupStatus]
    problems: list[str]


def cluster_status(
    servers: Servers, controllers: Sequence[str] = (), cluster: str | None = None
) -> ClusterStatus:
    """Query all servers of one `cluster`, or of all clusters that the name servers know.

    The controllers are those in the brokers' settings, unless given. Servers that fail are added to
    `servers.errors`. Raises `ClientError` if no name server answers, or the cluster is unknown.
    """
    if cluster is not None:
        found = servers.members(cluster)
    else:
        found = sorted(servers.clusters().broker_addr_table.values(), key=lambda one: one.broker_name)
    if not found:
        raise NoBroker("no broker is registered at the name server")
    known = list(controllers) or _controllers_of(servers, found)
    statuses, leader = _ask_controllers(servers, known)
    table: dict[str, ReplicasInfo] = {}
    if leader is not None:
        names = [one.broker_name for one in found]
        table = _try(servers, leader, replicas.in_sync(names)) or {}
    groups = [_group(servers, one, table.get(one.broker_name)) for one in found]
    named = [(one, table.get(one["brokerName"])) for one in groups]
    problems = [*_of_controllers(known, statuses), *(text for pair in named for text in _of_group(*pair))]
    return ClusterStatus(controllers=statuses, groups=groups, problems=problems)


def _try(servers: Servers, address: str, question: Question[T]) -> T | None:
    """Return a server's answer; None if the query failed, which is added to `servers.errors`."""
    with servers.part(address):
        return servers.ask(question, address)
    return None


def _controllers_of(servers: Servers, found: Iterable[BrokerData]) -> list[str]:
    for one in found:
        for _, address in sorted(one.broker_addrs.items()):
            settings = _try(servers, address, admin_broker.settings())
            if settings is not None:
                if settings.get("enableControllerMode") == "true":
                    return split_addresses(settings.get("controllerAddr", ""))
                break
    return []


def _ask_controllers(servers: Servers, known: Sequence[str]) -> tuple[list[ControllerStatus], str | None]:
    """Return all controllers, including those that others name, and the leader's address."""
    waiting, names = list(known), dict[str, str]()
    answered: dict[str, bool | None] = {}
    while waiting:
        address = waiting.pop(0)
        if address in answered:
            continue
        status = _try(servers, address, replicas.controllers())
        answered[address] = None if status is None else bool(status.is_leader)
        for peer in split_addresses((status.peers if status else None) or ""):
            # Ids have no colons, but hosts may.
            name, _, where = peer.partition(":")
            names[where] = name
            waiting.append(where)
    leads = [address for address, is_leader in answered.items() if is_leader]
    statuses = [
        ControllerStatus(id=names.get(address, ""), address=address, leads=is_leader)
        for address, is_leader in sorted(answered.items(), key=lambda item: (names.get(item[0], ""), item[0]))
    ]
    return statuses, leads[0] if leads else None


def _group(servers: Servers, data: BrokerData, known: ReplicasInfo | None) -> BrokerGroupStatus:
    by_address = {address: (number, None, None) for number, address in data.broker_addrs.items()}
    members: dict[str, tuple[int, bool | None, bool | None]] = dict(by_address)
    if known is not None:
        for follows, ones in ((True, known.in_sync_replicas), (False, known.not_in_sync_replicas)):
            for one in ones:
                members[one.broker_address or ""] = (one.broker_id, one.alive, follows)
    master = data.broker_addrs.get(MASTER) if known is None else known.master_address
    group = BrokerGroupStatus(
        cluster=data.cluster or "",
        brokerName=data.broker_name,
        master=master,
        masterEpoch=None if known is None else known.master_epoch,
        syncStateSetEpoch=None if known is None else known.sync_state_set_epoch,
        members=[],
    )
    for address, (number, alive, is_in_sync) in sorted(members.items(), key=lambda item: item[1][0]):
        epoch, end = (None, None) if alive is False else _log_of(servers, address, known is not None)
        group["members"].append(
            BrokerStatus(
                address=address,
                brokerId=number,
                role="master" if address == master else "slave",
                alive=alive,
                inSync=is_in_sync,
                epoch=epoch,
                maxOffset=end,
                behind=None,
            )
        )
    _compare(group)
    return group


def _log_of(servers: Servers, address: str, has_epochs: bool) -> tuple[int | None, int | None]:
    """Return the newest epoch in a broker's log and the end of the log; None for unknown values."""
    if has_epochs:
        cache = _try(servers, address, replicas.epochs())
        if cache is None:
            return None, None
        return (cache.epoch_list[-1].epoch if cache.epoch_list else None), cache.max_offset
    status = _try(servers, address, replicas.replication())
    if status is None:
        return None, None
    end = status.master_commit_log_max_offset if status.master else status.ha_client_runtime_info.max_offset
    return None, end


def _compare(group: BrokerGroupStatus) -> None:
    end = next((one["maxOffset"] for one in group["members"] if one["role"] == "master"), None)
    for one in group["members"]:
        if end is not None and one["maxOffset"] is not None:
            one["behind"] = max(0, end - one["maxOffset"])


def _of_controllers(known: Sequence[str], statuses: Sequence[ControllerStatus]) -> Iterator[str]:
    leaders = [one["address"] for one in statuses if one["leads"]]
    if known and not leaders:
        yield "no controller leads"
    if len(leaders) > 1:
        yield f"several controllers claim to be the leader: {', '.join(leaders)}"


def _of_group(group: BrokerGroupStatus, known: ReplicasInfo | None) -> Iterator[str]:
    name = group["brokerName"]
    if group["master"] is None:
        yield f"{name} has no master"
    if known is None:
        return
    for one in group["members"]:
        if one["alive"] is False:
            yield f"{name}: the controller receives no heartbeats from {one['brokerId']} at {one['address']}"
        elif one["inSync"] is False:
            yield f"{name}: {one['brokerId']} at {one['address']} is not in sync"
        elif one["inSync"] is None:
            yield f"{name}: {one['address']} is registered at the name servers but unknown to the controller"


def as_text(status: ClusterStatus) -> Iterator[str]:
    """Yield the status as lines of text."""
    words = {True: "leads", False: "", None: "not reached"}
    for number, one in enumerate(status["controllers"]):
        title = "controllers" if not number else ""
        yield escaped(f"{title:<13}{one['id']:<4} {one['address']:<22} {words[one['leads']]}".rstrip())
    for group in status["groups"]:
        epochs = ""
        if group["masterEpoch"] is not None:
            epochs = f"epoch {group['masterEpoch']}, in sync since change {group['syncStateSetEpoch']}"
        yield ""
        head = f"{group['cluster']} {group['brokerName']}: master {group['master'] or 'none'}"
        yield escaped(f"{head}, {epochs}" if epochs else head)
        yield _ROW.format(*_COLUMNS.values())
        for member in group["members"]:
            found: Mapping[str, Any] = {**member}
            yield escaped(_ROW.format(*(_word(found[name]) for name in _COLUMNS)))
    if status["problems"]:
        yield ""
    for problem in status["problems"]:
        yield escaped(f"problem: {problem}")


_ROW = "  {:<4} {:<22} {:<7} {:<6} {:<8} {:>6} {:>16} {:>12}"
_COLUMNS = {
    "brokerId": "id",
    "address": "address",
    "role": "role",
    "alive": "alive",
    "inSync": "in sync",
    "epoch": "epoch",
    "maxOffset": "max offset",
    "behind": "behind",
}


def _word(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
