"""Where each epoch of a log begins: the file that a log of changing masters keeps beside it.

A master that begins an epoch writes down where its log ends, before the first record of that epoch. Logs are
compared by that later: they are one up to where they have the same epochs. The file is written where epochs
are used, and only there: a broker that nobody gives an epoch has none.

It is text: how many epochs there are, the CRC-32 of their lines (without its highest bit; 0 is not checked),
and a line `epoch-start` for each; what it held before is `.bak`, and counts where the file is damaged.
Standard: `EpochFileCache`, `CheckpointFile`.
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
"""Where the newest epoch of a log ends, as long as there is no newer one."""


class Epoch(NamedTuple):
    """An epoch, and the log offset at which it begins; it ends where the next one begins."""

    number: int
    start: int


class Epochs:
    """The epochs of one log, `entries`, in order; both numbers and starts grow."""

    def __init__(self, disk: Disk, path: str) -> None:
        self._disk = disk
        self._path = path
        self.entries: list[Epoch] = []

    @property
    def last(self) -> int:
        """The newest epoch, 0 as long as there was none."""
        return self.entries[-1].number if self.entries else 0

    def load(self, end: int) -> None:
        """Read what there is, of a log that ends at `end`: it may have lost its end in a crash.

        Raises `ConfigError` where neither the file nor its backup can be understood, and `OSError`.
        """
        self.entries = self._read()
        self.cut(end)

    def begin(self, number: int, start: int) -> None:
        """An epoch begins at `start`, which is where the log ends. Once this returns it is on disk.

        One that is known is not begun again. An epoch of which this log has nothing gives way to the next:
        its master may have written what nobody else has, and that log must not count as one with this. The
        standard keeps it, and takes such logs for one. Raises `OSError`, and then has begun nothing.
        """
        if number <= self.last:
            return
        self._keep([*(entry for entry in self.entries if entry.start < start), Epoch(number, start)])

    def cut(self, end: int) -> None:
        """The log ends at `end` now: what began behind that has never been. Raises `OSError`."""
        self._keep([entry for entry in self.entries if entry.start <= end])

    def cut_from(self, offset: int) -> None:
        """A slave goes on at `offset` behind its master: an epoch of ours that begins there has nothing, and
        the master says which one does. Raises `OSError`."""
        self._keep([entry for entry in self.entries if entry.start < offset])

    def at(self, offset: int) -> tuple[Epoch, int]:
        """The epoch in which a byte of the log lies, and where that ends; what is older than all epochs lies
        in epoch 0."""
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
            # An empty list would send the standard's broker to the backup.
            self._remove()
        self.entries = entries

    def _remove(self) -> None:
        """The backup goes first: it may not count once more because the file is gone."""
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
    """The text of the file."""
    lines = "".join(f"{entry.number}-{entry.start}\n" for entry in entries).encode()
    return b"%d\n%d\n" % (len(entries), zlib.crc32(lines) & CRC_MASK) + lines


def parse_epochs(text: bytes) -> list[Epoch]:
    """The epochs of a file's text. Raises `ConfigError`."""
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
    """Up to where two logs are one: the end of the newest epoch that both have with the same beginning, in
    the log where that ends first; -1 where they have none. Standard: `EpochFileCache.findConsistentPoint`.
    """
    ends = dict(zip(masters, _ends(masters, master_end), strict=True))
    for epoch, end in reversed(list(zip(own, _ends(own, own_end), strict=True))):
        if epoch in ends:
            return min(end, ends[epoch])
    return -1


def _ends(epochs: Sequence[Epoch], end: int) -> list[int]:
    return [*(epoch.start for epoch in epochs[1:]), end] if epochs else []
