"""Commands about broker containers. RocketMQ: the package `command.container` of the module `tools`."""

from __future__ import annotations

from collections.abc import Iterator

from mqgateway.gateway.client import admin_replicas as replicas
from mqgateway.gateway.mqadmin.declaration import CommandCall, CommandOption, Row, UsageError, command
from mqgateway.gateway.mqadmin.rendering import each

_CONTAINER = CommandOption("c", "brokerContainerAddr", "container as host:port", required=True)
_START_SECONDS = 20.0
"""Timeout of a request: a container answers once the broker has started or stopped cleanly."""


@command(
    "addBroker",
    CommandOption(
        "b", "brokerConfigPath", "configuration file of the broker on the container's host", required=True
    ),
    _CONTAINER,
    text=each("add broker to {container} success\n"),
)
def add(call: CommandCall) -> Iterator[Row]:
    """RocketMQ: `AddBrokerSubCommand`."""
    container, path = call.given.need("c"), call.given.need("b")
    call.servers.change(replicas.add_broker(path), container, _START_SECONDS)
    yield {"container": container, "path": path}


@command(
    "removeBroker",
    CommandOption("b", "brokerIdentity", "broker as clusterName:brokerName:brokerId", required=True),
    _CONTAINER,
    text=each("remove broker from {container} success\n"),
)
def remove(call: CommandCall) -> Iterator[Row]:
    """RocketMQ: `RemoveBrokerSubCommand`."""
    container, parts = call.given.need("c"), call.given.need("b").split(":")
    if len(parts) != 3 or not parts[2].strip().isdecimal():
        raise UsageError("-b must be clusterName:brokerName:brokerId with a broker id of 0 or more")
    cluster, name, number = (part.strip() for part in parts)
    call.servers.change(replicas.remove_broker(cluster, name, int(number)), container, _START_SECONDS)
    yield {"container": container, "cluster": cluster, "brokerName": name, "brokerId": int(number)}
