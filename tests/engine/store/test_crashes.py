"""Power cuts at every operation of the disk, during every kind of work, under many seeds.

MQGATEWAY_CRASH_SEED and MQGATEWAY_CRASH_SEEDS choose the first seed and how many there are; a failure
names its seed, which alone repeats it.
"""

import os

import pytest

from tests.support.engine.store.storm import Storm

FIRST_SEED = int(os.environ.get("MQGATEWAY_CRASH_SEED", "1"))
SEEDS = int(os.environ.get("MQGATEWAY_CRASH_SEEDS", "4"))
STEPS = 50


def test_a_power_cut_at_any_operation_loses_nothing_promised(capsys: pytest.CaptureFixture[str]) -> None:
    points, cuts, calls = 0, 0, set[str]()
    for seed in range(FIRST_SEED, FIRST_SEED + SEEDS):
        storm = Storm(seed)
        storm.live(STEPS)
        points += storm.points
        cuts += storm.cuts
        calls |= storm.calls
    with capsys.disabled():
        print(f"\n{SEEDS} seeds, {points} crash points, {cuts} more crashes during recovery")
    assert {"create", "mkdir", "write", "truncate", "sync", "sync_dir", "unlink"} <= calls
