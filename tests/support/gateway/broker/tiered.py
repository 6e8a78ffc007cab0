"""A tier of a broker in memory, for conversations about messages that the local log has deleted."""

from __future__ import annotations

from typing import Any

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.tier.object_store import ObjectStoreUnavailable
from mqgateway.engine.tier.reading import TierReading
from mqgateway.engine.worker import InlineWorker, MemoryWorker
from mqgateway.gateway.broker.broker import Broker
from tests.support.engine.tier.memory_objects import MemoryObjects
from tests.support.engine.tier.small_ranges import NAMES, begin_epoch, save

HOUR = 3_600_000
FILE_SIZE = 4096
CACHE_BYTES = 1 << 20


class BrokerTier:
    """The tier, which a worker reads: at once, or when `load` is called if it is not `inline`."""

    def __init__(self, *, inline: bool = True) -> None:
        self.clock = ManualClock()
        self.objects = MemoryObjects()
        self.worker = InlineWorker() if inline else MemoryWorker()
        self.reading = TierReading(
            self.objects, NAMES, worker=self.worker, clock=self.clock, cache_bytes=CACHE_BYTES
        )
        self.saved_to = 0

    @property
    def given(self) -> dict[str, Any]:
        """Arguments for a broker in memory that has the tier."""
        files = {"mapped_file_size_commit_log": FILE_SIZE, "message_index_enable": True}
        return {"clock": self.clock, "tier": self.reading, "store_options": files}

    def save(self, broker: Broker) -> None:
        """Save what came since the last time as one range."""
        if not self.objects.objects:
            begin_epoch(self.objects, 1, 0)
        end = broker.store.max_physical_offset
        save(broker.store, self.objects, self.saved_to, end, block_bytes=600)
        self.saved_to = end

    def move(self, broker: Broker, topic: str = "T") -> int:
        """Save everything, delete all files of the local log but the newest, and list the ranges. Return the
        least offset of queue 0 of a topic that the local log still has."""
        self.save(broker)
        self.clock.advance(1000 * HOUR)
        for _ in range(10):
            broker.store.admin.delete_expired_files()
            for _ in range(100):
                self.clock.advance(100)
                broker.compaction.tick()  # says which files it needs
                broker.store.tick()
        self.refresh()
        local = broker.store.local_min_offset(topic, 0)
        assert local > 0
        return local

    def refresh(self) -> None:
        """List the ranges."""
        self.clock.advance(60_000)
        self.reading.tick()
        self.load()

    def load(self) -> None:
        """Have the worker load what readers wait for."""
        if isinstance(self.worker, MemoryWorker):
            self.worker.perform_all()

    def break_off(self) -> None:
        """Make the store answer 503 to every request, and forget what was loaded."""

        def unavailable(_call: int) -> None:
            raise ObjectStoreUnavailable("503 Service Unavailable")

        self.objects.before = unavailable
        self.reading.parts.cache.clear()

    def recover(self) -> None:
        """Make the store available again, and let the pause after a failure pass."""
        self.objects.before = lambda _: None
        self.clock.advance(10_000)
        self.reading.tick()
        self.load()
