"""The store of a slave: its log is the master's, so nobody here writes to it.

What the services of a master put (a message whose delay is over, a transaction, a copy for a retry) goes to
another broker while the slave acts, by `engine.ha.escape`; at any other time it is refused.
"""

from __future__ import annotations

from mqgateway.engine.ha.escape import Escape
from mqgateway.engine.message import Message
from mqgateway.engine.store.large_batch import LargeBatch
from mqgateway.engine.store.message_store import MessageStore, PutResult, PutStatus

REFUSAL = "a slave writes nothing of its own"


class SlaveStore(MessageStore):
    """`escape` is there while the slave acts."""

    escape: Escape | None = None

    def put(self, message: Message) -> PutResult:
        """Send the message to another broker; who puts it asks again until it has arrived."""
        if self.escape is None:
            return PutResult(PutStatus.SERVICE_NOT_AVAILABLE, remark=REFUSAL)
        return self.escape.put(message)

    def put_batch(self, message: Message, elements: bytes | LargeBatch) -> PutResult:
        """Refused: only producers put batches."""
        return PutResult(PutStatus.SERVICE_NOT_AVAILABLE, remark=REFUSAL)

    def put_inner_batch(self, message: Message) -> PutResult:
        """Refused: only producers put batches."""
        return PutResult(PutStatus.SERVICE_NOT_AVAILABLE, remark=REFUSAL)
