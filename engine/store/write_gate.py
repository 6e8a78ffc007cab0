"""Gate in front of a log that another broker writes: a slave's, which its master writes.

The log still accepts the master's bytes (`raw_log`). Puts are refused, or redirected (`elsewhere`).
"""

from __future__ import annotations

from collections.abc import Callable

from mqgateway.engine.message import Message
from mqgateway.engine.store.results import PutResult, PutStatus


class WriteGate:
    """A closed gate with the reason, `refusal`. `elsewhere` accepts single messages in place of the log."""

    def __init__(self, refusal: str, elsewhere: Callable[[Message], PutResult] | None = None) -> None:
        self.refusal = refusal
        self.elsewhere = elsewhere

    def put(self, message: Message) -> PutResult:
        """Redirect a message, or refuse it."""
        return self.refused() if self.elsewhere is None else self.elsewhere(message)

    def refused(self) -> PutResult:
        """Return the refusal of a put that is never redirected."""
        return PutResult(PutStatus.SERVICE_NOT_AVAILABLE, remark=self.refusal)
