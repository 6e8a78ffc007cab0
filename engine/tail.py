"""What a log got since some place in it, message by message."""

from __future__ import annotations

from collections.abc import Iterator

from mqgateway.engine.message import StoredMessage
from mqgateway.engine.store.message_store import MessageStore
from mqgateway.engine.store.record import decode


def messages_since(
    store: MessageStore, offset: int, file_size: int, hint: bytes
) -> Iterator[StoredMessage | None]:
    """The messages whose records lie at `offset`, where one must begin, or behind it, and hold `hint`; None
    for each that does not, as it takes its time to read it."""
    offset = max(offset, store.min_physical_offset)
    while offset < store.max_physical_offset:
        record = store.record_at(offset)
        if record is None:  # the blank end of a file
            offset += file_size - offset % file_size
            continue
        offset += len(record)
        yield decode(record) if hint in record else None
