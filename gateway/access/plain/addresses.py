"""Addresses that need no signature, in the forms of version 4.

    *   *.*.*.*   *:*:*:*:*:*:*:*       all
    10.0.0.7   2001:db8::7              one
    10.0.0.7,10.0.0.9                   some
    10.0.0.{7,9}   2001:db8::{7,9}      some
    10.0.0.*   10.0.0.7-20   10.0.7-20.*   2001:db8::*   2001:db8::1-ff   2001:db8::1-ff:*

RocketMQ: `RemoteAddressStrategyFactory`, `AclUtils`.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import NamedTuple

from mqgateway.gateway.access.errors import AccessError
from mqgateway.gateway.access.policies import Address, parse_address

ALL_ADDRESSES = ("*", "*.*.*.*", "*:*:*:*:*:*:*:*")


class AddressRange(NamedTuple):
    """Addresses of one version, from the first to the last."""

    first: Address
    last: Address


class WhiteAddresses:
    """The addresses of one text."""

    def __init__(self, ranges: Iterable[AddressRange] = (), *, matches_all: bool = False) -> None:
        self._ranges = tuple(ranges)
        self._matches_all = matches_all

    def match(self, ip: str) -> bool:
        """Return True if a client's address is among them."""
        if self._matches_all:
            return True
        address = parse_address(ip) if self._ranges else None
        if address is None:
            return False
        return any(
            first.version == address.version and int(first) <= int(address) <= int(last)
            for first, last in self._ranges
        )


NO_ADDRESS = WhiteAddresses()


def parse_white_address(text: str | None) -> WhiteAddresses:
    """Parse addresses; an empty text has none. Raises `AccessError`."""
    if text is None or not text.strip():
        return NO_ADDRESS
    if text in ALL_ADDRESSES:
        return WhiteAddresses(matches_all=True)
    if text.endswith("}"):
        beginning, brace, ends = text[:-1].rpartition("{")
        if not brace or not beginning.endswith((".", ":")):
            raise AccessError(f"Netaddress examine scope Exception netaddress is {text}")
        return WhiteAddresses(_one(beginning + end) for end in ends.split(",") if end)
    if "," in text:
        return WhiteAddresses(_one(part) for part in text.split(",") if part)
    if "*" in text or "-" in text:
        return WhiteAddresses([_range(text)])
    return WhiteAddresses([_one(text)])


def _one(text: str) -> AddressRange:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        raise AccessError(f"Netaddress examine Exception netaddress is {text}") from None
    return AddressRange(address, address)


def _range(text: str) -> AddressRange:
    """Parse an address with a range in one part and `*` in all parts after it: one run of addresses."""
    between, base, most = (":", 16, 0xFFFF) if ":" in text else (".", 10, 255)
    parts = [part.strip() for part in text.split(between)]
    any_after = 0
    while parts and parts[-1] == "*":
        any_after += 1
        parts.pop()
    first, last = [0] * any_after, [most] * any_after
    try:
        if parts and "-" in parts[-1]:
            begin, end = (int(one, base) for one in parts.pop().split("-"))
            if not 0 <= begin <= end <= most:
                raise ValueError
            first.insert(0, begin)
            last.insert(0, end)
        ends = (ipaddress.ip_address(between.join([*parts, *_written(tail, base)])) for tail in (first, last))
        return AddressRange(*ends)
    except ValueError:
        raise AccessError(f"Netaddress examine scope Exception netaddress is {text}") from None


def _written(numbers: Iterable[int], base: int) -> Iterable[str]:
    return (f"{number:x}" if base == 16 else str(number) for number in numbers)
