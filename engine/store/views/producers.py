"""The view of idempotent producers: the last batches of each producer in each queue.

See `engine.producers`. Slaves have the view too, as they dispatch the same log; so a slave that becomes
master knows what its master has stored. Kafka: `ProducerStateManager` with its snapshots.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from mqgateway.engine.clock import Clock, elapsed_millis
from mqgateway.engine.disk import Disk
from mqgateway.engine.message import StoredMessage
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.producers.batch import ProducerBatch
from mqgateway.engine.producers.state import Key, ProducerFigures, Producers, Verdict
from mqgateway.engine.store.dispatch_request import DispatchRequest, enters_queue, producer_of
from mqgateway.engine.store.log import Log
from mqgateway.engine.store.scan import first_file
from mqgateway.engine.store.views.snapshot import SnapshotView

EXPIRE_MILLIS: Final = 600_000
"""Interval between looks for expired producers. Kafka: `producer.id.expiration.check.interval.ms`."""

FOLDER: Final = "producers"
"""Name of the folder with the snapshots."""

_ENTRY: Final = struct.Struct(">hiqh")
"""Length of the topic, queue id, producer id, length of the state."""


class ProducersView(SnapshotView):
    """Keeps producers. `check` is for what is about to be appended, of which `append` learns later."""

    def __init__(self, options: StoreOptions, disk: Disk, clock: Clock, root: str) -> None:
        super().__init__(disk, f"{root}/{FOLDER}")
        self._clock = clock
        self._producers = Producers(options.kafka_producers_max, options.kafka_producer_id_expiration_millis)
        self._expired_at = elapsed_millis(clock)

    def check(self, topic: str, queue_id: int, batch: ProducerBatch) -> Verdict:
        """Decide on a batch that is to be appended now."""
        return self._producers.check(topic, queue_id, batch, self._clock.millis())

    def figures(self, topic: str) -> Mapping[int, list[ProducerFigures]]:
        """Return the producers of each queue of a topic that has any."""
        return self._producers.figures(topic, self._clock.millis())

    @property
    def count(self) -> int:
        """The number of producers that are kept; one of several queues counts as several."""
        return len(self._producers.entries)

    # Following the log.

    def _take(self, request: DispatchRequest) -> bool:
        batch, queue = request.producer, request.queue
        if not isinstance(batch, ProducerBatch) or queue is None:
            return False
        end = request.physical_offset + request.size
        self._producers.add(request.topic, queue.queue_id, batch, end, request.store_timestamp)
        return True

    def _repeat(self, message: StoredMessage) -> bool:
        batch = producer_of(message) if enters_queue(message.sys_flag) else None
        if not isinstance(batch, ProducerBatch):
            return False
        end = message.physical_offset + message.size
        self._producers.add(message.topic, message.queue_id, batch, end, message.store_timestamp)
        return True

    def expect(self, request: DispatchRequest) -> None:
        """See `View`."""
        batch, queue = request.producer, request.queue
        if isinstance(batch, ProducerBatch) and queue is not None:
            end = request.physical_offset + request.size
            self._producers.expect(request.topic, queue.queue_id, batch, end, request.store_timestamp)

    def expect_nothing(self) -> None:
        """See `View`."""
        self._producers.expect_nothing()

    def delete_topic(self, topic: str) -> bool:
        """See `View`."""
        return self._producers.forget_topic(topic)

    # The state.

    @property
    def _is_empty(self) -> bool:
        return not self._producers.entries

    def _clear(self) -> None:
        self._producers.clear()

    def _encoder(self) -> Callable[[], bytes]:
        return partial(_encode, dict(self._producers.entries))

    def _restore(self, state: bytes) -> None:
        self._producers.entries = _decode(state)

    def _rebuild_from(self, log: Log) -> int:
        """Batches of files that are older than the expiration have expired."""
        oldest = self._clock.millis() - self._producers.expires_after
        return first_file(log.files, lambda _, stored: stored <= oldest)

    # Being open.

    def tick(self, is_failing: bool) -> None:
        """Forget expired producers when it is time."""
        now = elapsed_millis(self._clock)
        if now - self._expired_at >= EXPIRE_MILLIS:
            self._expired_at = now
            self._producers.expire(self._clock.millis())

    def state(self, oldest: int) -> object:
        """Return epoch and batches of each producer that has not expired."""
        return sorted(self._producers.since(oldest, self._clock.millis()))


def _encode(entries: Mapping[Key, bytes]) -> bytes:
    parts: list[bytes] = []
    for (topic, queue_id, producer_id), entry in entries.items():
        name = topic.encode()
        parts += (_ENTRY.pack(len(name), queue_id, producer_id, len(entry)), name, entry)
    return b"".join(parts)


def _decode(state: bytes) -> dict[Key, bytes]:
    """Decode entries, in their order. Raises `ValueError` and `struct.error`."""
    found: dict[Key, bytes] = {}
    at = 0
    while at < len(state):
        length, queue_id, producer_id, size = _ENTRY.unpack_from(state, at)
        at += _ENTRY.size
        name, entry = state[at : at + length], state[at + length : at + length + size]
        at += length + size
        if at > len(state):
            raise ValueError("the last entry is cut short")
        found[name.decode(), queue_id, producer_id] = entry
    return found
