"""What a log got since some place in it, message by message."""

from __future__ import annotations

from collections.abc import Iterator

from engine.message import StoredMessage
from engine.store.message_store import MessageStore
from engine.store.record import decode


def messages_since(store: MessageStore, offset: int, file_size: int, hint: bytes) -> Iterator[StoredMessage]:
    """The messages whose records lie at `offset`, where one must begin, or behind it, and hold `hint`."""
    offset = max(offset, store.min_physical_offset)
    while offset < store.max_physical_offset:
        record = store.record_at(offset)
        if record is None:  # the blank end of a file
            offset += file_size - offset % file_size
            continue
        offset += len(record)
        if hint in record:
            stored = decode(record)
            if stored is not None:
                yield stored
