"""Outcomes of listeners."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import Deferred

from mqgateway.gateway.client.listening import Consumed, Context, listened, outcome_of
from tests.support.gateway.client.cluster import queue_of


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        (None, Consumed.SUCCESS),
        (True, Consumed.SUCCESS),
        (False, Consumed.LATER),
        (Consumed.ROLLBACK, Consumed.ROLLBACK),
        ("COMMIT", Consumed.COMMIT),
    ],
)
def test_outcomes_of_a_listener(said: Any, outcome: Consumed) -> None:
    assert outcome_of(said) is outcome


def test_invalid_outcome_is_a_failure() -> None:
    with pytest.raises(ValueError):
        outcome_of("DONE")
    ended: list[Any] = []
    Deferred.fromCoroutine(listened(lambda *_: 7, [], Context(queue_of("T")))).addBoth(ended.append)  # type: ignore[arg-type, return-value]
    assert ended[0].check(ValueError)


def test_leave_is_an_outcome_of_its_own() -> None:
    assert outcome_of(Consumed.LEAVE) is Consumed.LEAVE is outcome_of("LEAVE")
