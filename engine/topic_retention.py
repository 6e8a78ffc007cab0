"""Retention by topic: the starts of queues follow the limits of their topics (`tables.retention`).

A look at all topics begins every `topicRetentionCheckInterval`. It runs in slices, and waits for no disk.
Messages are deleted by the times at which they were stored, and by the bytes of their records: whole records,
the newest too if it is old enough. The start of a queue is moved by a marker in the log; files of the log go
by their own rules. Only a broker that may write to its log looks. Kafka: `UnifiedLog.deleteOldSegments`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from mqgateway.engine.clock import Clock, elapsed_millis
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.steps import Steps
from mqgateway.engine.store.cold_reading import read_in_steps
from mqgateway.engine.store.message_store import ColdRead, MessageStore, PutStatus
from mqgateway.engine.store.older_messages import NothingYet
from mqgateway.engine.tables.retention import RetentionLimits, limits_of
from mqgateway.engine.tables.topics import TopicConfig

log = logging.getLogger(__name__)

T = TypeVar("T")

SLICE_SECONDS: Final = 0.005
TOPICS_A_STEP: Final = 100
"""Duration of a slice, and topics without limits that are passed in one step."""


class TopicRetention:
    """The looks of one broker. `topics` returns all topics as they are configured."""

    def __init__(
        self,
        options: StoreOptions,
        store: MessageStore,
        clock: Clock,
        topics: Callable[[], Iterable[TopicConfig]],
    ) -> None:
        self._options = options
        self._store = store
        self._clock = clock
        self._topics = topics
        self._last = elapsed_millis(clock)
        self._look: Steps[None] | None = None
        self._is_waiting = False
        self.deleted = 0
        """Messages that were deleted since the start of the process."""

    def tick(self) -> None:
        """Begin a look if it is time, or continue the one that is in progress."""
        now = elapsed_millis(self._clock)
        if self._look is None:
            if now - self._last < self._options.topic_retention_check_interval:
                return
            self._last = now
            self._look = self._steps()
        until = self._clock.monotonic() + SLICE_SECONDS
        try:
            while not self._is_waiting:
                next(self._look)
                if self._clock.monotonic() >= until:
                    break
        except StopIteration:
            self._look = None
        except OSError as error:
            log.error("the look for expired messages of topics failed: %s", error)
            self._look = None
        self._store.dispatch()

    def _steps(self) -> Steps[None]:
        """Look at every topic. Raises `OSError`.

        A broker that may not write to its log forgets the sizes: its log may be truncated meanwhile.
        """
        has_sizes: set[str] = set()
        if self._store.refusal:
            self._store.sizes.keep(has_sizes)
            return
        for number, config in enumerate(list(self._topics())):
            limits = limits_of(config)
            if limits is not None:
                if limits.size is not None:
                    has_sizes.add(config.topic_name)
                for queue_id in self._store.max_offsets(config.topic_name):
                    if not (yield from self._apply(config.topic_name, queue_id, limits)):
                        return
                    yield
            elif number % TOPICS_A_STEP == 0:
                yield
        self._store.sizes.keep(has_sizes)

    def _apply(self, topic: str, queue_id: int, limits: RetentionLimits) -> Steps[bool]:
        """Delete what is beyond the limits of a queue; return False if the log is not to be written to."""
        store = self._store
        start = 0
        if limits.millis is not None:
            since = min(self._clock.millis(), store.steady.now()) - limits.millis
            try:
                start = yield from self._reading(
                    lambda may_wait: _start_by_time(store, topic, queue_id, since, may_wait)
                )
            except NothingYet:  # looked for again in the next round
                return True
        if limits.size is not None:
            kept = yield from store.sizes.start_for(topic, queue_id, limits.size, self._reading)
            if kept > store.local_min_offset(topic, queue_id):  # else older messages are not counted
                start = max(start, kept)
        before = store.min_offset(topic, queue_id)
        start = min(start, store.readable_end(topic, queue_id))
        if start <= before:
            return True
        if store.refusal:
            return False
        result = store.move_start(topic, queue_id, start)
        if result is None:
            return True
        if result.status is not PutStatus.PUT_OK:
            log.warning(
                "expired messages of %s queue %d are kept for now: %s", topic, queue_id, result.remark
            )
            return False
        self.deleted += start - before
        return True

    def _reading(self, attempt: Callable[[bool], T]) -> Steps[T]:
        """Return the outcome of `attempt(may_wait)`, once what it needs is in memory."""
        return read_in_steps(attempt, self._load)

    def _load(self, cold: ColdRead) -> None:
        self._is_waiting = True
        self._store.bring(cold, self._brought)

    def _brought(self) -> None:
        self._is_waiting = False


def _start_by_time(store: MessageStore, topic: str, queue_id: int, since: int, may_wait: bool) -> int:
    """Return the offset of the first message stored at `since` (ms) or later, or the end of the queue.

    Raises `ColdRead` unless it may wait.
    """
    end = store.max_offset(topic, queue_id)
    newest = store.store_time(topic, queue_id, end - 1, may_wait) if end else -1
    if 0 <= newest < since:
        return end
    return store.offset_by_time(topic, queue_id, since, may_wait=may_wait)
