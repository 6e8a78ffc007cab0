"""A master's side of one connection.

Nothing is sent before the slave's first report, which sets the start: the offset reported, or for a slave
with an empty log (0) the beginning of the newest log file, or with `haCopyWholeLog` the oldest byte. Each
report acknowledges everything before its offset. A slave that reports an offset that this log does not have
is refused: its log has diverged, or the data it lacks was deleted. RocketMQ answers such a slave with
keep-alives until its own log has grown past that offset, and then sends data that does not fit.

RocketMQ: `DefaultHAConnection`.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from mqgateway.engine.ha.epochs import ENDLESS
from mqgateway.engine.ha.flow import Flow
from mqgateway.engine.ha.frames import TRANSFER_HEADER_SIZE, ReportCutter, StreamBroken, encode_header
from mqgateway.engine.options import StoreOptions


class LogEnds(Protocol):
    """The log's begin and end, and the length of its files."""

    @property
    def min_offset(self) -> int:
        """Offset of the first byte that is still stored."""
        ...

    @property
    def position(self) -> int:
        """End of the log."""
        ...

    @property
    def file_size(self) -> int:
        """Size of a file of the log in bytes."""
        ...


class OutgoingTransfer(NamedTuple):
    """A transfer to send: a header, and `size` bytes of the log at `offset`."""

    offset: int
    size: int


class Feed:
    """State of one slave. `address` is its remote address, as `ip:port`."""

    replica_id = -1
    """The slave's id at the controller; -1 without one."""

    def __init__(self, options: StoreOptions, log: LogEnds, address: str, now: int) -> None:
        self.address = address
        self.ack_offset = -1
        """The slave's log has everything before it; -1 before the first report."""
        self.next_offset = -1
        """The offset to send next; -1 before the first report."""
        self.heard = now
        """Time of the last data from the slave."""
        self.caught_up = now
        """Latest time at which the log had no more than the slave has now; it may always lag slightly."""
        self._mark = (log.position, now)
        self._options = options
        self._log = log
        self._cutter = ReportCutter()
        self._last_write = now
        self.flow = Flow(now, self._limit())

    def _limit(self) -> int | None:
        options = self._options
        return options.max_ha_transfer_byte_in_second if options.ha_flow_control_enable else None

    def receive(self, data: bytes, now: int) -> bool:
        """Process data of the slave; return True if it acknowledged more. Raises `StreamBroken`."""
        self.heard = now
        offset = self._cutter.feed(data)
        return offset is not None and self._reported(offset, now)

    def _reported(self, offset: int, now: int) -> bool:
        """Process a report that the slave's log ends at `offset`; return True if that is more than before.

        Raises `StreamBroken`.
        """
        if self.next_offset < 0:
            self.next_offset = self._start(offset)
        elif offset > self.next_offset:
            raise StreamBroken(
                f"the slave reports {offset}, but was only sent data before {self.next_offset}"
            )
        more = offset > self.ack_offset
        self.ack_offset = max(offset, self.ack_offset)
        end, at = self._mark
        if self.ack_offset >= end:
            is_all = self.ack_offset >= self._log.position
            self.caught_up = now if is_all else at
            self._mark = (self._log.position, now)
        return more

    def _start(self, offset: int) -> int:
        log = self._log
        if offset < 0:
            raise StreamBroken(f"the slave reports {offset}, which is not an offset")
        if offset == 0:
            oldest = log.min_offset
            if self._options.ha_copy_whole_log:
                return oldest
            return max(oldest, log.position - log.position % log.file_size)
        if offset > log.position:
            raise StreamBroken(
                f"the slave's log ends at {offset}, ours at {log.position}: it has entries that "
                "this master lacks, and must not follow it"
            )
        if offset < log.min_offset:
            raise StreamBroken(
                f"the slave's log ends at {offset}, ours begins at {log.min_offset}: the data "
                "between is deleted, and the slave needs a new copy"
            )
        return offset

    def take(self, now: int) -> OutgoingTransfer | None:
        """Return what to send now, counted as sent; None if there is nothing, or not yet."""
        if self.next_offset < 0:
            return None
        log, offset = self._log, self.next_offset
        chunk_end = min(log.position, offset - offset % log.file_size + log.file_size, self._border())
        size = min(chunk_end - offset, self._options.ha_transfer_batch_size)
        self.flow.limit = self._limit()
        room = self.flow.room(now)
        if room is not None:
            size = min(size, room)
        if size <= 0:
            if now - self._last_write <= self._options.ha_send_heartbeat_interval:
                return None
            size = 0
        self.next_offset += size
        self._last_write = now
        self.flow.add(size + TRANSFER_HEADER_SIZE, now)
        return OutgoingTransfer(offset, size)

    def _border(self) -> int:
        """Return a limit of the next transfer, besides the end of the log and of the file."""
        return ENDLESS

    def header(self, outgoing: OutgoingTransfer) -> bytes:
        """Return the header for bytes of the log."""
        return encode_header(*outgoing)

    def give_back(self, outgoing: OutgoingTransfer) -> None:
        """Undo the last `take`: its bytes could not be read yet."""
        self.next_offset = outgoing.offset

    def is_expired(self, now: int) -> bool:
        """Return True if the slave was silent for too long."""
        return now - self.heard > self._options.ha_housekeeping_interval

    def is_in_sync(self) -> bool:
        """Return True if the slave's lag is small enough. RocketMQ: `DefaultHAService.isInSyncSlave`."""
        behind = self._log.position - self.ack_offset
        return self.ack_offset >= 0 and behind < self._options.ha_max_gap_not_in_sync
