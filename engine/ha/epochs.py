"""Start offsets of a log's epochs, in a file beside it.

A master that begins an epoch records the end of its log, before the first record of that epoch. Logs are
compared by it later: they are equal as far as they have the same epochs. The file is written only where
epochs are used: a broker without epochs has none.

It is text: the number of epochs, the CRC-32 of their lines (without its highest bit; 0 is not checked), and a
line `epoch-start` for each. The previous content is in `.bak`, and is used if the file is damaged. RocketMQ:
`EpochFileCache`, `CheckpointFile`.
"""

from __future__ import annotations

import logging
import os
import zlib
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from mqgateway.engine.disk import Disk
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.tables.jsonfile import write_table

log = logging.getLogger(__name__)

FILE_NAME = "epochFileCheckpoint"
CRC_MASK = 0x7FFFFFFF
ENDLESS = 2**63 - 1
"""End of the newest epoch of a log."""


class Epoch(NamedTuple):
    """An epoch, and the log offset at which it begins; it ends where the next one begins."""

    number: int
    start: int


class EpochEnd(NamedTuple):
    """An epoch, and the log offset at which it ends; `ENDLESS` for the newest one."""

    number: int
    end: int


class Epochs:
    """The epochs of one log, `entries`, in order; both numbers and starts grow."""

    def __init__(self, disk: Disk, path: str) -> None:
        self._disk = disk
        self._path = path
        self.entries: list[Epoch] = []

    @property
    def last(self) -> int:
        """The newest epoch; 0 if there is none."""
        return self.entries[-1].number if self.entries else 0

    def load(self, end: int) -> None:
        """Load the epochs of a log that ends at `end`: it may have lost its end in a crash.

        Raises `ConfigError` if neither the file nor its backup can be parsed, and `OSError`.
        """
        self.entries = self._read()
        self.cut(end)

    def begin(self, number: int, start: int) -> None:
        """Begin an epoch at `start`, the end of the log; durable on return.

        A known epoch is not begun again. An epoch without records is replaced by the next: its master may
        have written records that no other log has, and that log must not count as equal to this one. RocketMQ
        keeps it, and takes such logs for equal. Raises `OSError`; then nothing has begun.
        """
        if number <= self.last:
            return
        self._keep([*(entry for entry in self.entries if entry.start < start), Epoch(number, start)])

    def cut(self, end: int) -> None:
        """Remove the epochs that begin after `end`, the new end of the log. Raises `OSError`."""
        self._keep([entry for entry in self.entries if entry.start <= end])

    def cut_from(self, offset: int) -> None:
        """Remove the epochs from `offset` on, where a slave continues from its master. Raises `OSError`.

        One of ours that begins there is empty, and the master sends the right one.
        """
        self._keep([entry for entry in self.entries if entry.start < offset])

    def at(self, offset: int) -> tuple[Epoch, int]:
        """Return the epoch of a byte of the log, and its end; bytes before all epochs are in epoch 0."""
        begin, end = Epoch(0, 0), ENDLESS
        for entry in self.entries:
            if entry.start > offset:
                end = entry.start
                break
            begin = entry
        return begin, end

    def _keep(self, entries: list[Epoch]) -> None:
        if entries == self.entries:
            return
        if entries:
            write_table(self._disk, self._path, format_epochs(entries))
        else:
            # An empty list would make RocketMQ's broker read the backup.
            self._remove()
        self.entries = entries

    def _remove(self) -> None:
        """Delete both files. The backup goes first: it must not be used because the file is gone."""
        for path in (f"{self._path}.bak", self._path):
            if self._disk.exists(path):
                self._disk.unlink(path)
                self._disk.sync_dir(os.path.dirname(path))

    def _read(self) -> list[Epoch]:
        problems = []
        for path in (self._path, f"{self._path}.bak"):
            try:
                return parse_epochs(self._disk.read_bytes(path))
            except FileNotFoundError:
                continue
            except ConfigError as error:
                log.error("%s has no epochs: %s", path, error)
                problems.append(f"{path}: {error}")
        if problems:
            raise ConfigError(f"the starts of epochs are unknown: {'; '.join(problems)}")
        return []


def format_epochs(entries: list[Epoch]) -> bytes:
    """Return the text of the file."""
    lines = "".join(f"{entry.number}-{entry.start}\n" for entry in entries).encode()
    return b"%d\n%d\n" % (len(entries), zlib.crc32(lines) & CRC_MASK) + lines


def parse_epochs(text: bytes) -> list[Epoch]:
    """Parse the text of a file. Raises `ConfigError`."""
    lines = text.split()
    try:
        count, crc = int(lines[0]), int(lines[1])
        entries = [Epoch(*map(int, line.split(b"-"))) for line in lines[2:]]
    except (IndexError, TypeError, ValueError):
        raise ConfigError("it is not a list of epochs") from None
    if len(entries) != count:
        raise ConfigError(f"{count} epochs are announced, {len(entries)} are there")
    if crc and crc != zlib.crc32(b"".join(line + b"\n" for line in lines[2:])) & CRC_MASK:
        raise ConfigError("its checksum is wrong")
    if any(a.number >= b.number or a.start >= b.start for a, b in pairwise(entries)):
        raise ConfigError("its epochs are not in order")
    return entries


def consistent_point(own: Sequence[Epoch], own_end: int, masters: Sequence[Epoch], master_end: int) -> int:
    """Return the offset up to which two logs are equal; -1 if there is none.

    It is the end, in the log where it ends first, of the newest epoch that both have with the same start.
    RocketMQ: `EpochFileCache.findConsistentPoint`.
    """
    ends = dict(zip(masters, _ends(masters, master_end), strict=True))
    for epoch, end in reversed(list(zip(own, _ends(own, own_end), strict=True))):
        if epoch in ends:
            return min(end, ends[epoch])
    return -1


def end_of_epoch(epochs: Sequence[Epoch], wanted: int) -> EpochEnd:
    """Return the newest epoch up to `wanted`, which ends where the next one begins.

    Without an epoch up to `wanted` its own number is returned.
    """
    number, end = wanted, ENDLESS
    for entry in epochs:
        if entry.number > wanted:
            end = entry.start
            break
        number = entry.number
    return EpochEnd(number, end)


def _ends(epochs: Sequence[Epoch], end: int) -> list[int]:
    return [*(epoch.start for epoch in epochs[1:]), end] if epochs else []
