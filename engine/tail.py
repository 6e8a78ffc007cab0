"""Messages of a log since a position."""

from __future__ import annotations

from collections.abc import Iterator

from mqgateway.engine.message import StoredMessage
from mqgateway.engine.store.message_store import MessageStore
from mqgateway.engine.store.record import decode


def messages_since(
    store: MessageStore, offset: int, file_size: int, hint: bytes
) -> Iterator[StoredMessage | None]:
    """Yield the messages at and after `offset`, the start of a record, whose records contain `hint`.

    Yields None for each other record, as reading it takes time too.
    """
    lead = store.lead
    at = max(offset, store.min_physical_offset)
    if lead and at % file_size and store.record_at(at) is not None:
        at -= lead  # a record's own position, not the end of one
    while at < store.max_physical_offset:
        record = store.record_at(at + lead) if at % file_size + lead < file_size else None
        if record is None:  # the blank end of a file
            at += file_size - at % file_size
            continue
        at += lead + len(record)
        yield decode(record) if hint in record else None
