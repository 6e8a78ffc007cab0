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
    lead = store.lead
    at = max(offset, store.min_physical_offset)
    if lead and at % file_size and store.record_at(at) is not None:
        at -= lead  # a record's own place, and not where one ends
    while at < store.max_physical_offset:
        record = store.record_at(at + lead) if at % file_size + lead < file_size else None
        if record is None:  # the blank end of a file
            at += file_size - at % file_size
            continue
        at += lead + len(record)
        yield decode(record) if hint in record else None
