"""What is refused by its headers, before anybody looks who asks: what other sites have browsers send.

A site that a user visits may let the browser ask any address, also this machine's own, and with a name that
it has resolved to that address (DNS rebinding) it may read the answers too. So only names are answered that
are meant for the console, and nothing that comes from pages of others. Pure.
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
    """`hosts` are names by which the console may be called beside localhost and addresses."""

    def __init__(self, hosts: str = "") -> None:
        self._hosts = {host.strip().lower() for host in hosts.split(",") if host.strip()}

    def check_host(self, host: str) -> None:
        """Refuse to be called by a name that is not ours. Raises `ApiError`."""
        name = _host_name(host)
        if not (_is_own(name) or self._is_named(host)):
            shown = name or "that name"
            raise ApiError(403, f"the console does not answer to {shown}; add the name to consoleHosts")

    def check_origin(self, headers: Mapping[str, str]) -> None:
        """Refuse what the page of another site asks for. `headers` by lower-case names. Raises `ApiError`."""
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
    """Refuse a body that is no JSON, and a write without the session's token. Raises `ApiError`."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != JSON:
        raise ApiError(415, f"the body must be {JSON}")
    if csrf is not None and headers.get(CSRF_HEADER, "") != csrf:
        raise ApiError(403, f"the header {CSRF_HEADER} must have the session's csrf token")


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
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
