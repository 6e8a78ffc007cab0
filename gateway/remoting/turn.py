"""Turn of the event loop in which reads are served; its output is flushed at the end.

Output that becomes ready outside of a turn, such as held answers, is flushed on the next turn of the event
loop, together with everything else that is ready by then.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Protocol

from mqgateway.gateway.runtime.loop import Clockwork, Timer

log = logging.getLogger(__name__)


class Speaker(Protocol):
    """Connection with pending output."""

    def flush(self) -> None:
        """Write the pending output."""
        ...


class Turn:
    """One read and everything that it triggers, on all connections that share the turn.

    Without a `clockwork`, output outside of a turn is not collected.
    """

    def __init__(
        self, after_read: Callable[[], None] | None = None, clockwork: Clockwork | None = None
    ) -> None:
        self.is_open = False
        self._after_read = after_read
        self._clockwork = clockwork
        self._writing: Timer | None = None
        self._speakers: list[Speaker] = []

    def begin(self) -> bool:
        """Open the turn. Returns False if it is open already; then its owner will end it."""
        if self.is_open:
            return False
        self.is_open = True
        return True

    def add(self, speaker: Speaker) -> bool:
        """Register pending output. Returns False if it will not be flushed here."""
        if not self.is_open:
            if self._clockwork is None:
                return False
            if self._writing is None:
                self._writing = self._clockwork.callLater(0, self._write_late)
        self._speakers.append(speaker)
        return True

    def end(self) -> None:
        """End the turn: run the after-read hook and flush connections."""
        if self._after_read is not None:
            try:
                self._after_read()
            except Exception:
                log.exception("an after-read hook failed")
        self.is_open = False
        self.write()

    def _write_late(self) -> None:
        self._writing = None
        self.write()

    def write(self) -> None:
        """Flush all registered connections."""
        speakers, self._speakers = self._speakers, []
        for speaker in speakers:
            try:
                speaker.flush()
            except Exception:  # the other connections must be flushed too
                log.exception("flushing connections after a read failed")
