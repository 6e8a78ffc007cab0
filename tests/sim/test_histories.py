"""Clusters through generated histories: no acknowledged message is lost, no two masters lead at a time.

`MQGATEWAY_SIM_SEEDS` (2) is the number of seeds, from `MQGATEWAY_SIM_SEED` (0) on, with `MQGATEWAY_SIM_STEPS`
(40) steps each, in each profile; `python -m tests.sim` runs many.
"""

from __future__ import annotations

import os

import pytest

from tests.sim.history import PROFILES, Broken, History

FIRST = int(os.environ.get("MQGATEWAY_SIM_SEED", "0"))
SEEDS = int(os.environ.get("MQGATEWAY_SIM_SEEDS", "2"))
STEPS = int(os.environ.get("MQGATEWAY_SIM_STEPS", "40"))


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("seed", range(FIRST, FIRST + SEEDS))
def test_acknowledged_messages_are_kept(seed: int, profile: str) -> None:
    history = History(seed, PROFILES[profile])
    try:
        history.play(STEPS)
    except Broken:
        print(f"seed {seed}: " + ", ".join(history.events))
        raise
    assert history.checks["acknowledged is there, at its offset"] > 0
    assert history.checks["all that was acknowledged was read"] == len(history.consumers)


def test_a_seed_is_one_history() -> None:
    first, second = (History(7, PROFILES["processes die"]) for _ in range(2))
    for one in (first, second):
        one.play(10)
    assert first.events == second.events
    assert first.acknowledged == second.acknowledged
