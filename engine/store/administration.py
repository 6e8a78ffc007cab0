"""Administration of an open store: its contents, its figures, deletion of topics and of old files.

RocketMQ: the parts of `DefaultMessageStore` that `AdminBrokerProcessor` calls.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

from mqgateway.engine.clock import Clock, elapsed_millis
from mqgateway.engine.disk import Disk
from mqgateway.engine.message import PROPERTY_KAFKA
from mqgateway.engine.store.consume_queue import ConsumeQueues
from mqgateway.engine.store.dispatch import Dispatch
from mqgateway.engine.store.file_queue import file_name
from mqgateway.engine.store.flush import LogFlusher
from mqgateway.engine.store.log import Log, oldest_store_time, record_at
from mqgateway.engine.store.record import properties_of
from mqgateway.engine.store.retention import Retention
from mqgateway.engine.store.saved_log import SavedLog
from mqgateway.engine.store.statistics import Statistics, disk_figures, in_words

log = logging.getLogger(__name__)


class Administered(Protocol):
    """The parts of the store that `StoreAdministration` uses; see `MessageStore`."""

    root: str
    statistics: Statistics

    @property
    def sickness(self) -> str:
        """The fault of the disk; empty if there is none."""

    def dispatch_all(self) -> None:
        """Dispatch all confirmed records, which makes them readable."""


class Positions(NamedTuple):
    """Offsets of the log.

    The first one, the flushed, confirmed and dispatched (to queues and index) offsets, and the end.
    """

    first: int
    flushed: int
    confirmed: int
    dispatched: int
    end: int


class StoreAdministration:
    """See `MessageStore.admin`."""

    def __init__(
        self,
        store: Administered,
        disk: Disk,
        clock: Clock,
        commit_log: Log,
        queues: ConsumeQueues,
        dispatch: Dispatch,
        durability: LogFlusher,
        retention: Retention,
    ) -> None:
        self._store = store
        self._disk = disk
        self._clock = clock
        self._log = commit_log
        self._queues = queues
        self._dispatch = dispatch
        self._durability = durability
        self._retention = retention

    @property
    def saved(self) -> SavedLog:
        """Progress of saving the log to an object store."""
        return self._retention.saved

    def watch_syncs(self, callback: Callable[[float, int], None]) -> None:
        """Call back with the duration of each sync of the log in seconds, and the bytes it covered."""
        self._durability.watch_syncs(callback)

    @property
    def queue_count(self) -> int:
        """Number of consume queues."""
        return self._queues.count

    @property
    def lmq_count(self) -> int:
        """Number of LMQ queues."""
        return self._queues.lmq_count

    def ever_put(self, topic: str, queues: int) -> int:
        """Return the number of messages ever put into a topic's first `queues` queues."""
        found = self._queues.table.get(topic, {}).items()
        return sum([queue.max_offset for queue_id, queue in found if queue_id < queues])

    @property
    def dispatch_behind_bytes(self) -> int:
        """Bytes of the log that are confirmed but not dispatched yet."""
        return max(0, self._log.confirm_offset - self._dispatch.offset)

    def positions(self) -> Positions:
        """Return the offsets of the log."""
        log = self._log
        return Positions(
            log.min_offset,
            self._durability.commit.flushed,
            log.confirm_offset,
            self._dispatch.offset,
            log.end_offset,
        )

    def segments(self) -> list[int]:
        """Return the start offsets of the log's files, ascending."""
        return list(self._log.files.starts)

    @property
    def segment_size(self) -> int:
        """Size in bytes of a file of the log."""
        return self._log.files.file_size

    def segment_written(self, start: int) -> int | None:
        """Return the time of the last write to a log file, in ms since the epoch; None if it is gone."""
        try:
            return self._disk.modified(f"{self._log.files.directory}/{file_name(start)}")
        except FileNotFoundError:
            return None

    @property
    def folders(self) -> tuple[str, str]:
        """Directories of the log and of the consume queues."""
        return self._log.files.directory, self._queues.directory

    def topics_with_messages(self) -> dict[str, int]:
        """Return the topics with messages, except LMQ topics, mapped to their highest queue id + 1."""
        return self._queues.topics_with_messages()

    def newest_place(self, topic: str) -> int:
        """Return the log offset of the topic's newest message; -1 if there is none."""
        places = [
            queue.place(queue.end - 1)
            for queue in self._queues.table.get(topic, {}).values()
            if queue.max_offset > queue.min_offset
        ]
        return max((place[0] for place in places if place is not None), default=-1)

    def attributes_of(self, topic: str) -> dict[str, str]:
        """Return the attributes of a topic that can be derived from its files.

        A topic whose newest record is a batch of Kafka was made by Kafka's clients.
        """
        if self._disk.is_dir(f"{self._store.root}/compaction/compactionLog/{topic}"):
            return {"cleanup.policy": "COMPACTION"}
        if not self._queues.is_batch_topic(topic):
            return {}
        record = record_at(self._log, self.newest_place(topic))
        is_kafka = record is not None and PROPERTY_KAFKA in properties_of(record)
        return {"queue.type": "BatchCQ"} | ({"message.format": "kafka"} if is_kafka else {})

    def delete_topics(self, names: Iterable[str]) -> int:
        """Delete the consume queues of topics and return the number of topics that had any.

        Their records leave with the log. A checkpoint is started, so that a crash does not restore the
        queues.
        """
        self._store.dispatch_all()
        count = 0
        for name in names:
            self._dispatch.forget(name)
            try:
                count += self._delete_from_views(name)
            except OSError as error:
                log.error("the consume queues of %s cannot be deleted: %s", name, error)
        if count:
            self._durability.start_round()
        return count

    def _delete_from_views(self, topic: str) -> bool:
        """Delete a topic from every view; return True if one of them had it.

        The queues come last: after a crash no view has data of a topic whose queues are gone.
        """
        known = [view.delete_topic(topic) for view in reversed(self._dispatch.views)]
        return any(known)

    def delete_expired_files(self) -> None:
        """Delete expired files on the next ticks, at any hour. RocketMQ: `executeDeleteFilesManually`."""
        self._retention.delete_now()

    def runtime_info(self) -> dict[str, str]:
        """Return the store's figures by RocketMQ's keys.

        RocketMQ: `DefaultMessageStore.getRuntimeInfo`, and those of `AdminBrokerProcessor` that the store
        has.
        """
        commit_log, sickness = self._log, self._store.sickness
        return {
            **self._store.statistics.runtime_info(elapsed_millis(self._clock)),
            **disk_figures(self._disk, self._store.root, commit_log.files.directory, self._queues.directory),
            "commitLogMinOffset": str(commit_log.min_offset),
            "commitLogMaxOffset": str(commit_log.end_offset),
            "dispatchBehindBytes": str(self.dispatch_behind_bytes),
            "earliestMessageTimeStamp": str(oldest_store_time(commit_log)),
            "pageCacheLockTimeMills": "0",
            "remainTransientStoreBufferNumbs": str(0x7FFFFFFF),
            "remainHowManyDataToFlush": in_words(commit_log.end_offset - self._durability.commit.flushed),
            **({"writesRefused": sickness} if sickness else {}),
        }
