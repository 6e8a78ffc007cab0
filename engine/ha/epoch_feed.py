"""A master's side of one connection under a controller.

The slave says who it is and is told the epochs; it cuts what our log does not have, and reports where it goes
on. From there the log goes out, no piece of two epochs. A slave with nothing gets the whole log, or the
newest file if it asks for that. The first frame leaves with the first report, even if it has no bytes: the
slave knows the epoch and how far the log is confirmed from then on. Standard: `AutoSwitchHAConnection`.
"""

from __future__ import annotations

from collections.abc import Callable

from mqgateway.engine.ha.epoch_frames import (
    PROMPT_MILLIS,
    Hello,
    SlaveCutter,
    encode_epoch_header,
    encode_epochs,
)
from mqgateway.engine.ha.epochs import Epochs
from mqgateway.engine.ha.feed import Feed, LogEnds, Outgoing
from mqgateway.engine.ha.in_sync_set import InSyncSet
from mqgateway.engine.options import StoreOptions

NEVER = -(2**62)
NEWS_MILLIS = 50
"""How long a slave that has everything may not know how far it is confirmed; the standard's wait for the next
frame, up to `haSendHeartbeatInterval`."""
NO_OFFSET = -1
"""In place of where bytes lie: what is sent is the answer to a hello."""


class EpochFeed(Feed):
    """What one replica has, wants and gets; `confirmed` tells how far the log is."""

    def __init__(
        self,
        options: StoreOptions,
        log: LogEnds,
        address: str,
        now: int,
        epochs: Epochs,
        in_sync: InSyncSet,
        confirmed: Callable[[], int],
    ) -> None:
        super().__init__(options, log, address, now)
        self._epochs = epochs
        self._in_sync = in_sync
        self._confirmed = confirmed
        self._hellos = SlaveCutter()
        self._hello: Hello | None = None
        self._answer = b""
        self._told = -1
        self.since = now
        # Before its first report nobody knows what it has.
        self.caught_up = NEVER
        self.is_prompt = False
        """Whether it shows often that it is there."""
        self._said = (-1, now)

    @property
    def is_learner(self) -> bool:
        """Whether the slave does not want to count as in sync, or has not said who it is."""
        return self._hello is None or self._hello.is_learner

    def receive(self, data: bytes, now: int) -> bool:
        """Take what the slave sent; whether it acknowledged more. Raises `StreamBroken`."""
        self.heard = now
        hello, offsets = self._hellos.feed(data)
        if hello is not None:
            self._hello, self.replica_id = hello, hello.replica_id
            self._answer = encode_epochs(self._log.position, self._epochs.entries)
        for offset in offsets:
            before, at = self._said
            self.is_prompt |= offset == before and now - at <= PROMPT_MILLIS
            self._said = offset, now
        return bool(offsets) and self._reported(offsets[-1], now)

    def is_silent(self, patience: int, now: int) -> bool:
        """Whether it shows often that it is there, and has not for so long."""
        return self.is_prompt and now - self.heard > patience

    def _reported(self, offset: int, now: int) -> bool:
        if self.next_offset < 0:
            self._last_write = now - self._options.ha_send_heartbeat_interval - 1
        return super()._reported(offset, now)

    def _start(self, offset: int) -> int:
        if offset or (self._hello is not None and self._hello.from_last_file):
            return super()._start(offset)
        return self._log.min_offset

    def take(self, now: int) -> Outgoing | None:
        """What is to be sent now, which counts as sent; None when there is nothing, or not yet."""
        if self._answer:
            return Outgoing(NO_OFFSET, 0)
        outgoing = super().take(now)
        if outgoing is None and self._has_news(now):
            self._last_write = now
            return Outgoing(self.next_offset, 0)
        return outgoing

    def _has_news(self, now: int) -> bool:
        """Whether more is confirmed than the slave knows: its readers see no more than that."""
        is_time = self.next_offset >= 0 and now - self._last_write >= NEWS_MILLIS
        return is_time and self._confirmed() > self._told

    def _border(self) -> int:
        return self._epochs.at(self.next_offset)[1]

    def header(self, outgoing: Outgoing) -> bytes:
        """What goes before the bytes of the log."""
        if outgoing.offset == NO_OFFSET:
            answer, self._answer = self._answer, b""
            return answer
        epoch, _ = self._epochs.at(outgoing.offset)
        self._told = self._confirmed()
        return encode_epoch_header(*outgoing, epoch, self._told)

    def is_in_sync(self) -> bool:
        """Whether the slave is one of those in sync."""
        return self.replica_id in self._in_sync.ids
