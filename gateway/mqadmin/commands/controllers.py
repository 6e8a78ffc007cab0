"""Commands about controllers, and what they know of replicas.

Standard: the package `command.controller` of the module `tools`, `GetSyncStateSetSubCommand`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mqgateway.gateway.client import admin_replicas as replicas
from mqgateway.gateway.codec.bodies import ReplicaIdentity
from mqgateway.gateway.mqadmin.declaration import (
    CommandCall,
    CommandOption,
    NameKind,
    Row,
    UsageError,
    command,
    flag,
)
from mqgateway.gateway.mqadmin.rendering import each, shown
from mqgateway.gateway.runtime.name_servers import split_addresses

_CONTROLLER = CommandOption("a", "controllerAddress", "controller as host:port", required=True)
_CONTROLLERS = CommandOption(
    "a", "controllerAddress", "controllers as host:port, separated by ';'", required=True
)
_BROKER_NAME = CommandOption("bn", "brokerName", "broker set", required=True, values=NameKind.BROKER)


def _metadata_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    for row in rows:
        yield shown(
            "\n#ControllerGroup\t{group}\n#ControllerLeaderId\t{leaderId}"
            "\n#ControllerLeaderAddress\t{leaderAddress}",
            row,
        )
        yield from (f"\n#Peer:\t{peer}" for peer in row["peers"])
        yield "\n"


@command("getControllerMetaData", _CONTROLLER, text=_metadata_text)
def metadata(call: CommandCall) -> Iterator[Row]:
    """Standard: `GetControllerMetaDataSubCommand`."""
    found = call.servers.ask(replicas.controllers(), call.given.need("a"))
    yield {
        "group": found.group,
        "leaderId": found.controller_leader_id,
        "leaderAddress": found.controller_leader_address,
        "peers": [one for one in (found.peers or "").split(";") if one],
    }


def _settings_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    for row in rows:
        yield shown("============{controller}============\n", row)
        for name, value in sorted(row["settings"].items()):
            yield shown("{name:<50}=  {value}\n", {"name": name, "value": value})


def _addresses(call: CommandCall) -> list[str]:
    return split_addresses(call.given.need("a"))


@command("getControllerConfig", _CONTROLLERS, text=_settings_text)
def settings(call: CommandCall) -> Iterator[Row]:
    """Standard: `GetControllerConfigSubCommand`."""
    for address in _addresses(call):
        with call.servers.part(address):
            found = call.servers.ask(replicas.controller_settings(), address)
            yield {"controller": address, "settings": found}


def _update_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    found = [row["controller"] for row in rows]
    if found:
        values = {"all": found, "key": call.given.need("k"), "value": call.given.need("v")}
        yield shown("update controller config success!{all}\n{key} : {value}\n", values)


@command(
    "updateControllerConfig",
    _CONTROLLERS,
    CommandOption("k", "key", "name of the setting", required=True),
    CommandOption("v", "value", "new value", required=True),
    text=_update_text,
)
def update_settings(call: CommandCall) -> Iterator[Row]:
    """Standard: `UpdateControllerConfigSubCommand`."""
    key, value = call.given.need("k"), call.given.need("v")
    for address in _addresses(call):
        with call.servers.part(address):
            note = call.servers.change(replicas.update_controller_settings({key: value}), address)
            if note:
                call.remark(f"{address}: {note}")
            yield {"controller": address, "key": key, "value": value}


def _elect_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    for row in rows:
        yield shown(
            "\n#ClusterName\t{cluster}\n#BrokerName\t{brokerName}\n#BrokerMasterAddr\t{masterAddress}"
            "\n#MasterEpoch\t{masterEpoch}\n#SyncStateSetEpoch\t{syncStateSetEpoch}\n",
            row,
        )
        yield from (f"\t#Broker\t{number}\t{address}\n" for number, address in row["brokers"].items())


@command(
    "electMaster",
    _CONTROLLER,
    CommandOption("b", "brokerId", "id of the replica", required=True),
    _BROKER_NAME,
    CommandOption("c", "clusterName", "cluster of the broker set", required=True, values=NameKind.CLUSTER),
    text=_elect_text,
)
def elect(call: CommandCall) -> Iterator[Row]:
    """Standard: `ReElectMasterSubCommand`: the controller that leads is asked."""
    given = call.given
    cluster, name = given.need("c"), given.need("bn")
    leader = call.servers.ask(replicas.controllers(), given.need("a")).controller_leader_address
    question = replicas.elect(cluster, name, given.number("b", -1))
    elected = call.servers.change(question, leader or given.need("a"))
    if elected is not None:
        group = elected.body.broker_member_group if elected.body else None
        yield {
            "cluster": cluster,
            "brokerName": name,
            "masterAddress": elected.header.master_address,
            "masterEpoch": elected.header.master_epoch,
            "syncStateSetEpoch": elected.header.sync_state_set_epoch,
            "brokers": dict(sorted(group.broker_addrs.items())) if group else {},
        }


@command(
    "cleanBrokerMetadata",
    _CONTROLLER,
    CommandOption("b", "brokerControllerIdsToClean", "ids of the replicas, separated by ';' (default: all)"),
    _BROKER_NAME,
    CommandOption("c", "clusterName", "cluster of the broker set; optional with -l", values=NameKind.CLUSTER),
    flag("l", "cleanLivingBroker", "include live replicas"),
    text=each("clear broker {brokerName} metadata from controller success! \n"),
)
def clean(call: CommandCall) -> Iterator[Row]:
    """Standard: `CleanControllerBrokerMetaSubCommand`."""
    given = call.given
    cluster, name, living_too = given.text("c") or "", given.need("bn"), "l" in given
    if not cluster and not living_too:
        raise UsageError("one of -c and -l is needed")
    ids = [one.strip() for one in (given.text("b") or "").split(";") if one.strip()]
    if not all(one.isdecimal() for one in ids):
        raise UsageError("-b must be broker ids separated by ';', as 1;2;3")
    leader = call.servers.ask(replicas.controllers(), given.need("a")).controller_leader_address
    question = replicas.forget_replicas(cluster, name, [int(one) for one in ids], living_too=living_too)
    call.servers.change(question, leader or given.need("a"))
    yield {"cluster": cluster, "brokerName": name, "brokerIds": [int(one) for one in ids]}


def _replica(replica: ReplicaIdentity) -> dict[str, object]:
    return {
        "brokerName": replica.broker_name,
        "brokerId": replica.broker_id,
        "brokerAddress": replica.broker_address,
        "alive": replica.alive,
    }


_REPLICA = (
    "ReplicaIdentity{{brokerName='{brokerName}', brokerId={brokerId}, brokerAddress='{brokerAddress}', "
    "alive={alive}}}"
)


def _in_sync_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    for row in rows:
        yield shown(
            "\n#brokerName\t{brokerName}\n#MasterBrokerId\t{masterBrokerId}\n#MasterAddr\t{masterAddress}"
            "\n#MasterEpoch\t{masterEpoch}\n#SyncStateSetEpoch\t{syncStateSetEpoch}",
            row,
        )
        yield f"\n#SyncStateSetNums\t{len(row['inSync'])}\n"
        for name, title in (("inSync", "InSyncReplica"), ("notInSync", "NotInSyncReplica")):
            yield from (f"\n{title}:\t{shown(_REPLICA, one)}\n" for one in row[name])


@command(
    "getSyncStateSet",
    CommandOption(
        "a",
        "controllerAddress",
        "controllers as host:port, separated by ';'; the first is queried",
        required=True,
    ),
    CommandOption("b", "brokerName", "broker set", values=NameKind.BROKER),
    CommandOption("c", "clusterName", "all broker sets of this cluster", values=NameKind.CLUSTER),
    CommandOption("i", "interval", "repeat at this interval in seconds, like --watch"),
    text=_in_sync_text,
)
def in_sync(call: CommandCall) -> Iterator[Row]:
    """Standard: `GetSyncStateSetSubCommand`."""
    name, cluster = call.given.text("b"), call.given.text("c")
    if name is None and cluster is None:
        raise UsageError("one of -b and -c is needed")
    names = [name] if name is not None else [one.broker_name for one in call.servers.members(cluster or "")]
    found = call.servers.ask(replicas.in_sync(names), _addresses(call)[0])
    for broker_name, one in sorted(found.items()):
        yield {
            "brokerName": broker_name,
            "masterBrokerId": one.master_broker_id,
            "masterAddress": one.master_address,
            "masterEpoch": one.master_epoch,
            "syncStateSetEpoch": one.sync_state_set_epoch,
            "inSync": [_replica(other) for other in one.in_sync_replicas],
            "notInSync": [_replica(other) for other in one.not_in_sync_replicas],
        }


def _epoch_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    for row in rows:
        yield shown(
            "\n#clusterName\t{cluster}\n#brokerName\t{brokerName}\n#brokerAddr\t{broker}\n#brokerId\t{brokerId}",
            row,
        )
        for one in row["epochs"]:
            template = (
                "\n#Epoch: EpochEntry{{epoch={epoch}, startOffset={startOffset}, endOffset={endOffset}}}"
            )
            yield shown(template, one)
        yield "\n"


@command(
    "getBrokerEpoch",
    CommandOption("b", "brokerName", "broker set", group="where", values=NameKind.BROKER),
    CommandOption(
        "c", "clusterName", "all broker sets of this cluster", group="where", values=NameKind.CLUSTER
    ),
    CommandOption("i", "interval", "repeat at this interval in seconds, like --watch"),
    text=_epoch_text,
)
def epochs(call: CommandCall) -> Iterator[Row]:
    """Standard: `GetBrokerEpochSubCommand`; the last part ends where the log does."""
    name = call.given.text("b")
    groups = [call.servers.named(name)] if name is not None else call.servers.members(call.given.need("c"))
    for address in (one for group in groups for _, one in sorted(group.broker_addrs.items())):
        with call.servers.part(address):
            found = call.servers.ask(replicas.epochs(), address)
            parts = [
                {"epoch": one.epoch, "startOffset": one.start_offset, "endOffset": one.end_offset}
                for one in found.epoch_list
            ]
            if parts:
                parts[-1]["endOffset"] = found.max_offset
            yield {
                "cluster": found.cluster_name,
                "brokerName": found.broker_name,
                "broker": address,
                "brokerId": found.broker_id,
                "epochs": parts,
            }
