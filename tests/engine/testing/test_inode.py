"""A file of the simulated disk; its life on the disk is in `test_crash_disk`."""

from __future__ import annotations

import random

from mqgateway.engine.testing.inode import SECTOR, Inode


def left_by_crashes(inode: Inode) -> set[bytes]:
    """Return the contents that power failures may leave, over many seeds."""
    return {bytes(inode.after_crash(random.Random(seed)).data) for seed in range(60)}


def test_synced_bytes_survive_every_crash() -> None:
    inode = Inode()
    inode.write(0, b"a" * SECTOR)
    inode.sync()
    inode.sizes.clear()
    assert left_by_crashes(inode) == {b"a" * SECTOR}


def test_a_sector_is_what_it_is_or_what_it_was() -> None:
    inode = Inode()
    inode.write(0, b"a" * SECTOR)
    inode.sync()
    inode.write(0, b"b" * SECTOR)
    assert left_by_crashes(inode) == {b"a" * SECTOR, b"b" * SECTOR}


def test_a_sync_that_failed_is_never_made_good() -> None:
    inode = Inode()
    inode.write(0, b"a" * SECTOR)
    inode.sync()
    inode.write(0, b"b" * SECTOR)
    inode.lose_sync()
    inode.sync()
    assert b"a" * SECTOR in left_by_crashes(inode)


def test_the_end_of_a_sector_that_was_never_written_is_zero() -> None:
    inode = Inode()
    inode.write(0, b"ab")
    assert inode.sector(0) == b"ab".ljust(SECTOR, b"\0")


def test_truncation_records_only_sectors_with_data() -> None:
    """An index file is 420 MB and nearly empty: its zeros are not recorded, and take no memory."""
    inode = Inode()
    inode.resize(420 << 20)
    window = inode.open_window(inode.size)
    window[1 << 20] = window[300 << 20] = 1
    inode.resize(1000)
    assert len(inode.versions) <= 2 * 128
    assert window[1 << 20] == window[300 << 20] == 0
    assert inode.versions[(1 << 20) // SECTOR] == [b"\1" + bytes(SECTOR - 1)]
