"""Ids of Kafka's groups as names of RocketMQ's groups, and back.

A group id is any text. What RocketMQ does not allow in a group's name is escaped: `%` and two hexadecimal
digits for each byte of UTF-8. So is `%` itself, which makes the mapping unique.
"""

from __future__ import annotations

import re
from functools import lru_cache

_ALLOWED = re.compile(r"[a-zA-Z0-9_|-]")
_ESCAPED = re.compile(r"(?:%[0-9A-F]{2})+")


@lru_cache(256)
def store_group(group_id: str) -> str:
    """Return the name of a group in RocketMQ's tables."""
    return "".join(char if _ALLOWED.fullmatch(char) else _escaped(char) for char in group_id)


def kafka_group(name: str) -> str | None:
    """Return the id of a group by its name in RocketMQ's tables, None if no id gives that name."""
    try:
        group_id = _ESCAPED.sub(lambda match: bytes.fromhex(match[0].replace("%", "")).decode(), name)
    except UnicodeDecodeError:
        return None
    return group_id if store_group(group_id) == name else None


def _escaped(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "replace"))
