"""Start-up summary of a server: its addresses, and warnings about addresses that clients cannot reach.

Pure except `local_addresses` and `in_container`, which query the machine.
"""

import ipaddress
import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass

from mqgateway.gateway.front_end import FrontEnd


def local_addresses() -> list[str]:
    """Return the machine's IPv4 addresses, loopback addresses last."""
    import psutil  # imported here, because it takes a tenth of the time of `--help`

    found = [
        address.address
        for addresses in psutil.net_if_addrs().values()
        for address in addresses
        if address.family == socket.AF_INET
    ]
    return sorted(set(found), key=lambda text: (ipaddress.ip_address(text).is_loopback, text))


def in_container() -> bool:
    """Return True if this process runs in a container, whose address may be invalid outside."""
    return os.path.exists("/.dockerenv") or os.path.exists("/run/.containerenv")


def default_advertise(addresses: Sequence[str]) -> str:
    """Return the address under which a broker registers by default.

    The first address that is neither loopback nor 192.168.*, else the last other one, else
    loopback. Standard: `NetworkUtil.getLocalAddress`.
    """
    outside = [text for text in addresses if not ipaddress.ip_address(text).is_loopback]
    preferred = [text for text in outside if not text.startswith("192.168")]
    if preferred:
        return preferred[0]
    return outside[-1] if outside else "127.0.0.1"


def reach_warnings(advertised: str, bind: str, addresses: Sequence[str], container: bool) -> list[str]:
    """Return reasons why clients may not reach the advertised address, each with a remedy."""
    warnings: list[str] = []
    try:
        ip = ipaddress.ip_address(advertised)
    except ValueError:
        return warnings
    everywhere = bind in ("", "0.0.0.0", "::")
    if ip.is_loopback and everywhere and not container:
        warnings.append(
            f"brokers are advertised as {advertised}, which clients on other machines cannot reach. "
            "Set --advertise (brokerIP1) to an address they can."
        )
    if container and (ip.is_loopback or advertised in addresses):
        warnings.append(
            f"running in a container and advertised as {advertised}, which clients outside cannot reach. "
            "Set --advertise (brokerIP1) to the host's address and publish the ports under the same numbers."
        )
    if not ip.is_loopback and advertised not in addresses:
        warnings.append(
            f"{advertised} is not an address of this machine (its own: {', '.join(addresses)}): "
            "correct behind NAT or a port mapping; otherwise clients cannot connect."
        )
    if not everywhere and bind != advertised and not container:
        warnings.append(f"listening on {bind} only, but advertised as {advertised}.")
    return warnings


def accepted_clients(
    bind: str,
    *,
    authenticates: bool = False,
    authorizes: bool = False,
    has_open_name_server: bool = False,
    allowed_slaves: str = "",
    has_accounts: bool = False,
) -> str:
    """Return a description of the clients that may use a server bound to `bind`, and how to change it.

    `authenticates`: only signed requests are accepted; `authorizes`: only those that policies allow.
    `has_open_name_server`: the name server of the process is still open. `allowed_slaves` are accepted by
    their address. `has_accounts`: the broker accepts the requests that accounts of version 4 allow.
    """
    try:
        is_own = ipaddress.ip_address(bind).is_loopback
    except ValueError:
        is_own = bind == "localhost"
    clients = "all clients on this machine" if is_own else "all clients that can reach these ports"
    if authenticates:
        what = "limited by policies" if authorizes else "without limits, since authorizationEnabled=false"
        name_server = f"the name server: {clients}; " if has_open_name_server else ""
        by_address = f" and {allowed_slaves} (haAllowedSlaves)" if allowed_slaves else ""
        return (
            f"the users of this server, {what}; {name_server}"
            f"the replication port: slaves that sign{by_address}. See docs/security.md"
        )
    if has_accounts:
        return (
            "the accounts of aclEnable, limited by their permissions; "
            f"the name server: {clients}; the replication port: members of the group. See docs/security.md"
        )
    if is_own:
        return f"{clients}: the server listens on {bind} only; access control is off"
    return (
        f"{clients} may read, write and administer: access control is off "
        "(authenticationEnabled, authorizationEnabled; mqgateway serve --secure enables it). "
        "Restrict it with a firewall or with --bind ADDRESS (bindAddress); for this machine only: "
        "--bind 127.0.0.1 --advertise 127.0.0.1"
    )


@dataclass(frozen=True)
class BrokerLine:
    """A broker in the start-up lines, one of several: name, address, and the endpoints of its front ends."""

    name: str
    address: str
    front_ends: Sequence[tuple[FrontEnd, str]] = ()

    def text(self, cluster: str) -> str:
        """Return the line to print, with the front ends that are for clients."""
        shown = [f"; {one.title} {endpoint}" for one, endpoint in self.front_ends if one.is_for_clients]
        return f"broker       {self.address}   ({self.name} of {cluster}{''.join(shown)})"

    def as_json(self) -> dict[str, str]:
        """Return the broker for JSON."""
        endpoints = {one.name: endpoint for one, endpoint in self.front_ends}
        return {"name": self.name, "address": self.address, **endpoints}


@dataclass(frozen=True)
class Summary:
    """Contents of the start-up lines, with the actual ports."""

    name_server: str | None
    broker: str | None
    broker_name: str
    cluster: str
    data: str
    started_in: float
    open_to: str
    warnings: Sequence[str] = ()
    controller: str | None = None
    boot: Sequence[str] = ()
    """Start-up lines of RocketMQ's servers."""
    front_ends: Sequence[tuple[FrontEnd, str | None]] = ()
    """Front ends with their endpoints, None for a front end that is not served."""
    brokers: Sequence[BrokerLine] = ()
    """All brokers of a command that runs several; `broker` is the first of them then."""

    def lines(self) -> list[str]:
        """Return the lines to print; the last reports that the server is ready."""
        lines = []
        if self.name_server:
            lines.append(f"name server  {self.name_server}   (clients: namesrvAddr={self.name_server})")
        if self.controller:
            lines.append(f"controller   {self.controller}   (brokers: controllerAddr={self.controller})")
        if self.brokers:
            lines += [one.text(self.cluster) for one in self.brokers]
        elif self.broker:
            lines.append(
                f"broker       {self.broker}   ({self.broker_name} of {self.cluster}, as clients see it)"
            )
        for front_end, endpoint in self.front_ends:
            if endpoint:
                usage = f"   ({front_end.usage.format(endpoint)})" if front_end.usage else ""
                lines.append(f"{front_end.title:<13}{endpoint}{usage}")
        lines.append(f"data         {self.data}")
        lines.append(f"open to      {self.open_to}")
        lines += [f"warning      {text}" for text in self.warnings]
        lines += self.boot
        lines.append(f"ready in {self.started_in:.2f} s")
        return lines

    def as_json(self) -> dict[str, object]:
        """Return the summary for JSON."""
        return {
            "nameServer": self.name_server,
            "controller": self.controller,
            **{front_end.name: endpoint for front_end, endpoint in reversed(self.front_ends)},
            "broker": self.broker,
            **({"brokers": [one.as_json() for one in self.brokers]} if self.brokers else {}),
            "brokerName": self.broker_name,
            "cluster": self.cluster,
            "data": self.data,
            "openTo": self.open_to,
            "startedInSeconds": round(self.started_in, 3),
            "warnings": list(self.warnings),
            "ready": True,
        }
