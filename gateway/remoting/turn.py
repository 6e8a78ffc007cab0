"""The turn in which reads are served: what they set off is written when they have been.

What becomes ready outside of it, a server's held answers, is written when the loop has turned, together with
what else becomes ready until then.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Protocol

from mqgateway.gateway.runtime.loop import Clockwork, Timer

log = logging.getLogger(__name__)


class Speaker(Protocol):
    """What has something to write: a connection."""

    def flush(self) -> None:
        """Write it."""
        ...


class Turn:
    """One read and everything it sets off, on all connections that share the turn.

    Without a `clockwork` nothing is collected outside of a turn.
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
        """Open the turn; false when it is open already, and then somebody else will end it."""
        if self.is_open:
            return False
        self.is_open = True
        return True

    def add(self, speaker: Speaker) -> bool:
        """It has something to write; false when nobody is going to tell it when."""
        if not self.is_open:
            if self._clockwork is None:
                return False
            if self._writing is None:
                self._writing = self._clockwork.callLater(0, self._write_late)
        self._speakers.append(speaker)
        return True

    def end(self) -> None:
        """Tell that the read has been served, and let everybody write."""
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
        """Let everybody write what there is until now."""
        speakers, self._speakers = self._speakers, []
        for speaker in speakers:
            try:
                speaker.flush()
            except Exception:  # the others have something to write too
                log.exception("flushing connections after a read failed")
