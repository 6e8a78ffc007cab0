import os
from pathlib import Path

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import BrokerOptions, StoreOptions
from mqgateway.engine.real_disk import RealDisk
from mqgateway.engine.tier.object_folder import MARKER, ObjectFolder
from mqgateway.engine.tier.reading import TierReading
from mqgateway.engine.worker import InlineWorker
from mqgateway.gateway.broker.older_messages import TierOfBroker, is_noted, tier_of
from tests.support.engine.store.stores import Bench, message
from tests.support.engine.tier.small_ranges import begin_epoch, save


def options_of(folder: Path) -> StoreOptions:
    return StoreOptions(
        store_path_root_dir=str(folder / "store"), tiered_store_path=(folder / "tier").as_uri()
    )


def made(options: StoreOptions, clock: ManualClock) -> TierReading | None:
    broker = BrokerOptions(broker_cluster_name="DefaultCluster", broker_name="broker-a")
    return tier_of(broker, options, RealDisk(), clock, InlineWorker)


def opened(folder: Path) -> tuple[TierReading, TierOfBroker]:
    options, clock = options_of(folder), ManualClock()
    tier = made(options, clock)
    assert tier is not None
    return tier, TierOfBroker(tier, RealDisk(), options, InlineWorker())


def filled(folder: Path) -> None:
    """Save a message to the tier."""
    bench = Bench()
    bench.put(message("orders"))
    objects = ObjectFolder(RealDisk(), str(folder / "tier"))
    begin_epoch(objects, 1, 0)
    save(bench.store, objects, 0, bench.store.max_physical_offset)


def test_broker_without_an_object_store_has_no_tier() -> None:
    assert made(StoreOptions(), ManualClock()) is None


def test_wrong_url_is_refused() -> None:
    with pytest.raises(ConfigError, match="no object store has the URL 'nowhere'"):
        made(StoreOptions(tiered_store_path="nowhere"), ManualClock())


def test_ranges_are_listed_and_noted(tmp_path: Path) -> None:
    tier, ticking = opened(tmp_path)
    ticking.tick()
    url = (tmp_path / "tier").as_uri()
    assert tier.is_known(0) and tier.end_offset == 0
    assert not is_noted(RealDisk(), str(tmp_path / "store"), url)
    filled(tmp_path)
    tier, ticking = opened(tmp_path)
    ticking.tick()
    assert tier.end_offset > 0
    assert is_noted(RealDisk(), str(tmp_path / "store"), url)
    assert not is_noted(RealDisk(), str(tmp_path / "store"), "file:///elsewhere")


def test_folder_whose_ranges_were_noted_is_not_made_again(tmp_path: Path) -> None:
    """Its file system is not mounted: what was saved is unknown, and not gone."""
    opened(tmp_path)
    filled(tmp_path)
    opened(tmp_path)[1].tick()
    os.rename(tmp_path / "tier", tmp_path / "unmounted")
    (tmp_path / "tier").mkdir()
    tier, ticking = opened(tmp_path)
    ticking.tick()
    assert not tier.is_known(0) and "is its file system mounted" in tier.parts.fault
    assert os.listdir(tmp_path / "tier") == []
    (tmp_path / "tier").rmdir()
    os.rename(tmp_path / "unmounted", tmp_path / "tier")
    assert (tmp_path / "tier" / MARKER).exists()
    tier, ticking = opened(tmp_path)
    ticking.tick()
    assert tier.end_offset > 0
