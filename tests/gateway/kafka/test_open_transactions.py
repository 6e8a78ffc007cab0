"""Producers with transactions at the coordinators of all broker groups, as other groups are answered."""

from __future__ import annotations

import pytest

from mqgateway.engine.errors import ConfigError
from mqgateway.gateway.broker.operations import OperationError
from mqgateway.gateway.kafka.open_transactions import EPOCHS, OPEN_TRANSACTIONS, PRODUCERS
from tests.gateway.kafka.test_abandoned_offsets import GONE, OPEN, Scene


def test_other_groups_are_answered_with_the_transactions_of_their_producers() -> None:
    scene = Scene("")
    serve = scene.peers.serves[OPEN_TRANSACTIONS]
    assert serve({PRODUCERS: [OPEN, GONE]}) == {EPOCHS: {"1": 6}}
    with pytest.raises(ConfigError):
        serve({PRODUCERS: ["x"]})
    scene.coordinator.is_loaded = False
    with pytest.raises(OperationError):
        serve({PRODUCERS: [OPEN]})
