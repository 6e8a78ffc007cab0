"""A store whose older messages are in a tier only."""

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.store.message_store import ColdRead, GetResult
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.tier.object_store import ObjectStore
from mqgateway.engine.tier.reading import TierReading
from mqgateway.engine.worker import MemoryWorker
from tests.support.engine.store.stores import Bench
from tests.support.engine.tier.memory_objects import MemoryObjects
from tests.support.engine.tier.small_ranges import NAMES, begin_epoch, save

HOUR = 3_600_000
CACHE_BYTES = 1 << 20


class Tiered:
    """A store, and a tier that is read by a worker that is stepped by hand."""

    def __init__(
        self,
        objects: MemoryObjects | None = None,
        disk: CrashDisk | None = None,
        clock: ManualClock | None = None,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        self.objects = MemoryObjects() if objects is None else objects
        self.worker = MemoryWorker()
        self.clock = clock or ManualClock()
        self.tier = self._reading(self.objects, cache_bytes)
        self.bench = Bench(disk, self.clock, older=self.tier)
        self.store = self.bench.store
        self.saved_to = 0

    def _reading(self, objects: ObjectStore, cache_bytes: int) -> TierReading:
        return TierReading(objects, NAMES, worker=self.worker, clock=self.clock, cache_bytes=cache_bytes)

    def save(self, block_bytes: int = 600) -> None:
        """Save what came since the last time as one range."""
        if not self.objects.objects:
            begin_epoch(self.objects, 1, 0)
        end = self.store.max_physical_offset
        save(self.store, self.objects, self.saved_to, end, block_bytes=block_bytes)
        self.saved_to = end

    def expire(self) -> None:
        """Delete all files of the local log but the newest."""
        self.clock.advance(1000 * HOUR)
        for _ in range(10):
            self.store.admin.delete_expired_files()
            self.clock.advance(10_000)
            for _ in range(10):
                self.store.tick()
                self.clock.advance(100)
        assert self.store.min_physical_offset > 0

    def restart(self) -> "Tiered":
        """Stop cleanly and start again, with the ranges listed."""
        self.store.stop()
        again = Tiered(self.objects, self.bench.disk, self.clock)
        again.refresh()
        return again

    def refresh(self) -> None:
        """List the ranges."""
        self.clock.advance(60_000)
        self.tier.tick()
        self.worker.perform_all()

    def get(self, *args: object, **settings: object) -> GetResult:
        """Read as a broker does: an attempt is repeated once a worker has loaded what it lacked."""
        for _ in range(8):
            try:
                return self.store.get(*args, may_wait=False, **settings)  # type: ignore[arg-type]
            except ColdRead as cold:
                done: list[int] = []
                self.store.bring(cold, lambda done=done: done.append(1))  # type: ignore[misc]
                self.worker.perform_all()
                assert done == [1]
        raise AssertionError("a read takes too many rounds")
