"""The file `config/timercheck`: the progress of the timers.

It has two parts. RocketMQ's 56 bytes are the current progress. They are written after every step, so that the
next process on this store, RocketMQ's too, resumes where this one died. The second part, mqgateway's, is the
progress at a moment of which everything is on stable storage: recovery starts from there, after a crash of
the process or of the machine. If RocketMQ's broker has written since, the second part no longer matches and
is ignored.

Both are in one sector, so neither is ever half written. Layout: `schema.CHECKPOINT_FILE`. RocketMQ:
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

    `read_time` is the slot to deliver next (ms), `log_position` the end of the timer log, `queue_offset` the
    next message of the timer topic. Later deliveries are in the log after `commit_log_offset`.
    """

    read_time: int
    log_position: int
    queue_offset: int
    commit_log_offset: int


class TimerProgress(NamedTuple):
    """Progress reported by another broker: all timers due before `read_time` (ms) and before `queue_offset`
    of the timer topic were delivered.
    """

    read_time: int
    queue_offset: int
    data_version: DataVersion

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Decode RocketMQ's 56 bytes. Raises `ConfigError` if there are fewer."""
        if len(data) < STANDARD.size:
            raise ConfigError(f"a timer check point of {len(data)} bytes")
        read_time, _, queue_offset, _, state_version, timestamp, counter = STANDARD.unpack_from(data)
        return cls(read_time, queue_offset, DataVersion(counter, state_version, timestamp))


class TimerCheckpoint:
    """Both parts, and their file."""

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
        """Milliseconds of a step at our last write; 0 if RocketMQ wrote last, or there was none."""
        self.is_clean = False
        self.wheel_crc = 0
        """CRC32 of the file `timerwheel` after a clean stop; 0 if it was not recorded."""
        self.reached = 0
        """The latest slot (ms) that was ever begun: deliveries found by recovery are not of a later one."""
        self.stable: Stable | None = None

    def load(self, *, create: bool = True) -> None:
        """Read the file; with `create` a missing one is created. Raises `OSError`."""
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
        """Return RocketMQ's part, which also answers request 60. RocketMQ: `TimerCheckpoint.encode`."""
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
        """Write both parts; `stable` must be set. Raises `OSError`."""
        assert self.file is not None and self.stable is not None
        standard = self.encode()
        notes = self.precision, self.is_clean, self.wheel_crc if self.is_clean else 0, self.reached
        own = OWN.pack(OWN_MAGIC, crc32(standard), *notes, *self.stable)
        self.file.write(0, standard + bytes(OWN_AT - len(standard)) + own + _CRC.pack(crc32(own)))
