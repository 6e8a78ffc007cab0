"""What stands before a log that is not ours to write: a slave's, which is its master's.

The log still takes what its master sends (`raw_log`). What is put is refused, or goes `elsewhere`.
"""

from __future__ import annotations

from collections.abc import Callable

from mqgateway.engine.message import Message
from mqgateway.engine.store.results import PutResult, PutStatus


class WriteGate:
    """A closed gate; `refusal` says why it is."""

    def __init__(self, refusal: str) -> None:
        self.refusal = refusal
        self.elsewhere: Callable[[Message], PutResult] | None = None
        """Takes single messages in place of the log, where there is somebody."""

    def put(self, message: Message) -> PutResult:
        """The outcome of putting a message: it went elsewhere, or is refused."""
        return self.refused() if self.elsewhere is None else self.elsewhere(message)

    def refused(self) -> PutResult:
        """The outcome of what only producers put."""
        return PutResult(PutStatus.SERVICE_NOT_AVAILABLE, remark=self.refusal)
