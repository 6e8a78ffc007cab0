"""Open transactions of a master that is gone, on the slave that acts for it: each goes to another broker.

The half queue is walked from where the master had come; what producers ended is known from the op messages.
Every half message that is left is put once more, which on such a slave sends it to another broker: that one
asks its producer from then on. How far that has come is kept as the group's offset, which the master takes
back when it returns, as it does with all offsets: it does not ask then about what went elsewhere. Standard:
`TransactionalMessageServiceImpl.check`, where a slave acts.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from mqgateway.engine.message import TRANS_HALF_TOPIC, TRANS_OP_HALF_TOPIC, Message, StoredMessage
from mqgateway.engine.steps import Steps
from mqgateway.engine.store.message_store import MessageStore, PutStatus
from mqgateway.engine.tables.offsets import ConsumerOffsets
from mqgateway.engine.transactions.half import HALF_QUEUE, HalfMessage
from mqgateway.engine.transactions.listing import GROUP
from mqgateway.engine.transactions.log import ATTEMPTS_MAX
from mqgateway.engine.transactions.ops import listed
from mqgateway.engine.transactions.settled import Settled

log = logging.getLogger(__name__)

MESSAGES_A_TICK = 1000
_UNITS = 64


class TransactionEscape:
    """`begin` when the slave takes over, `tick` with every beat from then on."""

    def __init__(self, store: MessageStore, offsets: ConsumerOffsets) -> None:
        self._store = store
        self._offsets = offsets
        self._settled = Settled(0, 0)
        self._attempts = 0
        self.count = 0
        """Half messages that went to another broker."""

    def begin(self) -> Steps[None]:
        """Go on where the master was, as far as is known here."""
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
        """Send what is left, oldest first, as far as other brokers take it."""
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
        """Whether one half message is at another broker, or can never get there."""
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
        """Messages of a queue from an offset on, with their offsets; all of them, or so many."""
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
    return Message(
        stored.topic,
        stored.queue_id,
        stored.body,
        dict(stored.properties),
        stored.born_timestamp,
        stored.born_host,
        stored.store_host,
        stored.flag,
        stored.sys_flag,
        stored.reconsume_times,
    )
