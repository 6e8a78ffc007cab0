"""The file `config/timercheck`: how far the timers have come.

It has two parts. The standard's 56 bytes say how far they have come now; they are written after every step,
so that whoever takes the store over, a broker of the standard too, goes on where a process died. Our own part
behind them says how far they had come at a moment of which everything is on stable storage: from there
recovery starts, after the end of a process and after the end of a machine. When a broker of the standard has
written since, our part no longer fits and is not used.

Both lie in one sector, so neither is ever half written. Layout: `schema.CHECKPOINT_FILE`. Standard:
`TimerCheckpoint`.
"""

from __future__ import annotations

import struct
from typing import NamedTuple, Self
from zlib import crc32

from mqgateway.engine.disk import Disk, File, make_directories
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.tables.data_version import DataVersion

STANDARD = struct.Struct(">qqqqqqq")
OWN = struct.Struct(">qIiiIqqqqq")
OWN_AT = 64
OWN_MAGIC = 0x6D71_6774_696D_6572
FILE_SIZE = 4096
_CRC = struct.Struct(">I")
_SIZE = OWN_AT + OWN.size + _CRC.size


class Stable(NamedTuple):
    """A state of the timers that survives a power cut.

    `read_time` is the slot to be delivered next (ms), `log_position` the end of the timer log,
    `queue_offset` the next message of the timer topic; what was delivered later lies behind
    `commit_log_offset`.
    """

    read_time: int
    log_position: int
    queue_offset: int
    commit_log_offset: int


class TimerProgress(NamedTuple):
    """What another broker says of its timers: all were delivered that were due before `read_time` (ms) and
    lie before `queue_offset` of the timer topic."""

    read_time: int
    queue_offset: int
    data_version: DataVersion

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Read the standard's 56 bytes. Raises `ConfigError` when they are fewer."""
        if len(data) < STANDARD.size:
            raise ConfigError(f"a timer check point of {len(data)} bytes")
        read_time, _, queue_offset, _, state_version, timestamp, counter = STANDARD.unpack_from(data)
        return cls(read_time, queue_offset, DataVersion(counter, state_version, timestamp))


class TimerCheckpoint:
    """Both parts, and the file they live in."""

    def __init__(self, disk: Disk, path: str) -> None:
        self._disk = disk
        self._path = path
        self.file: File | None = None
        self.read_time = 0
        self.log_position = 0
        self.queue_offset = 0
        self.master_queue_offset = 0
        self.data_version = DataVersion()
        self.precision = 0
        """Milliseconds of a step when we last wrote; 0 when the standard did, or nobody."""
        self.is_clean = False
        self.wheel_crc = 0
        """CRC32 of the file `timerwheel` after an orderly end; 0 when nobody has noted it."""
        self.reached = 0
        """The latest slot (ms) that was ever begun: what recovery finds delivered is of no later one."""
        self.stable: Stable | None = None

    def load(self, *, create: bool = True) -> None:
        """Read the file, making it if it is not there and may be. Raises `OSError`."""
        if create:
            make_directories(self._disk, self._path.rpartition("/")[0])
        self.file = self._disk.open(self._path, create)
        if create and self.file.size() < FILE_SIZE:
            self.file.truncate(FILE_SIZE)
            self.file.sync()
            self._disk.sync_dir(self._path.rpartition("/")[0])
        data = self.file.read(0, _SIZE).ljust(_SIZE, b"\0")
        _, self.log_position, _, self.master_queue_offset, *_ = STANDARD.unpack_from(data)
        self.read_time, self.queue_offset, self.data_version = TimerProgress.decode(data)
        own = data[OWN_AT : OWN_AT + OWN.size]
        magic, standard_crc, precision, is_clean, wheel_crc, reached, *stable = OWN.unpack(own)
        if (
            magic == OWN_MAGIC
            and crc32(own) == _CRC.unpack_from(data, OWN_AT + OWN.size)[0]
            and crc32(data[: STANDARD.size]) == standard_crc
        ):
            self.precision = precision
            self.is_clean = bool(is_clean)
            self.wheel_crc = wheel_crc
            self.reached = reached
            self.stable = Stable(*stable)

    def encode(self) -> bytes:
        """The standard's part, as it also answers request 60. Standard: `TimerCheckpoint.encode`."""
        return STANDARD.pack(
            self.read_time,
            self.log_position,
            self.queue_offset,
            self.master_queue_offset,
            self.data_version.state_version,
            self.data_version.timestamp,
            self.data_version.counter,
        )

    def save(self) -> None:
        """Write both parts; `stable` must be known. Raises `OSError`."""
        assert self.file is not None and self.stable is not None
        standard = self.encode()
        notes = self.precision, self.is_clean, self.wheel_crc if self.is_clean else 0, self.reached
        own = OWN.pack(OWN_MAGIC, crc32(standard), *notes, *self.stable)
        self.file.write(0, standard + bytes(OWN_AT - len(standard)) + own + _CRC.pack(crc32(own)))
