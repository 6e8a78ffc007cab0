"""Commits that the log has and no op message lists: what a broker did in its last seconds before it died.

Op messages are written a while after what they list (`transactionOpBatchInterval`), but a commit is itself in
the log: it says which half message it was. Read from the log's end they spare producers a question, and
consumers a second copy.
"""

from __future__ import annotations

from collections.abc import Iterator

from mqgateway.engine.message import (
    PROPERTY_REAL_TOPIC,
    TRANS_HALF_TOPIC,
    TRANS_OP_HALF_TOPIC,
    StoredMessage,
    SysFlag,
)
from mqgateway.engine.store.message_store import MessageStore
from mqgateway.engine.store.record import decode
from mqgateway.engine.tail import messages_since
from mqgateway.engine.transactions.half import HALF_QUEUE

SLACK_MILLIS = 2000
"""How much later than planned an op message may be written."""


def unlisted_commits(
    store: MessageStore, first_open: int, file_size: int, batch_millis: int
) -> Iterator[StoredMessage]:
    """Commits behind the last op message; `first_open` is the first half message that is not ended.

    Looked through is what was stored in the last `batch_millis`, or little more; a delayed commit is found
    where it waits, where it was delivered, or both.
    """
    begin = _begin(store, first_open, file_size, store.latest_store_time - batch_millis - SLACK_MILLIS)
    for stored in messages_since(store, begin, file_size, PROPERTY_REAL_TOPIC.encode()):
        if stored is not None and stored.sys_flag & SysFlag.TRANSACTION_MASK == SysFlag.TRANSACTION_COMMIT:
            yield stored


def _begin(store: MessageStore, first_open: int, file_size: int, time: int) -> int:
    """Where a record begins, as late as can be told quickly, that all such commits lie behind."""
    ops_end = store.max_offset(TRANS_OP_HALF_TOPIC, HALF_QUEUE)
    earlier = store.offset_by_time(TRANS_HALF_TOPIC, HALF_QUEUE, time) - 1
    places = [
        _place(store, TRANS_OP_HALF_TOPIC, ops_end - 1),
        _place(store, TRANS_HALF_TOPIC, first_open),
        _place(store, TRANS_HALF_TOPIC, earlier),
    ]
    file = store.max_physical_offset // file_size * file_size
    while file > store.min_physical_offset and not _is_older(store.record_at(file), time):
        file -= file_size
    return max(file, *places)


def _place(store: MessageStore, topic: str, offset: int) -> int:
    if offset < store.min_offset(topic, HALF_QUEUE):
        return 0
    units = store.consume_queue_units(topic, HALF_QUEUE, offset, 1)
    return units[0][0] if units else 0


def _is_older(record: bytes | None, time: int) -> bool:
    return record is not None and decode(record).store_timestamp < time
