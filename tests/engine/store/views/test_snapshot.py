"""Snapshots of a view: written beside the old one, which they replace; the view of producers has more."""

from __future__ import annotations

import pytest

from mqgateway.engine.producers.batch import ProducerBatch
from mqgateway.engine.producers.state import Duplicate
from mqgateway.engine.store.views.snapshot import MAGIC
from tests.support.engine.store.producing import put_whole
from tests.support.engine.store.stores import Bench

PATH = "/store/producers/snapshot"


def bench_with_folder() -> Bench:
    """Return a store whose view of producers has something to keep."""
    bench = Bench()
    put_whole(bench.store, ProducerBatch(7, 0, 0, 2))
    bench.store.dispatch()
    bench.store.producers.write(0, None)
    return bench


def is_known(bench: Bench) -> bool:
    """Return True if the batch is known."""
    return isinstance(bench.store.producers.check("batched", 0, ProducerBatch(7, 0, 0, 2)), Duplicate)


def test_a_snapshot_replaces_the_one_before_once_it_is_confirmed() -> None:
    bench = bench_with_folder()
    for _ in range(2):
        unsynced = bench.store.producers.take_unsynced()
        unsynced.sync()
        before = bench.disk.exists(PATH)
        unsynced.confirm()
        assert bench.disk.read_bytes(PATH)[:4] == MAGIC.to_bytes(4, "big")
        assert bench.disk.exists(f"{PATH}.bak") is before
        assert not bench.disk.exists(f"{PATH}.tmp")


def test_a_stop_writes_a_snapshot_that_the_worker_has_not_finished() -> None:
    bench = bench_with_folder()
    unsynced = bench.store.producers.take_unsynced()
    bench.disk.open(f"{PATH}.tmp", create=True).write(0, b"half")
    unsynced.confirm()
    assert bench.disk.read_bytes(PATH)[:4] == MAGIC.to_bytes(4, "big")
    unsynced.confirm()
    assert is_known(bench.restart())


@pytest.mark.parametrize("damage", [b"", b"x", MAGIC.to_bytes(4, "big") + bytes(20)])
def test_a_damaged_snapshot_is_not_used(damage: bytes) -> None:
    bench = bench_with_folder()
    bench.store.producers.take_unsynced().confirm()
    file = bench.disk.open(PATH, create=True)
    file.truncate(0)
    file.write(0, damage)
    assert is_known(bench.kill())
