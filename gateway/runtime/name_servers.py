"""Name servers: a list in one setting, and one asked after the other until one answers.

None knows of the others, and each knows everything.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def split_addresses(text: str | None) -> list[str]:
    """The addresses in `namesrvAddr`: `HOST:PORT`, separated by semicolons."""
    return [address.strip() for address in (text or "").split(";") if address.strip()]


def address_fault(address: str) -> str | None:
    """Return why a text is no address of a server, with what is right; None if it is one."""
    host, separator, port = address.rpartition(":")
    if "://" in address:
        return f"{address!r} is a URL: write HOST:PORT without {address.partition('://')[0]}://"
    if not separator or not host:
        return f"{address!r} has no port: write HOST:PORT"
    if not (port.isascii() and port.isdecimal()) or not 0 < int(port) < 65536:
        return f"{address!r} has no port between 1 and 65535: write HOST:PORT"
    return None


async def ask_in_turn(
    addresses: Sequence[str],
    ask: Callable[[str], Awaitable[T]],
    passed_over: type[Exception] = Exception,
) -> T:
    """What the first of them answers; there must be one. Who fails with `passed_over` is passed over, but for
    the last one, with whose error this fails then."""
    *others, last = addresses
    for address in others:
        try:
            return await ask(address)
        except passed_over:
            continue
    return await ask(last)
