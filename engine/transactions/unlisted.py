"""Commits that the log has and no op message lists: what a broker did in its last seconds before it died.

Op messages are written a while after what they list (`transactionOpBatchInterval`), but a commit is itself in
the log: it says which half message it was. Read from the log's end they spare producers a question, and
consumers a second copy.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from mqgateway.engine.message import (
    PROPERTY_REAL_TOPIC,
    TRANS_HALF_TOPIC,
    TRANS_OP_HALF_TOPIC,
    StoredMessage,
    SysFlag,
)
from mqgateway.engine.store.message_store import MessageStore
from mqgateway.engine.tail import messages_since
from mqgateway.engine.transactions.half import HALF_QUEUE

GROWTH_MAX = 16 << 20
"""Op messages are written no later than when the log has grown by so many bytes since what they list."""
SLACK = 16 << 20
"""How much more the log may have got until they were written."""


def unlisted_commits(
    store: MessageStore, first_open: int, file_size: int, tail_size: int = GROWTH_MAX + SLACK
) -> Iterator[StoredMessage]:
    """Commits behind the last op message; `first_open` is the first half message that is not ended.

    Looked through are the last `tail_size` bytes of the log, or little more, however old they are: a broker
    that dies again and again, or that waits for room on its disk, may have written no op message for long,
    and the wall clock may have been set. A delayed commit is found where it waits, where it was delivered,
    or both.
    """
    begin = _begin(store, first_open, file_size, store.max_physical_offset - tail_size)
    for stored in messages_since(store, begin, file_size, PROPERTY_REAL_TOPIC.encode()):
        if stored is not None and stored.sys_flag & SysFlag.TRANSACTION_MASK == SysFlag.TRANSACTION_COMMIT:
            yield stored


def _begin(store: MessageStore, first_open: int, file_size: int, place: int) -> int:
    """Where a record begins, at `place` or as late before it as can be told quickly; later where all such
    commits lie behind."""
    places = [
        place // file_size * file_size,
        _place(store, TRANS_OP_HALF_TOPIC, store.max_offset(TRANS_OP_HALF_TOPIC, HALF_QUEUE) - 1),
        _place(store, TRANS_HALF_TOPIC, first_open),
        _place(store, TRANS_HALF_TOPIC, _last_until(store, place)),
    ]
    return max(0, *places)


def _last_until(store: MessageStore, place: int) -> int:
    """The last half message that lies at a place in the log or before it; as the first one's predecessor
    where there is none."""
    first = store.min_offset(TRANS_HALF_TOPIC, HALF_QUEUE)
    offsets = range(first, store.max_offset(TRANS_HALF_TOPIC, HALF_QUEUE))
    behind = bisect_right(offsets, place, key=lambda offset: _place(store, TRANS_HALF_TOPIC, offset))
    return first + behind - 1


def _place(store: MessageStore, topic: str, offset: int) -> int:
    if offset < store.min_offset(topic, HALF_QUEUE):
        return 0
    units = store.consume_queue_units(topic, HALF_QUEUE, offset, 1)
    return units[0][0] if units else 0
