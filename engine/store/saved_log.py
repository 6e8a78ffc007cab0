"""Progress of saving the log to an object store, as far as the broker knows, and its effect on retention."""

from __future__ import annotations

from typing import NamedTuple

from mqgateway.engine.options import StoreOptions
from mqgateway.engine.store.log import ENDLESS

UNKNOWN: int = -1


class DeletedObjects(NamedTuple):
    """Objects that the saving process has deleted since its start: expired segments, orphans, and the bytes
    of these and of indexes."""

    segments: int = 0
    orphans: int = 0
    bytes: int = 0


class SavedLog:
    """Progress of saving, reported by the process that does it.

    `saved_to` is a log offset, `UNKNOWN` before the first report. `oldest` is the store time in ms of the
    oldest message that is not saved, 0 if all are. `failure` is the reason why saving fails now, or empty.
    `deleted` are objects that have expired, and orphans.
    """

    def __init__(self, options: StoreOptions) -> None:
        self._options = options
        self.saved_to = UNKNOWN
        self.oldest = 0
        self.failure = ""
        self.deleted = DeletedObjects()

    @property
    def is_on(self) -> bool:
        """True if the log is to be saved."""
        return bool(self._options.tiered_store_path)

    @property
    def kept_from(self) -> int:
        """The offset from which local files of the log must be kept."""
        return ENDLESS if not self.is_on or self._options.tiered_may_lose else self.saved_to

    def behind_bytes(self, end: int) -> int:
        """Return the bytes before `end`, that of the log, that are not saved; 0 while that is unknown."""
        return max(0, end - self.saved_to) if self.saved_to != UNKNOWN else 0

    def behind_millis(self, now: int) -> int:
        """Return the age of the oldest message that is not saved."""
        return max(0, now - self.oldest) if self.oldest else 0
