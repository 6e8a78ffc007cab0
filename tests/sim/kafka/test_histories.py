"""Kafka clients through generated histories: Jepsen's rules for queues hold.

`MQGATEWAY_SIM_SEEDS` (2) is the number of seeds, from `MQGATEWAY_SIM_SEED` (0) on, with `MQGATEWAY_SIM_STEPS`
(40) steps each, in each profile; `python -m tests.sim.kafka` runs many.
"""

from __future__ import annotations

import pytest

from tests.sim.history import Broken
from tests.sim.kafka.history import PROFILES, KafkaHistory
from tests.sim.test_histories import FIRST, SEEDS, STEPS

CHECKED = (
    "acknowledged in order",
    "copied exactly once",
    "newest of a key is kept",
    "no aborted read",
    "no duplicate",
    "no lost write",
    "no skip",
    "no torn transaction",
    "offsets as their transactions",
    "one leader of an epoch",
    "one value at an offset",
    "what was seen stays",
)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("seed", range(FIRST, FIRST + SEEDS))
def test_rules_hold(seed: int, profile: str) -> None:
    history = KafkaHistory(seed, PROFILES[profile])
    try:
        history.play(STEPS)
    except Broken:
        print(f"seed {seed}: " + ", ".join(history.events))
        raise
    assert all(history.checks[rule] > 0 for rule in CHECKED), history.checks
    outcomes = {one.outcome for one in history.seen.transactions}
    assert {True, False} <= outcomes


def test_partition_is_compacted_meanwhile() -> None:
    history = KafkaHistory(0, PROFILES["killed"])
    history.play(STEPS)
    assert history.compacted_end > 0


def test_seed_is_one_history() -> None:
    first, second = (KafkaHistory(7, PROFILES["killed"]) for _ in range(2))
    for one in (first, second):
        one.play(10)
    assert first.events == second.events
    assert first.seen.at == second.seen.at
