"""A store that is saved and lost, and what is restored from its tier on the real disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mqgateway.engine.disk import Disk
from mqgateway.engine.message import StoredMessage
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.real_disk import RealDisk
from mqgateway.engine.tier.continuous import ContinuousSaver
from mqgateway.engine.tier.reading import TierReading
from mqgateway.engine.tier.restoring import TierRestoreReport, restore_tier
from mqgateway.engine.upkeep.check import check_store
from mqgateway.engine.upkeep.findings import StorePart
from mqgateway.engine.upkeep.layout import Layout
from mqgateway.engine.worker import InlineWorker
from tests.support.engine.store.stores import Bench, drain, options
from tests.support.engine.tier.continuous import HOUR, SavedStore
from tests.support.engine.tier.memory_objects import MemoryObjects
from tests.support.engine.tier.saving import NAMES
from tests.support.engine.tier.tiered import CACHE_BYTES

WRITER = "5e570e5e570e5e57"
Row = tuple[int, int, int, bytes, dict[str, str]]


class LostStore(SavedStore):
    """A store with tables, whose log is saved, and the folder into which it is restored, `lazy` or whole."""

    def __init__(self, folder: Path, *, lazy: bool = False) -> None:
        super().__init__()
        self.lazy = lazy
        self.root = folder / "restored"

    def table(self, name: str, table: dict[str, Any]) -> None:
        """Write a table of the store."""
        self.disk.makedirs("/store/config")
        path = f"/store/config/{name}"
        file = self.disk.open(path, create=True)
        data = json.dumps(table).encode()
        file.truncate(len(data))
        file.write(0, data)
        file.close()

    def set_topics(self, *topics: str) -> None:
        """Write the table of topics; `batched` has queues of batches."""
        attributes = {"batched": {"queue.type": "BatchCQ"}}
        entries = {name: {"topicName": name, "attributes": attributes.get(name, {})} for name in topics}
        self.table("topics.json", {"topicConfigTable": entries})

    def save_all(self) -> int:
        """Save all that there is; return the end of the log in the tier."""
        self.clock.advance(2 * HOUR)
        state = self.look()
        assert state.failure == ""
        return state.saved_to

    def settings(self, **changes: Any) -> StoreOptions:
        return options(store_path_root_dir=str(self.root), **changes)

    def restore(
        self, disk: Disk | None = None, writer: str = WRITER, *, hours: float = 1, **more: Any
    ) -> TierRestoreReport:
        """Restore some hours later."""
        now = self.clock.millis() + int(hours * HOUR)
        return restore_tier(
            disk or RealDisk(),
            self.objects,
            NAMES,
            self.settings(),
            writer=writer,
            now=now,
            lazy=self.lazy,
            **more,
        )

    def open(self) -> Bench:
        """Open the restored store, with its tier if messages are there only."""
        tier = self.new_tier() if self.lazy else None
        if tier is not None:
            tier.tick()
        root = str(self.root)
        return Bench(RealDisk(), self.clock, older=tier, store_path_root_dir=root)  # type: ignore[arg-type]

    def new_tier(self) -> TierReading:
        """Return the tier for readers, whose loads are done at once. Its ranges are not known yet."""
        return TierReading(
            self.readers(), NAMES, worker=InlineWorker(), clock=self.clock, cache_bytes=CACHE_BYTES
        )

    def new_restored_saver(self) -> ContinuousSaver:
        """Return the saver of the broker that has the restored store open."""
        layout = Layout(RealDisk().read_only(), self.settings())
        return ContinuousSaver(layout, NAMES, lambda: self.objects, self.clock)

    def findings(self) -> list[object]:
        """Return what a check finds in the restored store, but that a log without messages has no index."""
        kept = check_store(RealDisk(), self.settings()).findings.kept
        return [each for each in kept if not self.lazy or each.part is not StorePart.INDEX]

    def readers(self) -> MemoryObjects:
        """Return the same objects for readers, whose calls have no faults."""
        view = MemoryObjects()
        view.objects = self.objects.objects
        return view


def row(message: StoredMessage) -> Row:
    """Return what readers get of a message."""
    return (
        message.physical_offset,
        message.queue_offset,
        message.store_timestamp,
        message.body,
        message.properties,
    )


def rows(bench: Bench, queues: tuple[tuple[str, int], ...]) -> dict[tuple[str, int], list[Row]]:
    """Return the messages of queues."""
    return {queue: [row(message) for message in drain(bench.store, *queue)] for queue in queues}
