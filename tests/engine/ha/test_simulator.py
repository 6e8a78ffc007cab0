"""No acknowledged message is lost and logs do not diverge, whatever network, power and operator do.

`MQGATEWAY_HA_SEEDS` sets the number of groups, `MQGATEWAY_HA_SECONDS` their duration; totals are printed.
"""

from __future__ import annotations

import os

import pytest

from mqgateway.engine.ha import follow, replicas
from mqgateway.engine.ha.follow import Follow
from tests.support.engine.ha.simulator import Simulation, Violation

SEEDS = int(os.environ.get("MQGATEWAY_HA_SEEDS", "1"))
SECONDS = int(os.environ.get("MQGATEWAY_HA_SECONDS", "40"))
TRIES = 40
"""Seeds within which a broken rule must be noticed."""


@pytest.mark.parametrize("power", [False, True], ids=["processes die", "power goes"])
@pytest.mark.parametrize("in_sync", [2, 3])
def test_acknowledged_messages_are_never_lost(power: bool, in_sync: int) -> None:
    runs = []
    for seed in range(SEEDS):
        simulation = Simulation(seed, power=power, in_sync=in_sync)
        simulation.run(SECONDS)
        runs.append(simulation)
    print(
        f"seeds 0 to {SEEDS - 1}, {sum(one.now for one in runs) / 3_600_000:.2f} simulated hours, "
        f"{sum(len(one.acknowledged) for one in runs)} messages acknowledged, "
        f"{sum(one.faults for one in runs)} faults, {sum(one.failovers for one in runs)} failovers, "
        f"{sum(one.copies for one in runs)} logs copied again"
    )
    assert all(one.acknowledged for one in runs)


def is_caught(first: int = 0, *, asks_first: bool = True, power: bool = True) -> bool:
    for seed in range(first, first + TRIES):
        simulation = Simulation(seed, power=power)
        simulation.asks_first = asks_first
        try:
            simulation.run(60)
        except Violation:
            return True
    return False


def test_a_slave_that_acknowledges_before_its_disk_has_it_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    report = Follow.report

    def hasty(self: Follow, _acknowledged: int, now: int) -> bytes:
        return report(self, self._log.position, now)

    monkeypatch.setattr(follow.Follow, "report", hasty)
    assert is_caught(first=2)


def test_a_slave_that_does_not_ask_whose_log_it_follows_is_caught() -> None:
    assert is_caught(asks_first=False)


def test_a_master_that_waits_for_one_log_less_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    mark = replicas.Replicas.high_water_mark
    monkeypatch.setattr(replicas.Replicas, "high_water_mark", lambda self, need: mark(self, need - 1))
    assert is_caught(power=False)
