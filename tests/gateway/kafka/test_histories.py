"""Kafka clients through short histories with faults; `tests/sim/kafka` has long ones, and planted faults."""

from __future__ import annotations

import pytest

from tests.sim.kafka.history import PROFILES, KafkaHistory

STEPS = 12


@pytest.mark.parametrize("profile", PROFILES)
def test_transactions_are_kept_through_faults(profile: str) -> None:
    history = KafkaHistory(3, PROFILES[profile])
    history.play(STEPS)
    assert history.faults and history.checks["copied exactly once"]
