"""Roles that change while a group works, in any order: nothing acknowledged is lost, no service runs twice.

Clients send, delay, pop, acknowledge and end transactions all the time. With accidents, disks fail, processes
die and machines lose power, as far as the settings promise that what was acknowledged survives it.
MQGATEWAY_ROLE_HISTORIES is the number of histories of each kind, for long runs.
"""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.gateway.broker.role_history import FAULTS, PROMISES, History

pytestmark = pytest.mark.usefixtures("short_wheel")

HISTORIES = int(os.environ.get("MQGATEWAY_ROLE_HISTORIES", "12"))
KINDS = ("plain", "level", "timer")
CHANGES = ("fence", "restore", "demote", "act", "stop acting", "hand over")
WORK = (
    st.tuples(st.just("send"), st.sampled_from(KINDS)),
    st.tuples(st.just("pop"), st.booleans()),
    st.tuples(st.just("pull")),
    st.tuples(st.just("half")),
    st.tuples(st.just("end"), st.booleans()),
    st.tuples(st.just("answer_checks")),
    st.tuples(st.just("wait"), st.sampled_from((0.1, 0.5, 3, 12))),
    st.tuples(st.just("change"), st.sampled_from(CHANGES)),
)
ACCIDENTS = (
    st.tuples(st.just("break_disk"), st.booleans(), st.sampled_from(sorted(FAULTS))),
    st.tuples(st.just("mend_disk"), st.booleans()),
    st.tuples(st.just("kill"), st.booleans()),
    st.tuples(st.just("kill"), st.booleans(), st.integers(0, 1 << 30)),
)
Steps = list[tuple[Any, ...]]
bounded = settings(
    max_examples=HISTORIES,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=HISTORIES <= 12,
    print_blob=True,
)


def live(promise: str, steps: Steps) -> None:
    """One history from its beginning to its end."""
    history = History(PROMISES[promise])
    for step in steps:
        history.take(*step)
    history.settle()
    history.check()
    history.leave()


@pytest.mark.parametrize("promise", ["process", "replicas"])
@bounded
@given(steps=st.lists(st.one_of(*WORK), min_size=6, max_size=24))
def test_nothing_acknowledged_is_lost_and_no_service_runs_twice(promise: str, steps: Steps) -> None:
    live(promise, steps)


@pytest.mark.parametrize("promise", sorted(PROMISES))
@bounded
@given(steps=st.lists(st.one_of(*WORK, *ACCIDENTS), min_size=6, max_size=24))
def test_accidents_take_nothing_that_the_settings_promise_to_keep(promise: str, steps: Steps) -> None:
    live(promise, steps)
