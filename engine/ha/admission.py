"""Admission of slaves: which connections may receive the log.

A broker with authentication issues tickets to authorized slaves, on its client port, where requests are
signed. A slave presents its ticket once, before its first report, while it is valid:

    slave -> master   mark      8 bytes, which as a report would be an offset below 0
                      ticket    16 bytes

RocketMQ's slaves have no tickets and are accepted by an address allowed in the settings. A broker without
authentication accepts connections from addresses of members of its group. Times are in ms.
"""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Collection
from enum import Enum, auto
from typing import TypeVar

from mqgateway.engine.errors import ConfigError

TICKET = "haTicket"
"""Field of the response to 906 with a ticket, in hexadecimal digits; RocketMQ ignores it."""
MARK = b"\xffMQslave"
TICKET_SIZE = 16
TICKET_MILLIS = 10_000
"""Validity of a ticket."""
TICKETS_MAX = 64
"""Maximum of valid tickets; the oldest is dropped for a new one."""
LOG_REQUEST_MILLIS = 60_000
"""Time for which an address is accepted after it requested the master's log address; name servers lag."""
REFUSED_MILLIS = 3000
"""Time for which the refusal of an unknown address is cached; slaves reconnect every 5 s."""
ADDRESSES_MAX = 256

K = TypeVar("K")

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class AdmissionOutcome(Enum):
    """Outcome of the check of a connection."""

    OPEN = auto()
    CLOSED = auto()
    UNKNOWN = auto()
    """The name servers have to be queried for the members of the group."""


def networks_of(text: str) -> tuple[Network, ...]:
    """Parse the addresses and networks in a setting, separated by commas. Raises `ConfigError`."""
    found = []
    for word in (word.strip() for word in text.split(",")):
        try:
            found += [ipaddress.ip_network(word, strict=False)] if word else []
        except ValueError:
            raise ConfigError(
                f"haAllowedSlaves: {word} is not an address; "
                "write addresses or networks: 10.0.0.7,10.1.0.0/16"
            ) from None
    return tuple(found)


def parted(data: bytes) -> tuple[bytes, bytes] | None:
    """Return the ticket, or b"", and the bytes after it; None while incomplete."""
    if not data or (MARK.startswith(data[: len(MARK)]) and len(data) < len(MARK) + TICKET_SIZE):
        return None
    if not data.startswith(MARK):
        return b"", data
    end = len(MARK) + TICKET_SIZE
    return data[len(MARK) : end], data[end:]


def shown_ticket(text: str) -> bytes:
    """Return a slave's first bytes for a ticket in hexadecimal digits; empty without a valid one."""
    try:
        ticket = bytes.fromhex(text)
    except ValueError:
        return b""
    return MARK + ticket if len(ticket) == TICKET_SIZE else b""


class SlaveAdmission:
    """Checks the connections of slaves. With `requires_tickets` members need tickets.

    Raises `ConfigError` if `allowed`, a setting, is invalid.
    """

    def __init__(self, allowed: str, *, requires_tickets: bool) -> None:
        self._allowed = networks_of(allowed)
        self._requires_tickets = requires_tickets
        self._tickets: dict[bytes, int] = {}
        self._members: Collection[str] = ()
        self._log_requests: dict[str, int] = {}
        self._refused: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._tickets) + len(self._members) + len(self._log_requests) + len(self._refused)

    def issue(self, now: int) -> bytes:
        """Return a ticket for an authorized slave; empty if none is needed."""
        if not self._requires_tickets:
            return b""
        ticket = secrets.token_bytes(TICKET_SIZE)
        _remember(self._tickets, ticket, now, TICKETS_MAX)
        return ticket

    def log_requested(self, host: str, now: int) -> None:
        """Note that a future slave at `host` has requested the log address."""
        if not self._requires_tickets:
            _remember(self._log_requests, host, now, ADDRESSES_MAX)

    def members_are(self, hosts: Collection[str], host: str, now: int) -> None:
        """Set the members' addresses from name servers, queried because of a connection from `host`."""
        self._members = hosts
        if host not in hosts:
            _remember(self._refused, host, now, ADDRESSES_MAX)

    def judge(self, ticket: bytes, host: str, now: int) -> AdmissionOutcome:
        """Decide whether a connection from `host` with this ticket, or b"", is a slave."""
        if any(_ip(host) in network for network in self._allowed):
            return AdmissionOutcome.OPEN
        if self._requires_tickets:
            issued = self._tickets.pop(ticket, None)
            return (
                AdmissionOutcome.OPEN if _is_recent(issued, now, TICKET_MILLIS) else AdmissionOutcome.CLOSED
            )
        if host in self._members or _is_recent(self._log_requests.get(host), now, LOG_REQUEST_MILLIS):
            return AdmissionOutcome.OPEN
        is_refused = _is_recent(self._refused.get(host), now, REFUSED_MILLIS)
        return AdmissionOutcome.CLOSED if is_refused else AdmissionOutcome.UNKNOWN

    @property
    def reason(self) -> str:
        """Reason for a refusal, and its remedy."""
        if self._requires_tickets:
            return (
                "it has no ticket (innerClientAuthenticationCredentials); a slave of Apache's is taken by "
                "its address, named in haAllowedSlaves"
            )
        return "no member of this group has its address; name it in haAllowedSlaves if it is a slave's"


def _remember(table: dict[K, int], key: K, now: int, most: int) -> None:
    table.pop(key, None)
    if len(table) >= most:
        del table[next(iter(table))]
    table[key] = now


def _is_recent(then: int | None, now: int, millis: int) -> bool:
    return then is not None and now - then <= millis


def _ip(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    address = ipaddress.ip_address(host.partition("%")[0])
    return getattr(address, "ipv4_mapped", None) or address
