"""What the standard's servers say on standard output and in their logs once they are up.

Tools wait for these lines, and so do people who were told to look for them.
"""

import logging
from collections.abc import Iterable
from typing import NamedTuple

SERIALIZE_TYPE = "serializeType=JSON"
"""How requests of the servers' own are written."""


class BootLine(NamedTuple):
    """A line, and the logger that it goes to."""

    logger: str
    text: str


def broker_boot_line(name: str, address: str, name_servers: str) -> BootLine:
    """Of a broker that clients reach at `address`. Standard: `BrokerStartup`."""
    text = f"The broker[{name}, {address}] boot success. {SERIALIZE_TYPE}{_told(name_servers)}"
    return BootLine("mqgateway.gateway.broker", text)


def name_server_boot_line(bind: str, port: int) -> BootLine:
    """Of a name server that listens at `bind`. Standard: `NamesrvStartup`."""
    text = f"The Name Server boot success. {SERIALIZE_TYPE}, address {bind}:{port}"
    return BootLine("mqgateway.gateway.namesrv", text)


def controller_boot_line(*, is_alone: bool) -> BootLine:
    """Of a controller, by itself or beside a name server. Standard: `ControllerStartup`, `NamesrvStartup`."""
    kind = "Controller Server" if is_alone else "ControllerManager"
    return BootLine("mqgateway.gateway.controller", f"The {kind} boot success. {SERIALIZE_TYPE}")


def container_boot_line(name_servers: str) -> BootLine:
    """Of a broker container. Standard: `BrokerContainerStartup`."""
    text = f"The broker container boot success. {SERIALIZE_TYPE}{_told(name_servers)}"
    return BootLine("mqgateway.gateway.container", text)


def contained_broker_boot_line(name: str, broker_id: int) -> BootLine:
    """Of a broker in a container. Standard: `BrokerContainerStartup.startBrokerController`."""
    text = f"Broker [{name}-{broker_id}] boot success. {SERIALIZE_TYPE}"
    return BootLine("mqgateway.gateway.broker", text)


def log_boot(lines: Iterable[BootLine]) -> None:
    """Write them to their logs."""
    for line in lines:
        logging.getLogger(line.logger).info("%s", line.text)


def _told(name_servers: str) -> str:
    return f" and name server is {name_servers}" if name_servers else ""
