"""POP on a slave that acts for its master: check points and acknowledgements are stored by another broker.

They are there before the answer, as they are in the log of a master. Until then nobody else of the group is
given anything of the queue (`busy`): what is under way may yet fail, and be given out again. Who stores them
reads the messages here when their time has come (`engine.pop.foreign`), and puts them into its own retry
topic. What is popped in order has no check point, and waits for nothing. Standard:
`EscapeBridge.asyncPutMessageToSpecificQueue`, which answers acknowledgements whatever became of them.
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
    """What one queue gives out: the check point, and where the group goes on."""

    point: CheckPoint
    next_offset: int

    @property
    def place(self) -> OrderKey:
        """The queue, which is busy meanwhile."""
        return OrderKey(self.point.key.topic, self.point.key.group, self.point.key.queue_id)


class PopsAway:
    """There as long as the slave acts."""

    def __init__(self, log: PopLog, escape: Escape) -> None:
        self._log = log
        self._escape = escape
        self.busy: set[OrderKey] = set()
        """Queues whose check points are under way."""

    def store(self, takings: Sequence[Taking], queue_id: int) -> Deferred[list[PutResult]]:
        """Have check points stored; fires with what became of each."""
        self.busy |= {taking.place for taking in takings}
        return gatherResults([self._send([self._log.message_of(one.point, queue_id)]) for one in takings])

    def popped(self, taking: Taking) -> None:
        """A check point is stored: the group goes on behind it."""
        self._log.popped(taking.point, taking.next_offset)

    def acknowledge(self, acks: Sequence[Ack], queue_id: int, revive_time: int) -> Deferred[PutResult]:
        """Have acknowledgements stored; fires with what became of them."""
        messages = [self._log.message_of(ack, queue_id, revive_time) for ack in acks]

        def done(result: PutResult) -> PutResult:
            for ack in acks if result.status is PutStatus.PUT_OK else ():
                self._log.acknowledged(ack)
            return result

        return self._send(messages).addCallback(done)

    def change(self, point: CheckPoint, ack: Ack, queue_id: int, revive_time: int) -> Deferred[PutResult]:
        """Have the new check point stored, then the acknowledgement that ends the old one."""
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
        """Send them one after the other, as long as that succeeds."""
        if not messages:
            return succeed(PutResult(PutStatus.PUT_OK))
        refusal = self._log.put_aside(messages[0])
        if refusal is not None:
            return succeed(PutResult(refusal))
        arrived: Deferred[bool] = Deferred()
        self._escape.carry(messages[0], arrived.callback)
        return arrived.addCallback(lambda is_stored: self._send(messages[1:]) if is_stored else NOT_THERE)
