"""Boot lines that RocketMQ's servers write to standard output and their logs once they are up.

Tools wait for these lines, and so do people whose runbooks name them.
"""

import logging
from collections.abc import Iterable
from typing import NamedTuple

SERIALIZE_TYPE = "serializeType=JSON"
"""The encoding of the servers' own requests."""


class BootLine(NamedTuple):
    """A line, and the logger that it goes to."""

    logger: str
    text: str


def broker_boot_line(name: str, address: str, name_servers: str) -> BootLine:
    """Return the line of a broker that clients reach at `address`. Standard: `BrokerStartup`."""
    text = f"The broker[{name}, {address}] boot success. {SERIALIZE_TYPE}{_name_server_text(name_servers)}"
    return BootLine("mqgateway.gateway.broker", text)


def name_server_boot_line(bind: str, port: int) -> BootLine:
    """Return the line of a name server that listens at `bind`. Standard: `NamesrvStartup`."""
    text = f"The Name Server boot success. {SERIALIZE_TYPE}, address {bind}:{port}"
    return BootLine("mqgateway.gateway.namesrv", text)


def controller_boot_line(*, is_alone: bool) -> BootLine:
    """Return the line of a controller, alone or with a name server. Standard: `ControllerStartup`,
    `NamesrvStartup`.
    """
    kind = "Controller Server" if is_alone else "ControllerManager"
    return BootLine("mqgateway.gateway.controller", f"The {kind} boot success. {SERIALIZE_TYPE}")


def container_boot_line(name_servers: str) -> BootLine:
    """Return the line of a broker container. Standard: `BrokerContainerStartup`."""
    text = f"The broker container boot success. {SERIALIZE_TYPE}{_name_server_text(name_servers)}"
    return BootLine("mqgateway.gateway.container", text)


def contained_broker_boot_line(name: str, broker_id: int) -> BootLine:
    """Return the line of a contained broker. Standard: `BrokerContainerStartup.startBrokerController`."""
    text = f"Broker [{name}-{broker_id}] boot success. {SERIALIZE_TYPE}"
    return BootLine("mqgateway.gateway.broker", text)


def log_boot(lines: Iterable[BootLine]) -> None:
    """Write them to their logs."""
    for line in lines:
        logging.getLogger(line.logger).info("%s", line.text)


def _name_server_text(name_servers: str) -> str:
    return f" and name server is {name_servers}" if name_servers else ""
