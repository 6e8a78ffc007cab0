"""The view of compacted parts: files with what compaction has left of queues of batches.

    kafkacompaction/TOPIC/QUEUE-ID    the file of a queue, see `compacted_part`

A part has what the log may not have any more, so it is not rebuilt from the log. It begins where the queue
did when it was compacted first, or at the queue's start if that was later the last time. From its end on
readers get the log's records.

Only records that are confirmed and synced are compacted. So the log ends before a part does only where it
was truncated, as after an unclean election. Then the part ends where the log begins, and what the log still
has is read from there again. So it is where a transaction is open again, as its marker was truncated. What
newer records displaced in the rest of the part does not come back.

A topic's parts are deleted before its queues are. So a part without its queue is one whose queue was lost:
the queue continues where the part ends. Kafka: `LogCleaner` replaces segments of the log instead.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from mqgateway.engine.disk import Disk
from mqgateway.engine.errors import CorruptFile
from mqgateway.engine.message import StoredMessage
from mqgateway.engine.steps import Steps
from mqgateway.engine.store.batch_consume_queue import BatchConsumeQueue
from mqgateway.engine.store.batch_records import offsets_of
from mqgateway.engine.store.compacted_part import BESIDE, CompactedPart, PartWriter
from mqgateway.engine.store.compacted_reading import CompactedReading
from mqgateway.engine.store.consume_queue import ConsumeQueues
from mqgateway.engine.store.log import Log
from mqgateway.engine.store.views.view import NOTHING, StoreStart, View, ViewCoverage

log = logging.getLogger(__name__)

FOLDER: Final = "kafkacompaction"
"""Name of the folder with the files."""
DAMAGED: Final = ".damaged"
"""Suffix of a file that cannot be read, and is set aside."""
Key = tuple[str, int]
"""Topic and queue id."""


class CompactedPartsView(View):
    """Keeps `parts`, for `reading`; only the view changes them. `readable_end` returns up to where a queue,
    named by topic and number, may be read.

    A compaction sets `compacting` to its queue before it looks at that, `is_working` while a worker writes a
    file for it, and `keep_from` to the position of the oldest record in the log that is still to be
    compacted. It must end once `changes` is another: the log was truncated, or the topic deleted. Nothing
    may be changed any more once `is_stopped`.
    """

    def __init__(
        self,
        disk: Disk,
        root: str,
        queues: ConsumeQueues,
        readable_end: Callable[[str, int], int],
    ) -> None:
        self._disk = disk
        self._folder = f"{root}/{FOLDER}"
        self._queues = queues
        self._log: Log | None = None
        self.reading = CompactedReading()
        self.parts = self.reading.parts
        self._readable_end = readable_end
        self.changes = 0
        self.compacting: Key | None = None
        self.is_working = self.is_stopped = False
        self.keep_from: int | None = None

    def path(self, topic: str, queue_id: int) -> str:
        """Return the path of the file of a queue."""
        return f"{self._folder}/{topic}/{queue_id}"

    # Following the log: what is compacted is read from the queues.

    @property
    def takes_records(self) -> bool:
        """See `View`."""
        return False

    def repeat(self, message: StoredMessage) -> bool:
        """See `View`."""
        return True

    # Starting.

    def load(self, start: StoreStart) -> Steps[ViewCoverage | None]:
        """Do nothing: `opened` loads, once the queues exist. See `View`."""
        self._log = start.log
        yield from ()
        return None

    def opened(self, is_clean: bool) -> None:
        """Load all parts. One that cannot be read is set aside. Raises `OSError`."""
        for topic in self._disk.subdirs(self._folder):
            for name in self._disk.listdir(f"{self._folder}/{topic}"):
                if name.isdecimal():
                    self._open(topic, int(name))
                elif name.endswith(BESIDE):
                    self._disk.unlink(f"{self._folder}/{topic}/{name}")

    def _open(self, topic: str, queue_id: int) -> None:
        path = self.path(topic, queue_id)
        try:
            part = CompactedPart(self._disk, path)
        except CorruptFile as error:
            log.error("%s; it is set aside as %s", error, path + DAMAGED)
            self._disk.rename(path, path + DAMAGED)
            return
        queue = self._queues.get(topic, queue_id) or self._queues.open(topic, queue_id)
        if not isinstance(queue, BatchConsumeQueue):
            log.error("%s is not used: queue %d of %s does not have batches", path, queue_id, topic)
            return
        if not queue.max_offset:
            log.warning("%s queue %d is lost; it continues at %d, behind %s", topic, queue_id, part.end, path)
            queue.continue_at(part.end)
        self._set(queue, part)
        self._shorten(queue, part)

    def _set(self, queue: BatchConsumeQueue, part: CompactedPart) -> None:
        """Have readers of a queue use a part."""
        self.parts[queue.topic, queue.queue_id] = part
        queue.compacted_begin, queue.compacted_end = part.begin, part.end
        assert self._log is not None
        queue.correct_min(self._log.min_offset)

    # Being open.

    def replaced(self, topic: str, queue_id: int) -> None:
        """Take over the file that a compaction has written. Raises `CorruptFile` and `OSError`."""
        queue = self._queues.get(topic, queue_id)
        assert isinstance(queue, BatchConsumeQueue)
        self._set(queue, CompactedPart(self._disk, self.path(topic, queue_id)))

    def remove(self, topic: str, queue_id: int) -> None:
        """Delete the part of a queue, whose readers get the log's records then. Raises `OSError`."""
        path = self.path(topic, queue_id)
        self._disk.unlink(path)
        self._disk.sync_dir(path.rpartition("/")[0])
        del self.parts[topic, queue_id]
        queue = self._queues.get(topic, queue_id)
        if isinstance(queue, BatchConsumeQueue):
            queue.compacted_begin = queue.compacted_end = 0
            assert self._log is not None
            queue.correct_min(self._log.min_offset)

    def discard(self, topic: str, queue_id: int) -> None:
        """Delete what a compaction that ended early may have written, perhaps after its topic was deleted.
        Raises `OSError`."""
        path = self.path(topic, queue_id)
        left = [path + BESIDE] if (topic, queue_id) in self.parts else [path + BESIDE, path]
        for name in left:
            if self._disk.exists(name):
                self._disk.unlink(name)

    @property
    def is_idle(self) -> bool:
        """True unless a worker writes a file."""
        return not self.is_working

    @property
    def needed_from(self) -> int | None:
        """See `View`."""
        return self.keep_from

    def truncate(self, offset: int) -> int:
        """Shorten the parts that go beyond what can be read of their queues. All other views were truncated
        before. Raises `OSError`."""
        self.changes += 1
        for key, part in list(self.parts.items()):
            queue = self._queues.get(*key)
            if isinstance(queue, BatchConsumeQueue):
                self._shorten(queue, part)
        return NOTHING

    def _shorten(self, queue: BatchConsumeQueue, part: CompactedPart) -> None:
        """End a part that goes beyond what can be read before the first record of its queue that the log
        still has. All of it is written here and now, as nothing else may happen before."""
        assert self._log is not None
        topic, queue_id = queue.topic, queue.queue_id
        end = queue.first_offset_in_log(self._log.min_offset)
        if part.end <= self._readable_end(topic, queue_id) or part.end <= end:
            return
        if end <= part.begin:
            self.remove(topic, queue_id)
            return
        log.warning("%s is shortened from %d to %d, as the log was truncated", part.path, part.end, end)
        writer = PartWriter(self._disk, part.path)
        for record in part.records():
            if offsets_of(record)[0] >= end:
                break
            writer.add(record)
        writer.finish(part.begin, end)
        self.replaced(topic, queue_id)

    def delete_topic(self, topic: str) -> bool:
        """Delete the files of a topic. Raises `OSError`."""
        if self.compacting is not None and self.compacting[0] == topic:
            self.changes += 1
        for key in [key for key in self.parts if key[0] == topic]:
            del self.parts[key]
        is_known = self._disk.is_dir(f"{self._folder}/{topic}")
        if is_known:
            self._disk.rmtree(f"{self._folder}/{topic}")
            self._disk.sync_dir(self._folder)
        return is_known

    def stop(self) -> None:
        """See `View`."""
        self.is_stopped = True

    def state(self, oldest: int) -> object:
        """Return nothing: parts are not rebuilt. What readers get of them is compared instead."""
        return None
