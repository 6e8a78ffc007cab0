"""POP on a slave that acts for its master: another broker stores checkpoints and acknowledgements.

They are stored before the answer, as on a master. Until then nothing of the queue is delivered to other
consumers of the group (`busy`): a store in flight may fail, and its messages be delivered again. The broker
that stores them reads the messages here when they become visible (`engine.pop.foreign`), and puts them into
its own retry topic. Messages popped in order have no checkpoint, and wait for nothing. RocketMQ:
`EscapeBridge.asyncPutMessageToSpecificQueue`, which answers acknowledgements whatever their outcome.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from twisted.internet.defer import Deferred, gatherResults, succeed

from mqgateway.engine.ha.escape import Escape
from mqgateway.engine.message import Message
from mqgateway.engine.pop import Ack, CheckPoint, OrderKey
from mqgateway.engine.pop.pop_log import PopLog
from mqgateway.engine.store.message_store import PutResult, PutStatus

NOT_THERE = PutResult(PutStatus.PUT_TO_REMOTE_BROKER_FAIL, remark="no other broker has stored it")


class Taking(NamedTuple):
    """Messages to deliver from one queue: their checkpoint, and the group's next offset."""

    point: CheckPoint
    next_offset: int

    @property
    def place(self) -> OrderKey:
        """The queue, which is busy while the checkpoint is stored."""
        return OrderKey(self.point.key.topic, self.point.key.group, self.point.key.queue_id)


class PopsAway:
    """POP state of a slave that acts for its master; None on other brokers."""

    def __init__(self, log: PopLog, escape: Escape) -> None:
        self._log = log
        self._escape = escape
        self.busy: set[OrderKey] = set()
        """Queues whose checkpoints are in flight."""

    def store(self, takings: Sequence[Taking], queue_id: int) -> Deferred[list[PutResult]]:
        """Store checkpoints on another broker; return a Deferred of the result of each."""
        self.busy |= {taking.place for taking in takings}
        return gatherResults([self._send([self._log.message_of(one.point, queue_id)]) for one in takings])

    def popped(self, taking: Taking) -> None:
        """Move the group past the messages of a stored checkpoint."""
        self._log.popped(taking.point, taking.next_offset)

    def acknowledge(self, acks: Sequence[Ack], queue_id: int, revive_time: int) -> Deferred[PutResult]:
        """Store acknowledgements on another broker; return a Deferred of the result."""
        messages = [self._log.message_of(ack, queue_id, revive_time) for ack in acks]

        def done(result: PutResult) -> PutResult:
            for ack in acks if result.status is PutStatus.PUT_OK else ():
                self._log.acknowledged(ack)
            return result

        return self._send(messages).addCallback(done)

    def change(self, point: CheckPoint, ack: Ack, queue_id: int, revive_time: int) -> Deferred[PutResult]:
        """Store the new checkpoint on another broker, then the acknowledgement that ends the old one."""
        messages = [
            self._log.message_of(point, queue_id),
            self._log.message_of(ack, queue_id, revive_time, is_replaced=True),
        ]

        def done(result: PutResult) -> PutResult:
            if result.status is PutStatus.PUT_OK:
                self._log.changed(point, ack, revive_time)
            return result

        return self._send(messages).addCallback(done)

    def _send(self, messages: Sequence[Message]) -> Deferred[PutResult]:
        """Send the messages one after the other until one fails."""
        if not messages:
            return succeed(PutResult(PutStatus.PUT_OK))
        refusal = self._log.put_aside(messages[0])
        if refusal is not None:
            return succeed(PutResult(refusal))
        arrived: Deferred[bool] = Deferred()
        self._escape.carry(messages[0], arrived.callback)
        return arrived.addCallback(lambda is_stored: self._send(messages[1:]) if is_stored else NOT_THERE)
