"""A master's side of one connection.

Nothing goes out before the slave's first report, which says where to start: at the offset reported, or for a
slave with nothing (0) at the beginning of the newest log file, or with `haCopyWholeLog` at the oldest byte.
Each report acknowledges everything before its offset. A slave that reports an offset the log does not have is
refused: its log went on where ours did not, or what it lacks is gone. The standard answers such a slave with
keep-alives until its own log has grown past that offset, and then sends what does not fit.
Standard: `DefaultHAConnection`.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from mqgateway.engine.ha.epochs import ENDLESS
from mqgateway.engine.ha.flow import Flow
from mqgateway.engine.ha.frames import TRANSFER_HEADER_SIZE, ReportCutter, StreamBroken, encode_header
from mqgateway.engine.options import StoreOptions


class LogEnds(Protocol):
    """What is asked about the log: where it begins and ends, and how long its files are."""

    @property
    def min_offset(self) -> int: ...

    @property
    def position(self) -> int: ...

    @property
    def file_size(self) -> int: ...


class Outgoing(NamedTuple):
    """What is to be sent: a header, and `size` bytes of the log from `offset` on."""

    offset: int
    size: int


class Feed:
    """What one slave has, wants and gets. `address` is where it is connected from, as `ip:port`."""

    replica_id = -1
    """The slave's id at the controller; -1 without one."""

    def __init__(self, options: StoreOptions, log: LogEnds, address: str, now: int) -> None:
        self.address = address
        self.ack_offset = -1
        """Everything before it lies in the slave's log; -1 before the first report."""
        self.next_offset = -1
        """What is sent next; -1 before the first report."""
        self.heard = now
        """When the slave was last heard of."""
        self.caught_up = now
        """When there was no more than what the slave has by now; it may always lack the very newest."""
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
        """Take what the slave sent; whether it acknowledged more. Raises `StreamBroken`."""
        self.heard = now
        offset = self._cutter.feed(data)
        return offset is not None and self._reported(offset, now)

    def _reported(self, offset: int, now: int) -> bool:
        """The slave's log ends at `offset`; whether that is more than before. Raises `StreamBroken`."""
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

    def take(self, now: int) -> Outgoing | None:
        """What is to be sent now, which counts as sent; None when there is nothing, or not yet."""
        if self.next_offset < 0:
            return None
        log, offset = self._log, self.next_offset
        piece_end = min(log.position, offset - offset % log.file_size + log.file_size, self._border())
        size = min(piece_end - offset, self._options.ha_transfer_batch_size)
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
        return Outgoing(offset, size)

    def _border(self) -> int:
        """What no piece goes beyond, besides the log's end and its files'."""
        return ENDLESS

    def header(self, outgoing: Outgoing) -> bytes:
        """What goes before the bytes of the log."""
        return encode_header(*outgoing)

    def give_back(self, outgoing: Outgoing) -> None:
        """What was taken last could not be read yet, and is not sent."""
        self.next_offset = outgoing.offset

    def is_expired(self, now: int) -> bool:
        """Whether the slave was silent for too long."""
        return now - self.heard > self._options.ha_housekeeping_interval

    def is_in_sync(self) -> bool:
        """Whether the slave is not too far behind. Standard: `DefaultHAService.isInSyncSlave`."""
        behind = self._log.position - self.ack_offset
        return self.ack_offset >= 0 and behind < self._options.ha_max_gap_not_in_sync
