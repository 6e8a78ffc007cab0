"""Half messages by their offset: which are settled, which copies they have, which are waited for.

A half message that is put again becomes a copy at the end of the half queue. The end of a transaction that
names the original settles the copy too, and an end that was taken is not taken again.
"""

from __future__ import annotations

from typing import NamedTuple

from mqgateway.engine.clock import Clock
from mqgateway.engine.counting import Counting
from mqgateway.engine.message import TRANS_HALF_TOPIC, Message, StoredMessage
from mqgateway.engine.options import BrokerOptions, FlushDiskType, StoreOptions
from mqgateway.engine.store.message_store import MessageStore, PutResult, PutStatus
from mqgateway.engine.tables.offsets import ConsumerOffsets
from mqgateway.engine.transactions.counts import TransactionCounts
from mqgateway.engine.transactions.half import HALF_QUEUE, HalfMessage
from mqgateway.engine.transactions.listing import Listing
from mqgateway.engine.transactions.settled import Recent
from mqgateway.engine.unique_keys import UniqueKeys

REPEATED_MAX = 10_000
"""Number of ends without a check that are remembered, to detect repetitions."""


class HeldHalf(NamedTuple):
    """Time (ms) until which a half message is skipped; with a group, only while no member is reachable."""

    until: int
    group: str | None
    topic: str = ""


class OpenHalves:
    """The half messages of a store; `begin` resets them. `listing` records those that are settled, `counts`
    those that are open by topic."""

    def __init__(
        self,
        store: MessageStore,
        offsets: ConsumerOffsets,
        counts: TransactionCounts,
        options: BrokerOptions,
        store_options: StoreOptions,
        clock: Clock,
        unique_keys: UniqueKeys,
        store_host: bytes,
        stats: Counting,
    ) -> None:
        self._store = store
        self.counts = counts
        self._options = options
        self._is_flushed_at_once = store_options.flush_disk_type is FlushDiskType.SYNC_FLUSH
        self.listing = Listing(store, offsets, options, clock, unique_keys, store_host, self.put, stats)
        self.begin(0, 0)

    def begin(self, progress: int, op_progress: int) -> None:
        """Reset to the progress in the half queue and that of op messages."""
        self.listing.begin(progress, op_progress)
        self.settled = self.listing.settled
        # By the offset of the producer's own message: its current copy, and the last ends.
        self.newest: dict[int, int] = {}
        self.answered = Recent(self._options.max_waiting_transactions)
        self._answered_unasked = Recent(REPEATED_MAX)
        self.held: dict[int, HeldHalf] = {}
        """Half messages that are skipped for now, by offset."""
        self.unreadable: dict[int, int] = {}
        """Failed reads by offset."""

    def at(self, offset: int) -> tuple[StoredMessage | None, bool]:
        """Return a message of the half queue, or None if it is unreadable; and True if it never will be
        readable."""
        units = self._store.consume_queue_units(TRANS_HALF_TOPIC, HALF_QUEUE, offset, 1)
        if not units:
            return None, True
        return self._store.look_up(units[0][0]), units[0][0] < self._store.min_physical_offset

    def ahead(self, half: HalfMessage) -> int:
        """Return the lead of steady time when it was sent; a copy has the times of its original."""
        stored, position = half.stored, half.stored.physical_offset
        if half.is_copy:
            units = self._store.consume_queue_units(TRANS_HALF_TOPIC, HALF_QUEUE, half.origin, 1)
            return self._store.steady.ahead_at(units[0][0] if units else position, stored.born_timestamp)
        return self._store.steady.ahead_at(position, stored.store_timestamp)

    def put(self, message: Message) -> PutResult:
        """Store a message."""
        result = self._store.put(message)
        if self._is_flushed_at_once and result.status is PutStatus.PUT_OK:
            # No request waits for this one, but it is visible only when it is durable.
            self._store.when_flushed(result.end_offset, lambda _: None)
        return result

    def is_answered(self, half: HalfMessage) -> bool:
        """Return True if the end of its transaction was taken."""
        return half.origin in self.answered or half.origin in self._answered_unasked

    def take_answer(self, half: HalfMessage) -> None:
        """Take the end of a transaction, which settles the half message and its copy."""
        own, origin = half.stored.queue_offset, half.origin
        is_replaced = half.is_copy or own in self.settled
        (self.answered if is_replaced else self._answered_unasked).add(origin)
        newest = self.newest.pop(origin, own)
        self.settle(own)
        if newest != own:
            self.settle(newest)
        self.counts.add(half.topic, -1)
        if self.listing.is_full:
            self.listing.write()

    def settle(self, offset: int) -> None:
        """Settle the half message at an offset."""
        self.listing.add(offset)
        self.held.pop(offset, None)
        self.unreadable.pop(offset, None)

    def note_copy(self, half: HalfMessage, offset: int) -> None:
        """Note the offset of the current copy, if there is room."""
        if half.origin in self.newest or len(self.newest) < self._options.max_waiting_transactions:
            self.newest[half.origin] = offset
