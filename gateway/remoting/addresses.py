"""Addresses of connections, as they are shown and known."""

from __future__ import annotations


def host_and_port(address: object) -> tuple[str, int]:
    """Ip text and port of a Twisted address; IPv4 addresses on IPv6 sockets are given as IPv4."""
    host: str = getattr(address, "host", "0.0.0.0")
    return host.removeprefix("::ffff:") if "." in host else host, getattr(address, "port", 0)


def format_address(ip: str, port: int) -> str:
    """`ip:port`, with brackets around an IPv6 address."""
    return f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"
