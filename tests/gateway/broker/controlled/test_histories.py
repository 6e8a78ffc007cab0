"""A set of three through generated histories: nothing acknowledged is lost, nobody leads beside another one.

`MQGATEWAY_CONTROLLED_SEEDS` (2) is how many seeds run, from `MQGATEWAY_CONTROLLED_SEED` (0) on, of
`MQGATEWAY_CONTROLLED_STEPS` (30) steps each.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.support.gateway.broker.controlled_history import History

FIRST = int(os.environ.get("MQGATEWAY_CONTROLLED_SEED", "0"))
SEEDS = int(os.environ.get("MQGATEWAY_CONTROLLED_SEEDS", "2"))
STEPS = int(os.environ.get("MQGATEWAY_CONTROLLED_STEPS", "30"))


def run(seed: int, **settings: Any) -> None:
    history = History(seed, **settings)
    try:
        history.run(STEPS)
    except BaseException:
        print(f"seed {seed}: " + ", ".join(history.told))
        raise
    print(f"seed {seed}: {len(history.acknowledged)} of {history.number} acknowledged")


@pytest.mark.parametrize("seed", range(FIRST, FIRST + SEEDS))
def test_nothing_acknowledged_is_lost_by_processes_that_die(seed: int) -> None:
    run(seed)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + SEEDS))
def test_nothing_acknowledged_is_lost_by_machines_that_lose_power(seed: int) -> None:
    run(seed, power=True)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + SEEDS))
def test_two_logs_at_least_have_what_is_acknowledged(seed: int) -> None:
    run(seed, min_in_sync_replicas=2)
