"""Caring for a store that is open: what it has, figures about it, and getting rid of what is not wanted.

Standard: of `DefaultMessageStore` what `AdminBrokerProcessor` asks.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

from mqgateway.engine.clock import Clock, elapsed_millis
from mqgateway.engine.disk import Disk
from mqgateway.engine.store.consume_queue import ConsumeQueues
from mqgateway.engine.store.dispatch import Dispatch
from mqgateway.engine.store.file_queue import file_name
from mqgateway.engine.store.flush import Durability
from mqgateway.engine.store.log import Log, oldest_store_time
from mqgateway.engine.store.retention import Retention
from mqgateway.engine.store.statistics import Statistics, disk_figures, in_words

log = logging.getLogger(__name__)


class Administered(Protocol):
    """What is asked of the store itself; see `MessageStore`."""

    root: str
    statistics: Statistics

    @property
    def sickness(self) -> str:
        """What is wrong with the disk; empty when nothing is."""

    def dispatch_all(self) -> None:
        """Make readable whatever may be seen."""


class Positions(NamedTuple):
    """Offsets of the log: its first byte, up to where it is durable, may be seen, is in queues and index, and
    its end."""

    first: int
    flushed: int
    confirmed: int
    dispatched: int
    end: int


class Administration:
    """See `MessageStore.admin`."""

    def __init__(
        self,
        store: Administered,
        disk: Disk,
        clock: Clock,
        commit_log: Log,
        queues: ConsumeQueues,
        dispatch: Dispatch,
        durability: Durability,
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

    def watch_syncs(self, told: Callable[[float, int], None]) -> None:
        """Tell from now on how long each sync of the log took, in seconds, and of how many bytes it was."""
        self._durability.on_synced = told

    @property
    def queue_count(self) -> int:
        """How many queues there are."""
        return self._queues.count

    @property
    def lmq_count(self) -> int:
        """How many light queues there are."""
        return self._queues.lmq_count

    def ever_put(self, topic: str, queues: int) -> int:
        """How many messages were ever put into a topic's first queues: where these end."""
        found = self._queues.table.get(topic, {}).items()
        return sum([queue.max_offset for queue_id, queue in found if queue_id < queues])

    @property
    def dispatch_behind_bytes(self) -> int:
        """Bytes of the log that may be seen and are not dispatched yet."""
        return max(0, self._log.confirm_offset - self._dispatch.offset)

    def positions(self) -> Positions:
        """How far the log is, in every respect."""
        log = self._log
        return Positions(
            log.min_offset,
            self._durability.commit.flushed,
            log.confirm_offset,
            self._dispatch.offset,
            log.end_offset,
        )

    def segments(self) -> list[int]:
        """Where the files of the log start, ascending."""
        return list(self._log.files.starts)

    @property
    def segment_size(self) -> int:
        """Bytes of a file of the log."""
        return self._log.files.file_size

    def segment_written(self, start: int) -> int | None:
        """When a file of the log was last written, in ms since the epoch; None for one that is gone."""
        try:
            return self._disk.modified(f"{self._log.files.directory}/{file_name(start)}")
        except FileNotFoundError:
            return None

    @property
    def folders(self) -> tuple[str, str]:
        """Where the log lies, and where the consume queues do."""
        return self._log.files.directory, self._queues.directory

    def topics_with_messages(self) -> dict[str, int]:
        """Topics of which the log has messages, but no light ones, with one more than their highest queue."""
        return self._queues.topics_with_messages()

    def newest_place(self, topic: str) -> int:
        """Return the log offset of the topic's newest message; -1 where there is none."""
        places = [
            queue.place(queue.max_offset - 1)
            for queue in self._queues.table.get(topic, {}).values()
            if queue.max_offset > queue.min_offset
        ]
        return max((place[0] for place in places if place is not None), default=-1)

    def attributes_of(self, topic: str) -> dict[str, str]:
        """What the files of a topic tell of its attributes."""
        if self._disk.is_dir(f"{self._store.root}/compaction/compactionLog/{topic}"):
            return {"cleanup.policy": "COMPACTION"}
        return {"queue.type": "BatchCQ"} if self._queues.is_batch_topic(topic) else {}

    def delete_topics(self, names: Iterable[str]) -> int:
        """Forget the consume queues of topics; their records leave with the log. Returns how many there were.

        A checkpoint follows, so that a crash does not bring them back.
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
        """Delete a topic from every view; return True if one of them had it."""
        known = [view.delete_topic(topic) for view in self._dispatch.views]
        return any(known)

    def delete_expired_files(self) -> None:
        """Delete old files with the next ticks, whatever the hour. Standard: `executeDeleteFilesManually`."""
        self._retention.delete_now()

    def runtime_info(self) -> dict[str, str]:
        """Figures about the store, by the standard's keys.

        Standard: `DefaultMessageStore.getRuntimeInfo`, and of `AdminBrokerProcessor` those the store knows.
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
