"""Helpers for tests of backups: a store on the real disk, and a time a second later for each backup."""

from pathlib import Path
from typing import Any

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.real_disk import RealDisk
from mqgateway.engine.upkeep.backup import BackupReport, back_up
from mqgateway.engine.upkeep.restore import THE_END, RestoreReport, Until, restore_store
from tests.support.engine.store.stores import Bench, drain, options

NOW = 1_764_000_000_000


class Place:
    """A store in one folder, its backups in another."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "store"
        self.target = folder / "backups"
        self.restored = folder / "restored"
        self.clock = ManualClock()
        self._seconds = 0

    def open(self, root: Path | None = None) -> Bench:
        """Open the store, or a restored one."""
        settings: dict[str, Any] = {"store_path_root_dir": str(root or self.root)}
        settings["mapper_file_size_batch_consume_queue"] = 460
        return Bench(disk=RealDisk(), clock=self.clock, **settings)  # type: ignore[arg-type]

    def table(self, name: str, text: str) -> None:
        """Write a table of the store."""
        config = self.root / "config"
        config.mkdir(parents=True, exist_ok=True)
        (config / name).write_text(text)

    def back_up(self, disk: RealDisk | None = None, **more: Any) -> BackupReport:
        """Back up a second later than before."""
        self._seconds += 1
        wanted = options(store_path_root_dir=str(self.root))
        return back_up(disk or RealDisk(), wanted, str(self.target), NOW + 1000 * self._seconds, **more)

    def restore(self, report: BackupReport, until: Until = THE_END) -> RestoreReport:
        """Restore a backup into a new store."""
        return restore_store(
            RealDisk(), report.folder, options(store_path_root_dir=str(self.restored)), until
        )

    def bodies(self, root: Path, topic: str = "orders", queue_id: int = 0) -> list[bytes]:
        """Return the bodies in a queue of a store."""
        bench = self.open(root)
        found = [each.body for each in drain(bench.store, topic, queue_id)]
        bench.store.stop()
        return found
