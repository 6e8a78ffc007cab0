"""Checks of request headers before authentication, against requests that other sites make browsers send.

A site that a user visits can make the browser send requests to any address, including this machine's. With a
name that it has resolved to that address (DNS rebinding) it can also read the answers. Therefore the console
accepts only its own host names, and refuses requests from pages of other sites. Pure.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

from mqgateway.gateway.web.route import ApiError

OWN_FETCHES = ("same-origin", "none")
CSRF_HEADER = "x-console-token"
JSON = "application/json"


class Guard:
    """Checks of host and origin. `hosts` are the accepted host names besides localhost and IP addresses."""

    def __init__(self, hosts: str = "") -> None:
        self._hosts = {host.strip().lower() for host in hosts.split(",") if host.strip()}

    def check_host(self, host: str) -> None:
        """Raise `ApiError` for a host name that is not the console's."""
        name = _host_name(host)
        if not (_is_own(name) or self._is_named(host)):
            shown = name or "that name"
            raise ApiError(403, f"the console does not answer to {shown}; add the name to consoleHosts")

    def check_origin(self, headers: Mapping[str, str]) -> None:
        """Raise `ApiError` for a request from a page of another site. `headers` are by lower-case names."""
        origin, fetch = headers.get("origin"), headers.get("sec-fetch-site")
        if origin is not None:
            asked = urlsplit(origin).netloc.lower()
            if not asked or (asked != headers.get("host", "").lower() and not self._is_named(asked)):
                raise ApiError(403, "the request comes from another site; see consoleHosts")
        elif fetch is not None and fetch not in OWN_FETCHES:
            raise ApiError(403, "the request comes from another site")

    def _is_named(self, host: str) -> bool:
        return host.lower() in self._hosts or _host_name(host) in self._hosts


def check_write(headers: Mapping[str, str], csrf: str | None) -> None:
    """Raise `ApiError` for a body that is not JSON, and for a write without the session's token."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != JSON:
        raise ApiError(415, f"the body must be {JSON}")
    if csrf is not None and headers.get(CSRF_HEADER, "") != csrf:
        raise ApiError(403, f"the header {CSRF_HEADER} must have the session's csrf token")


def is_loopback(host: str) -> bool:
    """Return True if an address is reachable from this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _host_name(host: str) -> str:
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _is_own(name: str) -> bool:
    if name == "localhost":
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
