"""The turn in which reads are served: what they set off is written when they have been."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Protocol

log = logging.getLogger(__name__)


class Speaker(Protocol):
    """What has something to write: a connection."""

    def flush(self) -> None:
        """Write it."""
        ...


class Turn:
    """One read and everything it sets off, on all connections that share the turn."""

    def __init__(self, after_read: Callable[[], None] | None = None) -> None:
        self.is_open = False
        self._after_read = after_read
        self._speakers: list[Speaker] = []

    def begin(self) -> bool:
        """Open the turn; false when it is open already, and then somebody else will end it."""
        if self.is_open:
            return False
        self.is_open = True
        return True

    def add(self, speaker: Speaker) -> None:
        """It has something to write when the turn ends."""
        self._speakers.append(speaker)

    def end(self) -> None:
        """Tell that the read has been served, and let everybody write."""
        if self._after_read is not None:
            try:
                self._after_read()
            except Exception:
                log.exception("what follows a read failed")
        self.is_open = False
        speakers, self._speakers = self._speakers, []
        for speaker in speakers:
            speaker.flush()
