"""Helpers for tests of replication: a log that is only numbers, and settings."""

from typing import Any

from mqgateway.engine.options import StoreOptions

FILE = 1000


class Ends:
    """A log with [min_offset, position)."""

    def __init__(self, position: int, min_offset: int = 0, file_size: int = FILE) -> None:
        self.position = position
        self.min_offset = min_offset
        self.file_size = file_size


def options(**changes: Any) -> StoreOptions:
    """Return RocketMQ's settings with some changes."""
    return StoreOptions(**changes)
