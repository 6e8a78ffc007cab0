"""Commits in the log that no op message lists: from a broker's last seconds before a crash.

Op messages are written some time after the ends that they list (`transactionOpBatchInterval`), but a commit
is itself in the log and refers to its half message. Finding them saves producers a check, and consumers a
second copy.
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
"""Maximum growth of the log between an end and its op message."""
SLACK = 16 << 20
"""Additional growth until they were written."""


def unlisted_commits(
    store: MessageStore, first_open: int, file_size: int, tail_size: int = GROWTH_MAX + SLACK
) -> Iterator[StoredMessage]:
    """Yield commits after the last op message; `first_open` is the first unsettled half message.

    The last `tail_size` bytes of the log, or little more, are scanned, whatever their age: a broker that
    crashes repeatedly, or waits for disk space, may not have written op messages for long, and the wall clock
    may have been set. A delayed commit is found where it waits, where it was delivered, or both.
    """
    begin = _begin(store, first_open, file_size, store.max_physical_offset - tail_size)
    for stored in messages_since(store, begin, file_size, PROPERTY_REAL_TOPIC.encode()):
        if stored is not None and stored.sys_flag & SysFlag.TRANSACTION_MASK == SysFlag.TRANSACTION_COMMIT:
            yield stored


def _begin(store: MessageStore, first_open: int, file_size: int, place: int) -> int:
    """Return the start of a record at or little before `place`; later if all such commits are later."""
    places = [
        place // file_size * file_size,
        _place(store, TRANS_OP_HALF_TOPIC, store.max_offset(TRANS_OP_HALF_TOPIC, HALF_QUEUE) - 1),
        _place(store, TRANS_HALF_TOPIC, first_open),
        _place(store, TRANS_HALF_TOPIC, _last_until(store, place)),
    ]
    return max(0, *places)


def _last_until(store: MessageStore, place: int) -> int:
    """Return the last half message at or before a log offset; without one, the first offset - 1."""
    first = store.min_offset(TRANS_HALF_TOPIC, HALF_QUEUE)
    offsets = range(first, store.max_offset(TRANS_HALF_TOPIC, HALF_QUEUE))
    behind = bisect_right(offsets, place, key=lambda offset: _place(store, TRANS_HALF_TOPIC, offset))
    return first + behind - 1


def _place(store: MessageStore, topic: str, offset: int) -> int:
    if offset < store.min_offset(topic, HALF_QUEUE):
        return 0
    units = store.consume_queue_units(topic, HALF_QUEUE, offset, 1)
    return units[0][0] if units else 0
