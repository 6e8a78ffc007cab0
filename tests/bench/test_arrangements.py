"""Processes that are given a core, and are not."""

import os

import pytest

from bench.arrangements import LOADS_CORE, SERVERS_CORE, Arrangement, on_core


@pytest.mark.parametrize("core", [SERVERS_CORE, LOADS_CORE])
def test_a_core_is_given_for_as_long_as_it_is_wanted(core: int) -> None:
    before = os.sched_getaffinity(0)
    if core not in before:
        pytest.fail(f"this machine has no core {core}")
    with on_core(core, Arrangement.PINNED):
        assert os.sched_getaffinity(0) == {core}
    assert os.sched_getaffinity(0) == before


@pytest.mark.parametrize("arrangement", [Arrangement.APART, Arrangement.TOGETHER])
def test_others_run_where_they_may(arrangement: Arrangement) -> None:
    before = os.sched_getaffinity(0)
    with on_core(SERVERS_CORE, arrangement):
        assert os.sched_getaffinity(0) == before
