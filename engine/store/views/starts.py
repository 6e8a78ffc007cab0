"""The view of moved starts: the offset before which messages of a queue were removed.

    marker = record of the topic QUEUE_STARTS_TOPIC, as a prepared message, with the property __QSTART
    property = queue-id SP offset SP topic

A marker enters no queue. It says that the messages of a queue before `offset` are removed. They all precede
the marker in the log. That tells them from messages of a younger topic of the same name, which follow it: a
marker fits its queue if the message before `offset` is in a record before the marker, and has no effect if it
does not. The start of a queue is the greatest offset of the markers that fit. A marker that leaves the log
with its file is not needed any more, as all that it removes has left before. Compacted parts, which outlive
the log, are written again without it before that (`engine.topic_compaction`).

The view moves the queues' `start`, and so their minimum offset. Slaves have it too, as they dispatch the same
log. Kafka: `UnifiedLog.maybeIncrementLogStartOffset`, `log-start-offset-checkpoint`.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from mqgateway.engine.disk import Disk
from mqgateway.engine.message import PROPERTY_QUEUE_START, QUEUE_STARTS_TOPIC, StoredMessage
from mqgateway.engine.steps import Steps
from mqgateway.engine.store.consume_queue import AnyQueue, ConsumeQueues
from mqgateway.engine.store.dispatch_request import DispatchRequest, enters_queue
from mqgateway.engine.store.views.snapshot import SnapshotView

log = logging.getLogger(__name__)

FOLDER: Final = "queuestarts"
"""Name of the folder with the snapshots."""
_ENTRY: Final = struct.Struct(">hiqq")
"""Length of the topic, queue id, position, offset."""
Key = tuple[str, int]
"""Topic and queue id."""


class StartMarker(NamedTuple):
    """A marker at a position of the log: messages of its queue before `offset` are removed."""

    position: int
    offset: int


class StartsView(SnapshotView):
    """Keeps the starts of queues that were moved, and moves them. With `has_older` messages that left the
    log are kept elsewhere, and so are their markers here."""

    def __init__(self, disk: Disk, root: str, queues: ConsumeQueues, has_older: bool) -> None:
        super().__init__(disk, f"{root}/{FOLDER}")
        self._queues = queues
        self._has_older = has_older
        self._markers: dict[Key, tuple[StartMarker, ...]] = {}
        """Markers that may have an effect: by position, with descending offsets. There are several for a
        queue only until it is known which of them fit."""
        self._due: set[Key] = set()

    # Following the log.

    def _take(self, request: DispatchRequest) -> bool:
        properties = request.properties
        if request.queue is not None or not is_marker(request.topic, request.sys_flag):
            return False
        return isinstance(properties, dict) and self._note(request.physical_offset, properties)

    def _repeat(self, message: StoredMessage) -> bool:
        if not is_marker(message.topic, message.sys_flag):
            return False
        return self._note(message.physical_offset, message.properties)

    def _note(self, position: int, properties: Mapping[str, str]) -> bool:
        found = parse_marker(properties)
        if found is None:
            return False
        key, offset = found
        before = [marker for marker in self._markers.get(key, ()) if marker.offset > offset]
        self._markers[key] = (*before, StartMarker(position, offset))
        self._due.add(key)
        self.is_full = True
        return True

    def settle(self, now: int) -> None:
        """Move the starts of queues with new markers. Raises `OSError`; what was not done stays due."""
        while self._due:
            self._follow(next(iter(self._due)))
        self.is_full = False

    def _follow(self, key: Key) -> None:
        """Let a queue begin where the first marker that fits says, or where the log has it. Reads units."""
        queue = self._queues.get(*key)
        marker = None if queue is None else self._fitting(queue)
        if marker is None:
            self._markers.pop(key, None)
        else:
            self._markers[key] = (marker,)
        offset = 0 if marker is None else marker.offset
        if queue is not None and queue.start != offset:
            assert self._log is not None
            queue.begin_at(offset, self._log.min_offset)
        self._due.discard(key)

    def _fitting(self, queue: AnyQueue) -> StartMarker | None:
        """Return the marker that says where a queue begins, None if there is none."""
        markers = self._markers.get((queue.topic, queue.queue_id), ())
        return next((marker for marker in markers if self._fits(queue, marker)), None)

    def _fits(self, queue: AnyQueue, marker: StartMarker) -> bool:
        """Return True if a queue has the messages that a marker removes, and not those of a younger topic."""
        if marker.offset > queue.max_offset:
            return False
        number = queue.number_of(marker.offset - 1)
        place = queue.place(number)
        if place is None:
            return self._has_older and number < queue.first
        return place[0] < marker.position

    def delete_topic(self, topic: str) -> bool:
        """See `View`."""
        gone = [key for key in self._markers if key[0] == topic]
        for key in gone:
            del self._markers[key]
            self._due.discard(key)
        return bool(gone)

    def delete_before(self, oldest: int) -> Steps[None]:
        """Forget markers that have left the log, unless messages before them stay elsewhere."""
        gone = (
            []
            if self._has_older
            else [key for key, markers in self._markers.items() if markers[-1].position < oldest]
        )
        for key in gone:
            del self._markers[key]
        yield

    # The state.

    @property
    def _is_empty(self) -> bool:
        return not self._markers

    def _clear(self) -> None:
        self._markers.clear()
        self._due.clear()

    def _encoder(self) -> Callable[[], bytes]:
        return partial(_encode, dict(self._markers))

    def _restore(self, state: bytes) -> None:
        self._markers = _decode(state)

    # Starting, and truncation.

    def end_at(self, end: int) -> None:
        """See `View`. The queues have their units by now."""
        super().end_at(end)
        self._due.update(self._markers)
        self.settle(0)

    def truncate(self, offset: int) -> int:
        """See `View`. Messages that a removed marker had removed are there again."""
        before = set(self._markers)
        newest = super().truncate(offset)
        self._due |= before | set(self._markers)
        self.settle(0)
        return newest

    def state(self, oldest: int) -> object:
        """Return the starts that have an effect on messages that the log still has."""
        found: dict[Key, StartMarker] = {}
        for key in self._markers:
            queue = self._queues.get(*key)
            marker = None if queue is None else self._fitting(queue)
            if marker is not None and marker.position >= oldest:
                found[key] = marker
        return found


def properties_of_marker(topic: str, queue_id: int, offset: int) -> dict[str, str]:
    """Return the properties of a marker."""
    return {PROPERTY_QUEUE_START: f"{queue_id} {offset} {topic}"}


def is_marker(topic: str, sys_flag: int) -> bool:
    """Return True if a record of a topic is a marker, valid or not."""
    return topic == QUEUE_STARTS_TOPIC and not enters_queue(sys_flag)


def parse_marker(properties: Mapping[str, str]) -> tuple[Key, int] | None:
    """Return the queue and the offset of a marker with these properties; None if they are no marker's."""
    words = properties.get(PROPERTY_QUEUE_START, "").split(" ", 2)
    if len(words) != 3 or not all(word.isdecimal() for word in words[:2]):
        log.warning("a marker of %s is not valid: %s", QUEUE_STARTS_TOPIC, " ".join(words))
        return None
    return (words[2], int(words[0])), int(words[1])


def _encode(found: Mapping[Key, Sequence[StartMarker]]) -> bytes:
    parts: list[bytes] = []
    for (topic, queue_id), markers in found.items():
        name = topic.encode()
        for marker in markers:
            parts += (_ENTRY.pack(len(name), queue_id, *marker), name)
    return b"".join(parts)


def _decode(state: bytes) -> dict[Key, tuple[StartMarker, ...]]:
    """Decode markers. Raises `ValueError` and `struct.error`."""
    found: dict[Key, tuple[StartMarker, ...]] = {}
    at = 0
    while at < len(state):
        length, queue_id, position, offset = _ENTRY.unpack_from(state, at)
        at += _ENTRY.size
        name = state[at : at + length]
        if len(name) != length:
            raise ValueError("the last entry is cut short")
        key = name.decode(), queue_id
        found[key] = (*found.get(key, ()), StartMarker(position, offset))
        at += length
    return found
