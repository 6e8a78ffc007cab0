"""A slave's side of one connection to its master under a controller.

It identifies itself and receives the master's epochs. It truncates its own log where the two diverge, and
only then reports: at once, and at least every `REPORT_MILLIS`. Transfers must begin where the log ends, and
contain their epoch and the confirm offset. A log without epochs has nothing to compare: the caller has
checked in another way that it is a prefix of the master's. RocketMQ: `AutoSwitchHAClient`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from mqgateway.engine.ha.epoch_frames import (
    REPORT_MILLIS,
    EpochTransfer,
    Hello,
    MasterCutter,
    MasterEpochs,
    encode_epoch_report,
    encode_hello,
)
from mqgateway.engine.ha.epochs import Epoch, Epochs, consistent_point
from mqgateway.engine.ha.flow import Flow
from mqgateway.engine.ha.frames import StreamBroken
from mqgateway.engine.options import StoreOptions


class EpochTransferLog(Protocol):
    """The log that transfers are appended to."""

    @property
    def position(self) -> int:
        """End of the log, where the next transfer is appended."""
        ...

    def append(self, offset: int, data: bytes) -> None:
        """Append bytes. Raises `StreamBroken` or `OSError`; then nothing was appended."""
        ...


class EpochFollow:
    """One connection.

    `cut` truncates the log, or returns False to retry later; `confirm` gets the confirm offset.
    """

    def __init__(
        self,
        options: StoreOptions,
        log: EpochTransferLog,
        now: int,
        *,
        hello: Hello,
        epochs: Epochs,
        cut: Callable[[int], bool],
        confirm: Callable[[int], None],
    ) -> None:
        self._options = options
        self._log = log
        self._hello = hello
        self._epochs = epochs
        self._cut = cut
        self._confirm = confirm
        self._cutter = MasterCutter(options.ha_max_frame_size)
        self._is_greeted = False
        self._point: int | None = None
        self._is_answered = False
        self._reported = -1
        self.last_read = now
        self.last_write = now
        self.flow = Flow(now)

    def receive(self, data: bytes, now: int) -> int:
        """Process data of the master and append it; return the number of bytes of the log.

        Raises `StreamBroken`, and `OSError` and `StoreError` if the log cannot be written or truncated.
        """
        self.last_read = now
        self.flow.add(len(data), now)
        self._cutter.feed(data)
        if not self._is_answered:
            answer = self._cutter.epochs()
            if answer is None:
                return 0
            self._is_answered = True
            self._point = self._common(answer)
            self._go_back()
        return sum(self._append(transfer) for transfer in self._cutter.transfers())

    def _common(self, master: MasterEpochs) -> int | None:
        """Return the offset to continue from; None for the end of the log."""
        position = self._log.position
        if not position or not self._epochs.entries:
            return position or 0
        point = consistent_point(self._epochs.entries, position, master.epochs, master.end)
        if point < 0:
            raise StreamBroken(
                f"the logs have no epoch in common: ours {_shown(self._epochs.entries)}, the master's "
                f"{_shown(master.epochs)}. Make the broker with the messages to keep the master, "
                "and remove the store of the other"
            )
        return point

    def _go_back(self) -> None:
        """Truncate what the master does not have, once the disk allows it."""
        if self._point is not None and self._cut(self._point):
            self._epochs.cut_from(self._point)
            self._point = None

    def _append(self, transfer: EpochTransfer) -> int:
        offset, epoch, confirmed, body = transfer
        position = self._log.position
        if self._reported < 0:
            raise StreamBroken("the master sends data before the start offset was requested")
        if offset >= 0 and position and offset != position:
            raise StreamBroken(f"the master sends data at {offset}; our log ends at {position}")
        if epoch.number < self._epochs.last:
            raise StreamBroken(
                f"the master sends epoch {epoch.number}; our log has epoch {self._epochs.last}"
            )
        if epoch.number and offset >= 0:
            self._epochs.begin(*epoch)
        if body:
            self._log.append(offset, body)
        self._confirm(min(confirmed, self._log.position))
        return len(body)

    def report(self, acknowledged: int, now: int) -> bytes:
        """Return the bytes to send now, if everything before `acknowledged` is safe. Raises as `receive`."""
        if not self._is_greeted:
            self._is_greeted = True
            self.last_write = now
            return encode_hello(self._hello)
        if not self._is_answered:
            return b""
        if self._point is not None:
            self._go_back()
            acknowledged = min(acknowledged, self._log.position)
        if self._point is not None or (self._reported < 0 and acknowledged < self._log.position):
            return b""
        between = min(REPORT_MILLIS, self._options.ha_send_heartbeat_interval)
        if acknowledged <= self._reported and now - self.last_write < between:
            return b""
        times = 2 if self._reported < 0 else 1
        self._reported = max(acknowledged, self._reported)
        self.last_write = now
        return encode_epoch_report(self._reported) * times

    def is_expired(self, now: int) -> bool:
        """Return True if the master was silent for too long."""
        return now - self.last_read > self._options.ha_housekeeping_interval


def _shown(epochs: Iterable[Epoch]) -> str:
    return ", ".join(f"{number} from {start}" for number, start in epochs) or "none"
