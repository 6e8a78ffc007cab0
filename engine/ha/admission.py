"""Whom a broker gives its log to: who may be taken for a slave that connects.

A broker that asks who somebody is gives tickets to those who may have one, on its port for clients, where
requests are signed; a slave shows its ticket before its first report, once and soon:

    slave -> master   mark      8 bytes, which as a report would be an offset below 0
                      ticket    16 bytes

The standard's slaves know of no tickets and are taken by their address, which has to be allowed for that.
A broker that asks nobody takes who comes from the address of a member of its group. Times are in ms.
"""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Collection
from enum import Enum, auto
from typing import TypeVar

from mqgateway.engine.errors import ConfigError

TICKET = "haTicket"
"""The field of the answer to 906 that has a ticket, in hexadecimal digits; the standard's pass over it."""
MARK = b"\xffMQslave"
TICKET_SIZE = 16
TICKET_MILLIS = 10_000
"""How long a ticket may be shown."""
TICKETS_MAX = 64
"""Tickets that are out; the oldest is forgotten for one more."""
ASKED_MILLIS = 60_000
"""How long an address counts that asked for the master's log before name servers knew of it."""
REFUSED_MILLIS = 3000
"""How long an address that is no member's is refused without looking again; slaves come every 5 s."""
ADDRESSES_MAX = 256

K = TypeVar("K")

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Entrance(Enum):
    """What becomes of who stands before the port."""

    OPEN = auto()
    CLOSED = auto()
    UNKNOWN = auto()
    """Name servers have to be asked who is in the group."""


def networks_of(text: str) -> tuple[Network, ...]:
    """The addresses and networks in a setting, separated by commas. Raises `ConfigError`."""
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
    """The ticket, if there is one, and what follows it; None while that is not clear yet."""
    if not data or (MARK.startswith(data[: len(MARK)]) and len(data) < len(MARK) + TICKET_SIZE):
        return None
    if not data.startswith(MARK):
        return b"", data
    end = len(MARK) + TICKET_SIZE
    return data[len(MARK) : end], data[end:]


def shown_ticket(text: str) -> bytes:
    """What a slave says first that was given this ticket, in hexadecimal digits; nothing without one."""
    try:
        ticket = bytes.fromhex(text)
    except ValueError:
        return b""
    return MARK + ticket if len(ticket) == TICKET_SIZE else b""


class Admission:
    """What a broker knows of those who may follow it. With `asks_who` its members need tickets.

    Raises `ConfigError` where `allowed`, a setting, is wrong.
    """

    def __init__(self, allowed: str, *, asks_who: bool) -> None:
        self._allowed = networks_of(allowed)
        self._asks_who = asks_who
        self._tickets: dict[bytes, int] = {}
        self._members: Collection[str] = ()
        self._asked: dict[str, int] = {}
        self._refused: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._tickets) + len(self._members) + len(self._asked) + len(self._refused)

    def issue(self, now: int) -> bytes:
        """A ticket for who was found to be a slave; empty where none is needed."""
        if not self._asks_who:
            return b""
        ticket = secrets.token_bytes(TICKET_SIZE)
        _remember(self._tickets, ticket, now, TICKETS_MAX)
        return ticket

    def asked(self, host: str, now: int) -> None:
        """Who is to be a slave soon has asked where the log is."""
        if not self._asks_who:
            _remember(self._asked, host, now, ADDRESSES_MAX)

    def members_are(self, hosts: Collection[str], host: str, now: int) -> None:
        """Name servers have said where the members are, as somebody has come from `host`."""
        self._members = hosts
        if host not in hosts:
            _remember(self._refused, host, now, ADDRESSES_MAX)

    def judge(self, ticket: bytes, host: str, now: int) -> Entrance:
        """Whether who comes from `host` with this ticket, empty for none, is a slave."""
        if any(_ip(host) in network for network in self._allowed):
            return Entrance.OPEN
        if self._asks_who:
            issued = self._tickets.pop(ticket, None)
            return Entrance.OPEN if _is_recent(issued, now, TICKET_MILLIS) else Entrance.CLOSED
        if host in self._members or _is_recent(self._asked.get(host), now, ASKED_MILLIS):
            return Entrance.OPEN
        is_refused = _is_recent(self._refused.get(host), now, REFUSED_MILLIS)
        return Entrance.CLOSED if is_refused else Entrance.UNKNOWN

    @property
    def reason(self) -> str:
        """What somebody lacks who is not let in, and what can be done about it."""
        if self._asks_who:
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
