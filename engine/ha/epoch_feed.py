"""A master's side of one connection under a controller.

The slave identifies itself and is sent the epochs. It truncates what this log does not have, and reports
where it continues. From there the log is sent; no transfer spans two epochs. A slave with an empty log gets
the whole log, or the newest file if it requests that. The first frame is sent with the first report, even
without bytes: from then on the slave knows the epoch and the confirm offset. RocketMQ:
`AutoSwitchHAConnection`.
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
from mqgateway.engine.ha.feed import Feed, LogEnds, OutgoingTransfer
from mqgateway.engine.ha.in_sync_set import InSyncSet
from mqgateway.engine.options import StoreOptions

NEVER = -(2**62)
NEWS_MILLIS = 50
"""Maximum delay in ms after which a caught-up slave is sent the confirm offset.

RocketMQ's slaves wait for the
next frame, up to `haSendHeartbeatInterval`.
"""
NO_OFFSET = -1
"""In place of an offset: the answer to a hello is sent."""


class EpochFeed(Feed):
    """State of one replica; `confirmed` returns the confirm offset."""

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
        self._sent_confirmed = -1
        self.since = now
        # Its offset is unknown before its first report.
        self.caught_up = NEVER
        self.is_prompt = False
        """True if it reports often enough that silence is a fault."""
        self._said = (-1, now)

    @property
    def is_learner(self) -> bool:
        """True if the slave must not count as in sync, or has not identified itself."""
        return self._hello is None or self._hello.is_learner

    def receive(self, data: bytes, now: int) -> bool:
        """Process data of the slave; return True if it acknowledged more. Raises `StreamBroken`."""
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
        """Return True if a prompt slave was silent for longer than `patience`."""
        return self.is_prompt and now - self.heard > patience

    def _reported(self, offset: int, now: int) -> bool:
        if self.next_offset < 0:
            self._last_write = now - self._options.ha_send_heartbeat_interval - 1
        return super()._reported(offset, now)

    def _start(self, offset: int) -> int:
        if offset or (self._hello is not None and self._hello.from_last_file):
            return super()._start(offset)
        return self._log.min_offset

    def take(self, now: int) -> OutgoingTransfer | None:
        """Return what to send now, counted as sent; None if there is nothing, or not yet."""
        if self._answer:
            return OutgoingTransfer(NO_OFFSET, 0)
        outgoing = super().take(now)
        if outgoing is None and self._has_news(now):
            self._last_write = now
            return OutgoingTransfer(self.next_offset, 0)
        return outgoing

    def _has_news(self, now: int) -> bool:
        """Return True if the confirm offset has moved beyond what the slave and its readers know."""
        is_time = self.next_offset >= 0 and now - self._last_write >= NEWS_MILLIS
        return is_time and self._confirmed() > self._sent_confirmed

    def _border(self) -> int:
        return self._epochs.at(self.next_offset)[1]

    def header(self, outgoing: OutgoingTransfer) -> bytes:
        """Return the header for bytes of the log."""
        if outgoing.offset == NO_OFFSET:
            answer, self._answer = self._answer, b""
            return answer
        epoch, _ = self._epochs.at(outgoing.offset)
        self._sent_confirmed = self._confirmed()
        return encode_epoch_header(*outgoing, epoch, self._sent_confirmed)

    def is_in_sync(self) -> bool:
        """Return True if the slave is in sync."""
        return self.replica_id in self._in_sync.ids
