"""A slave's side of one connection to its master.

It reports where its log ends, which is where the master starts, as soon as all of that is acknowledged;
reports again whenever it has acknowledged more, and every `haSendHeartbeatInterval`. What comes must begin
where the log ends: anything else is no continuation of this log, and the connection is given up. A slave with
an empty log takes what comes first, wherever in the log that lies. Acknowledged is what is written, or with
SYNC_FLUSH what is on disk: the caller says how far that is.

To copy the whole log of a master whose oldest byte is byte 0, the slave asks for byte 1, as asking for 0
means the newest file. It knows byte 0: the first of a record's size, which is 0 for every size that is
allowed. Standard: `DefaultHAClient`.
"""

from __future__ import annotations

from typing import Protocol

from mqgateway.engine.ha.flow import Flow
from mqgateway.engine.ha.frames import StreamBroken, Transfer, TransferCutter, encode_report
from mqgateway.engine.options import StoreOptions

KNOWN_BYTE = b"\0"


class Log(Protocol):
    """Where what comes is appended."""

    @property
    def position(self) -> int: ...

    def append(self, offset: int, data: bytes) -> None:
        """Raises `StreamBroken` or `OSError`, and then has taken nothing."""
        ...


class Follow:
    """One connection: what to report, what to take. `begin` is where an empty log is to begin, 0 to leave
    that to the master."""

    def __init__(self, options: StoreOptions, log: Log, now: int, begin: int = 0) -> None:
        self._options = options
        self._log = log
        self._cutter = TransferCutter(options.ha_max_frame_size)
        self._begin = begin
        self._reported = -1
        self.last_read = now
        self.last_write = now
        self.flow = Flow(now)

    def receive(self, data: bytes, now: int) -> int:
        """Take what the master sent, append it; how many bytes that was.

        Raises `StreamBroken`, and `OSError` where the log cannot be written.
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
        """What to send now, empty for nothing, where everything before `acknowledged` is safe."""
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
        """Whether the master was silent for too long."""
        return now - self.last_read > self._options.ha_housekeeping_interval
