"""Open transactions of a master that is down, on the slave acting for it: each is sent to another broker.

The half queue is walked from the master's progress; op messages list the transactions that producers ended.
Every remaining half message is put again, which on such a slave sends it to another broker: that one checks
with its producer from then on. The progress is kept as the group's offset. The master takes that back when it
returns, as all offsets, and does not check the transactions that were sent elsewhere. RocketMQ:
`TransactionalMessageServiceImpl.check`, where a slave acts.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from mqgateway.engine.message import TRANS_HALF_TOPIC, TRANS_OP_HALF_TOPIC, Message, StoredMessage
from mqgateway.engine.steps import Steps
from mqgateway.engine.store.message_store import MessageStore, PutStatus
from mqgateway.engine.tables.offsets import ConsumerOffsets
from mqgateway.engine.transactions.checks import ATTEMPTS_MAX
from mqgateway.engine.transactions.half import HALF_QUEUE, HalfMessage
from mqgateway.engine.transactions.listing import GROUP
from mqgateway.engine.transactions.ops import listed
from mqgateway.engine.transactions.settled import Settled

log = logging.getLogger(__name__)

MESSAGES_A_TICK = 1000
_UNITS = 64


class TransactionEscape:
    """Sends open transactions. Call `begin` when the slave takes over, `tick` periodically from then on."""

    def __init__(self, store: MessageStore, offsets: ConsumerOffsets) -> None:
        self._store = store
        self._offsets = offsets
        self._settled = Settled(0, 0)
        self._attempts = 0
        self.count = 0
        """Number of half messages sent to another broker."""

    def begin(self) -> Steps[None]:
        """Resume at the master's progress, as far as it is known here."""
        half, op = (
            max(self._store.min_offset(topic, HALF_QUEUE), self._offsets.query(GROUP, topic, HALF_QUEUE))
            for topic in (TRANS_HALF_TOPIC, TRANS_OP_HALF_TOPIC)
        )
        self._settled = Settled(half, op)
        self._attempts = 0
        for offset, stored in self._messages(TRANS_OP_HALF_TOPIC, op):
            yield
            ended = listed(stored)
            for half_offset in ended:
                self._settled.add(half_offset)
            self._settled.listed(offset, ended)
        self._settled.advance()

    def tick(self) -> None:
        """Send the remaining half messages, oldest first, as far as other brokers accept them."""
        before = self._settled.progress
        end = min(self._store.max_offset(TRANS_HALF_TOPIC, HALF_QUEUE), before + MESSAGES_A_TICK)
        while self._settled.progress < end and self._send(self._settled.progress):
            self._settled.add(self._settled.progress)
            self._settled.advance()
            self._attempts = 0
        if self._settled.progress != before:
            settled = self._settled
            self._offsets.commit(GROUP, TRANS_HALF_TOPIC, HALF_QUEUE, settled.progress)
            self._offsets.commit(GROUP, TRANS_OP_HALF_TOPIC, HALF_QUEUE, settled.op_progress)

    def _send(self, offset: int) -> bool:
        """Send one half message; return True if it has arrived, or can never be sent."""
        found = list(self._messages(TRANS_HALF_TOPIC, offset, 1))
        stored = found[0][1] if found else None
        if stored is None:
            self._attempts += 1
            if self._attempts >= ATTEMPTS_MAX:
                log.error("half message %d cannot be read and is skipped", offset)
            return self._attempts >= ATTEMPTS_MAX
        half = HalfMessage(stored)
        if half.queue_id is None:
            log.error("half message %d has no original topic and is skipped", offset)
            return True
        if self._store.put(_again(stored)).status is not PutStatus.PUT_OK:
            return False
        self.count += 1
        return True

    def _messages(
        self, topic: str, offset: int, count: int | None = None
    ) -> Iterator[tuple[int, StoredMessage | None]]:
        """Yield messages of a queue from an offset on, with their offsets; all of them, or `count`."""
        store = self._store
        end = store.max_offset(topic, HALF_QUEUE)
        if count is not None:
            end = min(end, offset + count)
        while offset < end:
            units = store.consume_queue_units(topic, HALF_QUEUE, offset, min(_UNITS, end - offset))
            if not units:
                break
            for physical_offset, _, _ in units:
                yield offset, store.look_up(physical_offset)
                offset += 1


def _again(stored: StoredMessage) -> Message:
    message = stored.copy_to(stored.topic, stored.queue_id, dict(stored.properties))
    message.prepared_transaction_offset = 0
    return message
