"""How far each queue has been consumed, as this client knows; and where that is kept.

`ConsumedOffsets` is the table, pure. `LocalOffsets` keeps it in a file, for broadcasting, in the standard's
format and place: `<folder>/<client id>/<group>/offsets.json`. For clustering brokers keep it: see
`gateway.client.consumer`. Standard: `ControllableOffset`, `LocalFileOffsetStore`, `OffsetSerializeWrapper`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Collection
from dataclasses import dataclass, field

from mqgateway.engine.disk import Disk
from mqgateway.engine.lenient_json import JsonError, loads
from mqgateway.engine.tables.jsonfile import TableFile, set_aside
from mqgateway.engine.worker import Worker
from mqgateway.gateway.client.arguments import LONG_MAX
from mqgateway.gateway.codec.bodies import MessageQueue
from mqgateway.gateway.codec.bodies.body import Body
from mqgateway.gateway.codec.errors import BodyError

log = logging.getLogger(__name__)

NONE = -1
"""Of a queue that has no offset."""


BACKUP = ".bak"


@dataclass(slots=True)
class OffsetTable(Body):
    """The file: offsets by queue."""

    offset_table: dict[MessageQueue, int] = field(default_factory=dict)


class ConsumedOffsets:
    """Offsets by queue: the next message to consume."""

    def __init__(self) -> None:
        self._offsets: dict[MessageQueue, int] = {}
        self._frozen: set[MessageQueue] = set()

    def get(self, queue: MessageQueue) -> int:
        """The offset of a queue, or -1."""
        return self._offsets.get(queue, NONE)

    def update(self, queue: MessageQueue, offset: int, *, increase_only: bool = False) -> None:
        """Consumed up to here; a frozen offset stays."""
        if queue in self._frozen:
            return
        if increase_only:
            offset = max(offset, self.get(queue))
        self._offsets[queue] = offset

    def freeze(self, queue: MessageQueue, offset: int) -> None:
        """Set an offset that what is still being consumed must not change; `remove` thaws."""
        self._offsets[queue] = offset
        self._frozen.add(queue)

    def remove(self, queue: MessageQueue) -> None:
        """The queue is not ours any more."""
        self._offsets.pop(queue, None)
        self._frozen.discard(queue)

    def keep(self, queues: Collection[MessageQueue]) -> None:
        """Forget all queues but these."""
        for queue in [queue for queue in self._offsets if queue not in queues]:
            self.remove(queue)

    def of(self, topic: str | None = None) -> dict[MessageQueue, int]:
        """A copy, of one topic or all."""
        return {queue: offset for queue, offset in self._offsets.items() if topic in (None, queue.topic)}


class LocalOffsets:
    """The file of one client and group."""

    def __init__(
        self, disk: Disk, folder: str, client_id: str, group: str, worker: Worker | None = None
    ) -> None:
        path = os.path.join(os.path.expanduser(folder), client_id, group, "offsets.json")
        self._disk = disk
        self._file = TableFile(disk, path, worker)
        self._kept: dict[MessageQueue, int] = {}

    @property
    def path(self) -> str:
        """Where it lies."""
        return self._file.path

    def load(self) -> dict[MessageQueue, int]:
        """What was kept: in the file, or in its backup (`.bak`).

        A file that is damaged or cannot be read is set aside (`.broken`). If neither can be used, nothing was
        kept: the consumer begins where a new one would. Standard: `LocalFileOffsetStore.readLocalOffset`.
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
        """What was kept of a queue, or -1."""
        return self._kept.get(queue, NONE)

    def save(self, offsets: dict[MessageQueue, int], *, inline: bool = False) -> None:
        """Keep these; other queues stay as they were. A failure is logged. `inline`: written when this
        returns."""
        if all(self._kept.get(queue) == offset for queue, offset in offsets.items()) and not inline:
            return
        self._kept.update(offsets)
        self._file.save(lambda: OffsetTable(dict(self._kept)).encode(), inline=inline)


def _read(content: bytes) -> dict[MessageQueue, int]:
    """The offsets in a file. Raises `BodyError`, `JsonError` or `ValueError` for a file that is damaged."""
    table = loads(content)
    if not isinstance(table, dict):
        raise ValueError("it is not a table of offsets")
    kept = OffsetTable.from_json(table).offset_table
    wrong = next((queue for queue, offset in kept.items() if not 0 <= offset <= LONG_MAX), None)
    if wrong is not None:
        raise ValueError(f"{kept[wrong]} is not an offset of {wrong}")
    return kept
