"""Consumed offsets of this client, and their storage for broadcasting.

`ConsumedOffsets` is the table in memory, without I/O. `LocalOffsets` stores it in a file for broadcasting, in
RocketMQ's format and location: `<folder>/<client id>/<group>/offsets.json`. For clustering, brokers store the
offsets; see `gateway.client.consumer`.
RocketMQ: `ControllableOffset`, `LocalFileOffsetStore`, `OffsetSerializeWrapper`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Collection
from dataclasses import field

from mqgateway.engine.disk import Disk
from mqgateway.engine.lenient_json import JsonError, loads
from mqgateway.engine.tables.jsonfile import TableFile, set_aside
from mqgateway.engine.worker import Worker
from mqgateway.gateway.client.arguments import LONG_MAX
from mqgateway.gateway.codec.bodies import MessageQueue
from mqgateway.gateway.codec.bodies.body import Body, body
from mqgateway.gateway.codec.errors import BodyError

log = logging.getLogger(__name__)

NONE = -1
"""Offset of a queue that has none."""


BACKUP = ".bak"


@body
class OffsetTable(Body):
    """File content: offsets by queue."""

    offset_table: dict[MessageQueue, int] = field(default_factory=dict)


class ConsumedOffsets:
    """Offsets of the next message to consume, by queue."""

    def __init__(self) -> None:
        self._offsets: dict[MessageQueue, int] = {}
        self._frozen: set[MessageQueue] = set()

    def get(self, queue: MessageQueue) -> int:
        """Return the offset of a queue, or -1."""
        return self._offsets.get(queue, NONE)

    def update(self, queue: MessageQueue, offset: int, *, increase_only: bool = False) -> None:
        """Set the offset of a queue, unless it is frozen."""
        if queue in self._frozen:
            return
        if increase_only:
            offset = max(offset, self.get(queue))
        self._offsets[queue] = offset

    def freeze(self, queue: MessageQueue, offset: int) -> None:
        """Set an offset that messages still being consumed must not change; `remove` unfreezes it."""
        self._offsets[queue] = offset
        self._frozen.add(queue)

    def remove(self, queue: MessageQueue) -> None:
        """Remove a queue that is no longer owned."""
        self._offsets.pop(queue, None)
        self._frozen.discard(queue)

    def keep(self, queues: Collection[MessageQueue]) -> None:
        """Remove all queues except these."""
        for queue in [queue for queue in self._offsets if queue not in queues]:
            self.remove(queue)

    def of(self, topic: str | None = None) -> dict[MessageQueue, int]:
        """Return a copy of the offsets, of one topic or of all."""
        return {queue: offset for queue, offset in self._offsets.items() if topic in (None, queue.topic)}


class LocalOffsets:
    """Offset file of one client and group."""

    def __init__(
        self, disk: Disk, folder: str, client_id: str, group: str, worker: Worker | None = None
    ) -> None:
        path = os.path.join(os.path.expanduser(folder), client_id, group, "offsets.json")
        self._disk = disk
        self._file = TableFile(disk, path, worker)
        self._kept: dict[MessageQueue, int] = {}

    @property
    def path(self) -> str:
        """Path of the file."""
        return self._file.path

    def load(self) -> dict[MessageQueue, int]:
        """Load the stored offsets from the file, or from its backup (`.bak`).

        A file that is corrupt or unreadable is set aside (`.broken`). If neither file is usable, the result
        is empty and the consumer starts as a new one would. RocketMQ: `LocalFileOffsetStore.readLocalOffset`.
        """
        self._kept = {}
        lost = []
        for path in (self.path, self.path + BACKUP):
            try:
                kept = _read(self._disk.read_bytes(path))
            except FileNotFoundError:
                continue
            except (BodyError, JsonError, OSError, RecursionError, ValueError) as error:
                lost.append(self._set_aside(path, error))
                continue
            if lost:
                log.warning("the offsets in %s replace the offsets in %s", path, lost[0])
            self._kept = kept
            return dict(kept)
        if lost:
            log.warning(
                "%s keeps no offsets of broadcasting any more: the consumer begins where a new one would, so "
                "that messages may come again, or be left out",
                self.path,
            )
        return {}

    def _set_aside(self, path: str, error: Exception) -> str:
        try:
            name = set_aside(self._disk, path)
        except OSError as failure:
            log.warning("%s cannot be read (%s), nor be set aside: %s", path, error, failure)
            return path
        log.warning("%s cannot be read: %s; kept as %s", path, error, name)
        return name

    def get(self, queue: MessageQueue) -> int:
        """Return the stored offset of a queue, or -1."""
        return self._kept.get(queue, NONE)

    def save(self, offsets: dict[MessageQueue, int], *, inline: bool = False) -> None:
        """Store these offsets and keep those of other queues; failures are logged.

        With `inline`, the file is written before this returns.
        """
        if all(self._kept.get(queue) == offset for queue, offset in offsets.items()) and not inline:
            return
        self._kept.update(offsets)
        self._file.save(lambda: OffsetTable(dict(self._kept)).encode(), inline=inline)


def _read(content: bytes) -> dict[MessageQueue, int]:
    """Parse an offset file. Raises `BodyError`, `JsonError` or `ValueError` if it is corrupt."""
    table = loads(content)
    if not isinstance(table, dict):
        raise ValueError("it is not a table of offsets")
    kept = OffsetTable.from_json(table).offset_table
    wrong = next((queue for queue, offset in kept.items() if not 0 <= offset <= LONG_MAX), None)
    if wrong is not None:
        raise ValueError(f"{kept[wrong]} is not an offset of {wrong}")
    return kept
