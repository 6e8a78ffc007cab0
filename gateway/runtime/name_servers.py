"""Name servers: a list in one setting, queried one after the other until one answers.

Name servers do not know each other, and each has all routes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def split_addresses(text: str | None) -> list[str]:
    """Return the addresses in `namesrvAddr`: `HOST:PORT`, separated by semicolons."""
    return [address.strip() for address in (text or "").split(";") if address.strip()]


def address_fault(address: str) -> str | None:
    """Return the fault of an invalid server address, with the right form; None for a valid one."""
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
    """Return the answer of the first server that does not fail with `passed_over`.

    `addresses` must not be empty. If all fail, raises the error of the last one.
    """
    *others, last = addresses
    for address in others:
        try:
            return await ask(address)
        except passed_over:
            continue
    return await ask(last)
