"""Ids of topics and of the cluster, uuids that Kafka prints in base64 for URLs, and of producers.

Standard: `Uuid`.
"""

from __future__ import annotations

import base64
import binascii
import secrets
import uuid
from typing import Final

_SPACE = uuid.UUID("8d9e4c52-7f0a-4c1e-9c33-5b1f6c0a2d17")
"""Names below it are ours."""
PRODUCER_ID_BITS: Final = 62


def new_id() -> bytes:
    """Return a new id."""
    return uuid.uuid4().bytes


def named_id(name: str) -> bytes:
    """Return the id that belongs to a name."""
    return uuid.uuid5(_SPACE, name).bytes


def text_of_id(value: bytes) -> str:
    """Return the 22 characters of an id."""
    return base64.urlsafe_b64encode(value).decode().rstrip("=")


def id_of_text(text: str) -> bytes | None:
    """Return the id of 22 characters, None if they are no id."""
    try:
        value = base64.urlsafe_b64decode(text + "==")
    except (binascii.Error, ValueError):
        return None
    return value if len(value) == 16 else None


def new_producer_id() -> int:
    """Return a new id of a producer, a random number.

    So none is given twice, by this broker or another, after a crash or from a restored backup, without
    anything that must be written first.
    """
    return secrets.randbits(PRODUCER_ID_BITS)
