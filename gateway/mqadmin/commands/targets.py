"""The options `-b` and `-c` that many commands have: one broker by its address, or a cluster."""

from __future__ import annotations

from mqgateway.gateway.mqadmin.declaration import CommandCall, CommandOption, NameKind, UsageError

_BROKER = "broker as host:port"
_CLUSTER = "all brokers of this cluster"


def one_of(long: str = "clusterName") -> tuple[CommandOption, CommandOption]:
    """Return both options; exactly one of them must be given."""
    return CommandOption("b", "brokerAddr", _BROKER, group="where", values=NameKind.ADDRESS), CommandOption(
        "c", long, _CLUSTER, group="where", values=NameKind.CLUSTER
    )


def either(long: str = "clusterName") -> tuple[CommandOption, CommandOption]:
    """Return both options; at least one of them must be given, and `-b` takes precedence."""
    return CommandOption("b", "brokerAddr", _BROKER, values=NameKind.ADDRESS), CommandOption(
        "c", long, _CLUSTER, values=NameKind.CLUSTER
    )


def masters(call: CommandCall) -> list[str]:
    """Return the broker of `-b`, or the masters of `-c`. Raises `UsageError` without either, `NoBroker`."""
    if (broker := call.given.text("b")) is not None:
        return [broker]
    return call.servers.masters(_cluster(call))


def all_brokers(call: CommandCall) -> list[str]:
    """Return the broker of `-b`, or all brokers of `-c`, including slaves. Raises as `masters`."""
    if (broker := call.given.text("b")) is not None:
        return [broker]
    return call.servers.all_brokers(_cluster(call))


def _cluster(call: CommandCall) -> str:
    cluster = call.given.text("c")
    if cluster is None:
        raise UsageError("one of -b and -c is needed")
    return cluster


def titled(call: CommandCall) -> list[tuple[str, str]]:
    """Return the brokers of `all_brokers`, each with the title line of its output. Raises as `masters`."""
    if (broker := call.given.text("b")) is not None:
        return [(broker, f"============{broker}============")]
    found = []
    for group in call.servers.members(_cluster(call)):
        master = group.broker_addrs.get(0, "NO_MASTER")
        for number, address in sorted(group.broker_addrs.items()):
            title = f"Master: {master}" if number == 0 else f"My Master: {master}=====Slave: {address}"
            found.append((address, f"============{title}============"))
    return found
