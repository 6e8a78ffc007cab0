"""A slave's side of one connection to its master.

It reports the end of its log, where the master starts, as soon as all of that is acknowledged. It reports
again whenever it has acknowledged more, and every `haSendHeartbeatInterval`. Transfers must begin where the
log ends: others do not continue this log, and the connection is closed. A slave with an empty log accepts the
first transfer at any offset. Acknowledged is what is written, or with SYNC_FLUSH what is flushed; the caller
passes that offset.

To copy the whole log of a master whose oldest byte is byte 0, the slave requests byte 1, as a request for 0
means the newest file. It knows byte 0: the first of a record's size, which is 0 for every allowed size.
RocketMQ: `DefaultHAClient`.
"""

from __future__ import annotations

from typing import Protocol

from mqgateway.engine.ha.flow import Flow
from mqgateway.engine.ha.frames import StreamBroken, Transfer, TransferCutter, encode_report
from mqgateway.engine.options import StoreOptions

KNOWN_BYTE = b"\0"


class TransferLog(Protocol):
    """The log that transfers are appended to."""

    @property
    def position(self) -> int:
        """End of the log, where the next transfer is appended."""
        ...

    def append(self, offset: int, data: bytes) -> None:
        """Append bytes. Raises `StreamBroken` or `OSError`; then nothing was appended."""
        ...


class Follow:
    """One connection. `begin` is the start requested for an empty log, 0 to leave that to the master."""

    def __init__(self, options: StoreOptions, log: TransferLog, now: int, begin: int = 0) -> None:
        self._options = options
        self._log = log
        self._cutter = TransferCutter(options.ha_max_frame_size)
        self._begin = begin
        self._reported = -1
        self.last_read = now
        self.last_write = now
        self.flow = Flow(now)

    def receive(self, data: bytes, now: int) -> int:
        """Process data of the master and append it; return the number of bytes of the log.

        Raises `StreamBroken`, and `OSError` if the log cannot be written.
        """
        self.last_read = now
        self.flow.add(len(data), now)
        return sum(self._append(transfer) for transfer in self._cutter.feed(data))

    def _append(self, transfer: Transfer) -> int:
        offset, body = transfer
        position = self._log.position
        if position == 0 and self._begin == offset == 1 and body:
            offset, body = 0, KNOWN_BYTE + body
        if position and offset != position:
            raise StreamBroken(f"the master sends data at {offset}; our log ends at {position}")
        if body:
            self._log.append(offset, body)
        return len(body)

    def report(self, acknowledged: int, now: int) -> bytes:
        """Return the bytes to send now, if everything before `acknowledged` is safe; empty for nothing."""
        if self._reported < 0:
            if acknowledged < self._log.position:
                return b""
            self._reported = acknowledged or self._begin
        elif acknowledged > self._reported:
            self._reported = acknowledged
        elif now - self.last_write <= self._options.ha_send_heartbeat_interval:
            return b""
        self.last_write = now
        return encode_report(self._reported)

    def is_expired(self, now: int) -> bool:
        """Return True if the master was silent for too long."""
        return now - self.last_read > self._options.ha_housekeeping_interval
