"""The tier of a broker, for readers of messages that its log has deleted.

A file of the store notes the URL once ranges were found there. With it a folder without objects is one whose
file system is not mounted: it is not made a store again, which would look as if nothing had been saved.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from mqgateway.engine.clock import Clock
from mqgateway.engine.disk import Disk
from mqgateway.engine.options import BrokerOptions, StoreOptions
from mqgateway.engine.tables.jsonfile import load_table, save_table
from mqgateway.engine.worker import Worker

if TYPE_CHECKING:
    from mqgateway.engine.tier.reading import TierReading

log = logging.getLogger(__name__)

TICK_SECONDS: Final = 1.0
NOTE: Final = "config/tieredStore.json"


def is_noted(disk: Disk, root: str, url: str) -> bool:
    """Return True if ranges of the store in `root` were found in the object store of a URL."""
    note = load_table(disk, f"{root}/{NOTE}")
    return note is not None and note.get("url") == url


class TierOfBroker:
    """Lists the ranges of a tier, and notes that there are any."""

    def __init__(self, tier: TierReading, disk: Disk, options: StoreOptions, worker: Worker) -> None:
        self._tier = tier
        self._disk = disk
        self._root, self._url = options.store_path_root_dir, options.tiered_store_path
        self._worker = worker
        self._is_noted = is_noted(disk, self._root, self._url)

    def tick(self) -> None:
        """See `TierReading`."""
        self._tier.tick()
        if not self._is_noted and self._tier.end_offset:
            self._is_noted = True
            self._worker.run(self._note, self._noted)

    def _note(self) -> None:
        save_table(self._disk, f"{self._root}/{NOTE}", {"url": self._url})

    def _noted(self, outcome: Exception | None) -> None:
        if outcome is not None:
            self._is_noted = False
            log.error("%s/%s cannot be written: %s", self._root, NOTE, outcome)


def tier_of(
    options: BrokerOptions,
    store_options: StoreOptions,
    disk: Disk,
    clock: Clock,
    new_worker: Callable[[], Worker],
) -> TierReading | None:
    """Return the tier of a broker, or None if its log is not saved to an object store. A folder is made a
    store if the broker has not saved to it yet; nothing is read. Raises `ConfigError`."""
    url = store_options.tiered_store_path
    if not url:
        return None
    from mqgateway.engine.tier.format.names import TierNames
    from mqgateway.engine.tier.object_folder import ObjectFolder
    from mqgateway.engine.tier.reading import TierReading
    from mqgateway.gateway.object_stores.opening import open_object_store

    store, worker = open_object_store(url), new_worker()
    if isinstance(store, ObjectFolder) and not is_noted(disk, store_options.store_path_root_dir, url):
        # If it fails, so does the first read, which reports it.
        worker.run(lambda: store.prepare(clock.millis()), lambda _: None)
    return TierReading(
        store,
        TierNames(options.broker_cluster_name, options.broker_name),
        worker=worker,
        clock=clock,
        cache_bytes=store_options.tiered_read_cache_bytes,
    )
