"""Recording of settled half messages: op messages list them, consumerOffset.json has the progress.

Half messages that are settled together are listed together, in op messages a little later. The progress is
committed only once the log that it relies on is durable. RocketMQ: `TransactionalOpBatchService`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from mqgateway.engine.clock import Clock
from mqgateway.engine.counting import Counting
from mqgateway.engine.message import TRANS_HALF_TOPIC, TRANS_OP_HALF_TOPIC, Message
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.store.message_store import MessageStore, PutResult, PutStatus
from mqgateway.engine.tables.offsets import ConsumerOffsets
from mqgateway.engine.transactions.half import HALF_QUEUE
from mqgateway.engine.transactions.ops import first_body, op_message, size_of
from mqgateway.engine.transactions.settled import Settled
from mqgateway.engine.transactions.unlisted import GROWTH_MAX
from mqgateway.engine.unique_keys import UniqueKeys

log = logging.getLogger(__name__)

GROUP = "CID_RMQ_SYS_TRANS"


class Listing:
    """Settled half messages after a group's offsets; `begin` resets them.

    `put` stores an op message, `stats` counts
    it.
    """

    def __init__(
        self,
        store: MessageStore,
        offsets: ConsumerOffsets,
        options: BrokerOptions,
        clock: Clock,
        unique_keys: UniqueKeys,
        store_host: bytes,
        put: Callable[[Message], PutResult],
        stats: Counting,
    ) -> None:
        self._store = store
        self._offsets = offsets
        self._options = options
        self._clock = clock
        self._unique_keys = unique_keys
        self._store_host = store_host
        self._put = put
        self._stats = stats
        self.begin(0, 0)

    def begin(self, progress: int, op_progress: int) -> None:
        """Reset to the progress in both queues."""
        self.settled = Settled(progress, op_progress)
        self.saved = (progress, op_progress)
        self._unsaved: tuple[int, int, int] | None = None
        self._pending: list[int] = []
        self._pending_size = 0
        self._pending_since = 0.0
        self._pending_from = 0

    def begin_ops(self, op_progress: int) -> None:
        """List all settled messages again, as all op messages are gone."""
        self._pending = sorted({*self._pending, *self.settled.begin_ops(op_progress)})
        self._pending_size = sum(map(size_of, self._pending))

    @property
    def count(self) -> int:
        """Number of offsets that wait to be listed."""
        return len(self._pending)

    @property
    def is_full(self) -> bool:
        """True if they fill an op message."""
        return self._pending_size >= self._options.transaction_op_msg_max_size

    def add(self, offset: int) -> None:
        """Note a settled half message."""
        self.settled.add(offset)
        if not self._pending:
            self._pending_since = self._clock.monotonic()
            self._pending_from = self._store.max_physical_offset
        self._pending.append(offset)
        self._pending_size += size_of(offset)

    def reach_back(self, physical_offset: int) -> None:
        """Note that pending offsets were settled when the log ended there, or before."""
        self._pending_from = min(self._pending_from, physical_offset)

    def tick(self) -> None:
        """Write and save what is due."""
        waiting = (self._clock.monotonic() - self._pending_since) * 1000
        grown = self._store.max_physical_offset - self._pending_from
        interval = self._options.transaction_op_batch_interval
        if self._pending and (waiting >= interval or grown >= GROWTH_MAX):
            self.write()
        self.save()

    def write(self) -> None:
        """Write op messages for all pending offsets; a failed write is retried."""
        while self._pending:
            count, body = first_body(self._pending, self._options.transaction_op_msg_max_size)
            written = self._pending[:count]
            now = self._clock.millis()
            result = self._put(op_message(body, self._unique_keys.next(now), now, self._store_host))
            if result.status is not PutStatus.PUT_OK:
                log.warning("ends of transactions cannot be written: %s", result.remark or result.status.name)
                self._pending_since = self._clock.monotonic()
                return
            self.settled.listed(result.queue_offset, written)
            size = result.end_offset - result.physical_offset
            self._stats.put(TRANS_OP_HALF_TOPIC, 1, size)
            # Its content is known here already; RocketMQ's broker reads it to learn that.
            self._stats.got(GROUP, TRANS_OP_HALF_TOPIC, 1, size)
            del self._pending[:count]
            self._pending_size -= len(body)
        self.settled.advance()

    def save(self) -> None:
        """Commit the progress, as far as the log that it relies on is durable."""
        if self._unsaved is None:
            progress = (self.settled.progress, self.settled.op_progress)
            if progress == self.saved:
                return
            self._unsaved = (self._store.max_physical_offset, *progress)
        relied_on, half, op = self._unsaved
        if self._store.flushed_offset < relied_on:
            return
        self.saved = (half, op)
        self._unsaved = None
        self.commit()

    def commit(self) -> None:
        """Commit the saved progress as offsets."""
        half, op = self.saved
        self._offsets.commit(GROUP, TRANS_HALF_TOPIC, HALF_QUEUE, half)
        self._offsets.commit(GROUP, TRANS_OP_HALF_TOPIC, HALF_QUEUE, op)
