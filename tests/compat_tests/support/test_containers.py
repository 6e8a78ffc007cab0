"""The engine that a run starts leaves nothing mounted."""

from __future__ import annotations

from compat_tests.support.containers import mount_points

MOUNTS = """\
/dev/vda / ext4 rw,relatime 0 0
overlay /tmp/engine-1/exec overlay rw 0 0
nsfs /tmp/engine-1/exec/netns/default nsfs rw 0 0
nsfs /tmp/engine-12/exec/netns/default nsfs rw 0 0
"""


def test_mounts_of_one_engine_are_found_the_innermost_first() -> None:
    assert mount_points(MOUNTS, "/tmp/engine-1") == [
        "/tmp/engine-1/exec/netns/default",
        "/tmp/engine-1/exec",
    ]


def test_nothing_is_mounted_below_other_folders() -> None:
    assert mount_points(MOUNTS, "/tmp/engine") == []
