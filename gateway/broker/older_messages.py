"""The tier of a broker, for readers of messages that its log has deleted."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from mqgateway.engine.clock import Clock
from mqgateway.engine.options import BrokerOptions, StoreOptions
from mqgateway.engine.worker import Worker

if TYPE_CHECKING:
    from mqgateway.engine.tier.reading import TierReading

TICK_SECONDS: Final = 1.0


def tier_of(
    options: BrokerOptions, store_options: StoreOptions, clock: Clock, new_worker: Callable[[], Worker]
) -> TierReading | None:
    """Return the tier of a broker, or None if its log is not saved to an object store. A folder is made a
    store, as the broker will save to it; nothing is read yet. Raises `ConfigError`."""
    if not store_options.tiered_store_path:
        return None
    from mqgateway.engine.tier.format.names import TierNames
    from mqgateway.engine.tier.object_folder import ObjectFolder
    from mqgateway.engine.tier.reading import TierReading
    from mqgateway.gateway.object_stores.opening import open_object_store

    store, worker = open_object_store(store_options.tiered_store_path), new_worker()
    if isinstance(store, ObjectFolder):
        # If it fails, so does the first read, which reports it.
        worker.run(lambda: store.prepare(clock.millis()), lambda _: None)
    return TierReading(
        store,
        TierNames(options.broker_cluster_name, options.broker_name),
        worker=worker,
        clock=clock,
        cache_bytes=store_options.tiered_read_cache_bytes,
    )
