"""The bytes between a master and a slave under a controller, whose logs have epochs.

    slave -> master   hello     state i4 (1), from the last file i2, learner i2, id i8
    master -> slave   epochs    state i4 (1), size i4, end of the log i8, last epoch i4,
                                then size bytes: epoch i4, start i8 for each
    slave -> master   report    state i4 (2), end of the log i8
    master -> slave   transfer  state i4 (2), size i4, offset i8, epoch i4, start of the epoch i8,
                                confirmed i8, then size bytes of the commit log

A transfer never crosses the border of an epoch or a file. One without bytes is a heartbeat with the confirm
offset.

A slave that reports one offset again within `PROMPT_MILLIS` is *prompt*: it reports so often that its silence
is a fault. Ours sends its first report twice; RocketMQ's repeats a report every 5 s. RocketMQ:
`AutoSwitchHAClient`, `AutoSwitchHAConnection`.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

from mqgateway.engine.ha.epochs import Epoch
from mqgateway.engine.ha.frames import StreamBroken

PROMPT_MILLIS = 750
REPORT_MILLIS = 400
"""Maximum interval between our reports."""

HANDSHAKE = 1
TRANSFER = 2

STATE = struct.Struct(">i")
HELLO_FRAME = struct.Struct(">ihhq")
EPOCHS_FRAME = struct.Struct(">iiqi")
EPOCH_ENTRY = struct.Struct(">iq")
REPORT_FRAME = struct.Struct(">iq")
TRANSFER_FRAME = struct.Struct(">iiqiqq")
assert (HELLO_FRAME.size, EPOCHS_FRAME.size, EPOCH_ENTRY.size) == (16, 20, 12)
assert (REPORT_FRAME.size, TRANSFER_FRAME.size) == (12, 36)


class Hello(NamedTuple):
    """A slave's identification: its id at the controller, whether an empty log wants only the newest file,
    and whether it must never count as in sync.
    """

    replica_id: int
    from_last_file: bool = False
    is_learner: bool = False


class MasterEpochs(NamedTuple):
    """A master's answer: the end of its log, and its epochs."""

    end: int
    epochs: tuple[Epoch, ...]


class EpochTransfer(NamedTuple):
    """Bytes of the master's log with their offset, their epoch, and the confirm offset."""

    offset: int
    epoch: Epoch
    confirmed: int
    body: bytes


def encode_hello(hello: Hello) -> bytes:
    """Encode a slave's hello; it must be sent with one write, as RocketMQ's master reads it at once."""
    return HELLO_FRAME.pack(HANDSHAKE, hello.from_last_file, hello.is_learner, hello.replica_id)


def encode_epochs(end: int, epochs: Sequence[Epoch]) -> bytes:
    """Encode a master's answer to a hello."""
    last = epochs[-1].number if epochs else 0
    body = b"".join(EPOCH_ENTRY.pack(*epoch) for epoch in epochs)
    return EPOCHS_FRAME.pack(HANDSHAKE, len(body), end, last) + body


def encode_epoch_report(offset: int) -> bytes:
    """Encode a slave's report that its log ends at `offset`."""
    return REPORT_FRAME.pack(TRANSFER, offset)


def encode_epoch_header(offset: int, size: int, epoch: Epoch, confirmed: int) -> bytes:
    """Encode the header of `size` bytes of the log at `offset`."""
    return TRANSFER_FRAME.pack(TRANSFER, size, offset, epoch.number, epoch.start, confirmed)


class SlaveCutter:
    """Parser of a slave's bytes: its hello, and then reports."""

    def __init__(self) -> None:
        self._buffer = b""
        self._is_greeted = False

    def feed(self, data: bytes) -> tuple[Hello | None, list[int]]:
        """Return the hello if it became complete, and complete reports. Raises `StreamBroken`."""
        self._buffer += data
        hello = None
        if not self._is_greeted:
            if len(self._buffer) < HELLO_FRAME.size:
                return None, []
            state, from_last, learner, replica_id = HELLO_FRAME.unpack_from(self._buffer)
            if state != HANDSHAKE or replica_id < 1:
                raise StreamBroken(
                    f"the slave begins with state {state} and the id {replica_id}: it is not in controller "
                    "mode"
                )
            self._is_greeted = True
            self._buffer = self._buffer[HELLO_FRAME.size :]
            hello = Hello(replica_id, bool(from_last), bool(learner))
        offsets = []
        whole = len(self._buffer) - len(self._buffer) % REPORT_FRAME.size
        for at in range(0, whole, REPORT_FRAME.size):
            state, offset = REPORT_FRAME.unpack_from(self._buffer, at)
            if state != TRANSFER:
                raise StreamBroken(f"the slave reports in state {state}")
            offsets.append(offset)
        self._buffer = self._buffer[whole:]
        return hello, offsets


class MasterCutter:
    """Parser of a master's bytes: its epochs, and then transfers of at most `limit` bytes each."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._buffer = bytearray()

    def feed(self, data: bytes) -> None:
        """Buffer received bytes."""
        self._buffer += data

    def epochs(self) -> MasterEpochs | None:
        """Return the master's epochs, once they are complete. Raises `StreamBroken`."""
        buffer = self._buffer
        if len(buffer) < EPOCHS_FRAME.size:
            return None
        state, size, end, _last = EPOCHS_FRAME.unpack_from(buffer)
        if state != HANDSHAKE or not 0 <= size <= self._limit or size % EPOCH_ENTRY.size or end < 0:
            raise StreamBroken(f"the master answers state {state}, {size} bytes of epochs, an end of {end}")
        whole = EPOCHS_FRAME.size + size
        if len(buffer) < whole:
            return None
        entries = EPOCH_ENTRY.iter_unpack(bytes(buffer[EPOCHS_FRAME.size : whole]))
        del buffer[:whole]
        return MasterEpochs(end, tuple(Epoch(number, start) for number, start in entries))

    def transfers(self) -> list[EpochTransfer]:
        """Return the complete transfers. Raises `StreamBroken` for an invalid one."""
        buffer, found, at = self._buffer, list[EpochTransfer](), 0
        while len(buffer) - at >= TRANSFER_FRAME.size:
            state, size, offset, number, start, confirmed = TRANSFER_FRAME.unpack_from(buffer, at)
            if state != TRANSFER or not 0 <= size <= self._limit:
                raise StreamBroken(f"the master announces state {state}, {size} bytes at {offset}")
            begin = at + TRANSFER_FRAME.size
            if len(buffer) - begin < size:
                break
            at = begin + size
            found.append(EpochTransfer(offset, Epoch(number, start), confirmed, bytes(buffer[begin:at])))
        del buffer[:at]
        return found
