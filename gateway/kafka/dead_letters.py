"""Dead letters of share groups, written to the topics that the groups' settings name (KIP-1191).

A dead letter that cannot be written is lost, as with Apache Kafka: it is logged, and the group continues.
Standard: `ShareGroupDLQStateManager`, `ShareGroupDLQRecordFetcher`.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Generator, Sequence
from typing import Any, Final, NamedTuple

from twisted.internet.defer import Deferred, inlineCallbacks
from twisted.python.failure import Failure

from mqgateway.engine.clock import elapsed_millis
from mqgateway.engine.errors import StoreError
from mqgateway.engine.record_batches.batches import HEADER_SIZE, Batch, pack_batch
from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.engine.record_batches.records import Data, Record, write_record
from mqgateway.engine.steps import Steps
from mqgateway.engine.tables.kafka_configs import DEAD_LETTERS
from mqgateway.gateway.broker.operations import OperationError, Operations, ReadPosition, Use
from mqgateway.gateway.kafka.coordinator.deadlines import Deadlines
from mqgateway.gateway.kafka.creation import Creation, CreationRejected, new_topic
from mqgateway.gateway.kafka.share_groups.settings import ShareGroupSettings
from mqgateway.gateway.kafka.share_partitions.dead_letters import (
    DeadLetters,
    by_offset,
    dead_letter_headers,
)
from mqgateway.gateway.kafka.share_partitions.records import ShareKey
from mqgateway.gateway.kafka.topics import Topic, Topics
from mqgateway.gateway.kafka.validation import BatchRefused, checked, rules_of
from mqgateway.gateway.runtime.outcomes import as_deferred
from mqgateway.gateway.runtime.slots import Slots

log = logging.getLogger(__name__)

TOGETHER: Final = 16
"""Share partitions whose dead letters are written at a time."""
READ_BYTES: Final = 1024 * 1024
"""Bytes of original records that are read at a time."""
STEP: Final = 16
"""Records that are read or built in one step of a cooperative task."""
ATTEMPTS: Final = 5
FIRST_PAUSE: Final = 1000
"""Time until a refused batch is tried again, ms; each later pause is twice as long."""
CREATED_WITH: Final = {DEAD_LETTERS: "true", "message.timestamp.type": "CreateTime"}
"""Settings of a topic that is made for dead letters."""
PRODUCE_VERSION: Final = 9
"""Version of Produce by whose rules batches are checked: one that has all compressions."""

Original = tuple[Data | None, Data | None]
"""Key and value of an original record."""


class DeadLetterRefused(Exception):
    """Dead letters that the settings do not allow."""


class _Place(NamedTuple):
    """The origin of the dead letters of a share partition, and the topic that gets them."""

    key: ShareKey
    origin: Topic
    target: Topic
    has_records: bool
    size_max: int


class _Window(NamedTuple):
    """Original records, as far as they were read: up to the offset `last`."""

    originals: dict[int, Original]
    last: int


class DeadLetterWriter:
    """Writes the dead letters of one broker. `settings` returns the settings of a share group."""

    def __init__(
        self, operations: Operations, topics: Topics, settings: Callable[[str], ShareGroupSettings]
    ) -> None:
        self._operations = operations
        self._topics = topics
        self._settings = settings
        self._creation = Creation(operations, topics.everywhere, None)
        self._slots = Slots(TOGETHER)
        self._pauses = Deadlines()

    def tick(self) -> None:
        """Try refused batches again whose pause is over."""
        self._pauses.run(elapsed_millis(self._operations.clock))

    def write(self, key: ShareKey, letters: Sequence[DeadLetters]) -> Deferred[None]:
        """Write dead letters; fires, without a failure, once they are written or cannot be."""
        return Deferred.fromCoroutine(self._in_turn(key, letters)).addErrback(_lost, key, letters)

    async def _in_turn(self, key: ShareKey, letters: Sequence[DeadLetters]) -> None:
        await self._slots.enter()
        try:
            await self._write(key, letters)
        finally:
            self._slots.leave()

    @inlineCallbacks
    def _write(self, key: ShareKey, letters: Sequence[DeadLetters]) -> Generator[Deferred[Any], Any, None]:
        place = self._place(key)
        left = deque(by_offset(letters))
        while left:
            window = _Window({}, left[-1][0])
            if place.has_records:
                window = yield self._read(place, left)
            batch = yield self._run(self._built(place, left, window))
            yield from self._append(place, batch)

    # The topics

    def _place(self, key: ShareKey) -> _Place:
        """Return the topic that gets dead letters. Raises `DeadLetterRefused`."""
        settings, options = self._settings(key.group), self._operations.options
        name, prefix = settings.dead_letter_topic, options.kafka_dead_letter_topic_prefix
        origin = self._topics.by_id(key.topic_id)
        if origin is None:
            raise DeadLetterRefused("the topic of the records is gone")
        if not name:
            raise DeadLetterRefused("the group has no dead letter topic any more")
        if not name.startswith(prefix):
            raise DeadLetterRefused(f"the name of topic {name} does not begin with {prefix}")
        target = self._topics.find(name) or self._created(name)
        if target.setting(DEAD_LETTERS) != "true":
            raise DeadLetterRefused(f"topic {name} does not have {DEAD_LETTERS}=true")
        size_max = min(target.batch_max, self._operations.store_options.max_message_size)
        return _Place(key, origin, target, settings.copies_dead_letters, size_max)

    def _created(self, name: str) -> Topic:
        operations = self._operations
        if not operations.options.kafka_dead_letter_topic_auto_create:
            raise DeadLetterRefused(f"topic {name} does not exist")
        partitions = operations.options.kafka_num_partitions
        try:
            self._creation.check(name, partitions, CREATED_WITH)
        except CreationRejected as error:
            raise DeadLetterRefused(str(error)) from error
        # It can be written to at once; name servers learn of it in their time.
        operations.administration.put_topic(
            operations.gate.internal(Use.ADMINISTER), new_topic(name, partitions, CREATED_WITH)
        )
        created = self._topics.find(name)
        assert created is not None
        return created

    # The original records

    @inlineCallbacks
    def _read(
        self, place: _Place, left: Sequence[tuple[int, DeadLetters]]
    ) -> Generator[Deferred[Any], Any, _Window]:
        """Read original records from the first offset on. What cannot be read has no key and no value."""
        operations, first, last = self._operations, left[0][0], left[-1][0]
        permit = operations.gate.internal(Use.PULL)
        position = ReadPosition(place.origin.store_name, place.key.partition, first, READ_BYTES)
        try:
            [found] = yield as_deferred(operations.batches.fetch(permit, [position], 0, READ_BYTES, 0))
        except (OperationError, StoreError) as error:
            log.warning("original records of dead letters cannot be read: %s", error)
            return _Window({}, last)
        if found.is_out_of_range and first < found.ends.log_start:
            return _Window({}, found.ends.log_start - 1)
        if not found.spans:
            return _Window({}, last)
        wanted = {offset for offset, _ in left}
        window: _Window = yield self._run(_originals(found.spans, wanted, place.size_max))
        return window

    # The dead letters

    def _built(
        self, place: _Place, left: deque[tuple[int, DeadLetters]], window: _Window
    ) -> Steps[bytearray]:
        """Return a batch of the first dead letters, which are removed from `left`."""
        key, origin = place.key, place.origin
        now = self._operations.clock.millis()
        body, count = bytearray(), 0
        while left and left[0][0] <= window.last:
            offset, letters = left[0]
            headers = dead_letter_headers(origin.name, key.partition, offset, key.group, letters)
            original = window.originals.get(offset, (None, None))
            record = _encoded(original, headers, count)
            if HEADER_SIZE + len(record) > place.size_max:
                record = _encoded((None, None), headers, count)
            if count and HEADER_SIZE + len(body) + len(record) > place.size_max:
                break
            body += record
            count += 1
            left.popleft()
            if not count % STEP:
                yield
        return pack_batch(body, count, count - 1, base_timestamp=now, max_timestamp=now)

    def _append(self, place: _Place, data: bytearray) -> Generator[Deferred[Any], Any, None]:
        """Append a batch; try again if the store refuses it for now."""
        operations, target = self._operations, place.target
        partition = place.key.partition % target.partitions
        batch = checked(memoryview(data), rules_of(target), PRODUCE_VERSION, operations.clock.millis())
        pause = FIRST_PAUSE
        for attempt in range(1, ATTEMPTS + 1):
            permit = operations.gate.internal(Use.SEND)
            try:
                appended = operations.batches.append(permit, target.store_name, partition, batch, is_all=True)
            except (OperationError, StoreError):  # nothing was stored
                if attempt == ATTEMPTS:
                    raise
                yield self._pause(pause)
                pause *= 2
            else:
                yield as_deferred(appended)
                return

    def _pause(self, millis: int) -> Deferred[None]:
        paused: Deferred[None] = Deferred()
        due = elapsed_millis(self._operations.clock) + millis
        self._pauses.set(paused, due, lambda: paused.callback(None))
        return paused

    def _run(self, steps: Steps[Any]) -> Deferred[Any]:
        return self._operations.runner.run("dead letters of share groups", steps)


def _originals(
    spans: Sequence[bytes | bytearray | memoryview], wanted: set[int], limit: int
) -> Steps[_Window]:
    """Return the wanted records of batches, up to about `limit` bytes of them.

    Those of a batch that cannot be inflated to so few bytes are left out.
    """
    originals: dict[int, Original] = {}
    size, last = 0, -1
    for span in spans:
        batch = Batch(memoryview(span))
        try:
            for record in batch.records(limit):
                offset = batch.base_offset + record.offset_delta
                if offset in wanted:
                    originals[offset] = record.key, record.value
                    size += len(record.key or b"") + len(record.value or b"")
                    if size > limit:
                        return _Window(originals, offset)
                if not record.offset_delta % STEP:
                    yield
        except CodecError as error:
            log.warning("records of offset %d and later are not copied: %s", batch.base_offset, error)
        last = batch.last_offset
    return _Window(originals, last)


def _encoded(original: Original, headers: Sequence[tuple[str, bytes]], number: int) -> bytearray:
    out = bytearray()
    write_record(out, Record(*original, headers, offset_delta=number))
    return out


def _lost(failure: Failure, key: ShareKey, letters: Sequence[DeadLetters]) -> None:
    """Log dead letters that cannot be written."""
    known = DeadLetterRefused, OperationError, StoreError, CodecError, BatchRefused
    if not isinstance(failure.value, known):
        log.error("dead letters cannot be written", exc_info=failure.value)
    count = sum(one.last - one.first + 1 for one in letters)
    log.error(
        "%d dead letters of share group %s cannot be written, from offset %d of partition %d on: %s",
        count,
        key.group,
        letters[0].first,
        key.partition,
        failure.getErrorMessage(),
    )
