"""Saving beside a running broker: what is due, roles, failures, and a second master."""

from typing import Any

import pytest

from mqgateway.engine.tier.continuous import (
    RETRY_SECONDS,
    RETRY_SECONDS_MAX,
    SURVEY_SECONDS,
    ContinuousSaver,
)
from mqgateway.engine.tier.object_store import ObjectStoreUnavailable
from tests.support.engine.tier.continuous import HOUR, MASTER, SLAVE, SavedStore
from tests.support.engine.tier.memory_objects import StoreFault
from tests.support.engine.tier.saving import (
    NAMES,
    check,
    layout_of,
    local_log,
    log_records,
    saved_records,
)


def test_whole_files_are_saved_at_once() -> None:
    saved = SavedStore()
    saved.put(40)
    state = saved.look()
    assert (state.saved_to, state.ranges, state.failure) == (8192, 2, "")
    assert state.oldest > 0
    assert check(saved.objects).damaged == []


def test_rest_is_saved_when_its_oldest_message_has_the_age() -> None:
    saved = SavedStore()
    saved.put(3)
    first = saved.look()
    assert (first.saved_to, first.ranges) == (0, 0)
    saved.clock.advance(HOUR - (saved.clock.millis() - first.oldest) - 1)
    assert saved.look().ranges == 0
    saved.clock.advance(1)
    state = saved.look()
    assert (state.saved_to, state.oldest, state.ranges) == (local_log(saved.disk).limit, 0, 1)
    assert saved_records(saved.objects) == log_records(saved.disk)


def test_tier_is_not_asked_while_nothing_is_due() -> None:
    saved = SavedStore()
    saved.put(3)
    saved.look()
    calls = saved.objects.calls
    for _ in range(10):
        saved.clock.advance(5000)
        saved.look()
    assert saved.objects.calls == calls


def test_unconfirmed_records_are_not_saved() -> None:
    saved = SavedStore()
    saved.put(40)
    assert saved.look(MASTER._replace(confirmed=5000)).saved_to == 4096
    assert saved.look(MASTER._replace(confirmed=8191)).saved_to == 4096
    assert saved.look().saved_to == 8192


def test_next_process_continues() -> None:
    saved = SavedStore()
    saved.put(40)
    saved.look()
    saved.put(40, "more")
    saved.saver = saved.new_saver()
    saved.look()
    assert check(saved.objects).damaged == []
    assert saved.look().saved_to > 8192


def test_slave_reports_how_far_the_master_has_saved() -> None:
    saved = SavedStore()
    saved.put(40)
    assert saved.look(SLAVE).saved_to == 0
    assert saved.objects.objects == {}
    assert saved.look(MASTER, saved.new_saver()).saved_to == 8192
    assert saved.look(SLAVE).saved_to == 0
    saved.clock.advance(int(SURVEY_SECONDS * 1000))
    assert saved.look(SLAVE).saved_to == 8192


def test_new_master_fences_the_old_one() -> None:
    saved = SavedStore()
    saved.put(20)
    old = saved.saver
    assert saved.look().saved_to == 4096
    saved.put(40, "more")
    new = saved.new_saver()
    assert saved.look(MASTER, new).failure == ""
    saved.put(40, "last")
    assert "a later writer has begun" in saved.look(MASTER, old).failure
    before = len(saved.objects.objects)
    saved.clock.advance(int(RETRY_SECONDS_MAX * 1000) - 1)
    saved.look(MASTER, old)
    assert len(saved.objects.objects) == before
    assert saved.look(MASTER, new).failure == ""
    assert check(saved.objects).damaged == []


def test_master_that_becomes_a_slave_stops_saving() -> None:
    saved = SavedStore()
    saved.put(20)
    saved.look()
    saved.put(40, "more")
    assert saved.look(SLAVE).ranges == 1
    saved.clock.advance(int(SURVEY_SECONDS * 1000))
    assert saved.look(MASTER).ranges > 1
    assert check(saved.objects).damaged == []


def test_failure_is_reported_and_retried_after_a_pause() -> None:
    saved = SavedStore()
    saved.put(40)
    saved.objects.faults[1] = StoreFault.AWAY
    state = saved.look()
    assert state == (-1, 0, 0, "saving the log failed: the store is away", 0, 0, 0)
    assert saved.look() == state
    assert saved.objects.calls == 1
    saved.clock.advance(int(RETRY_SECONDS * 1000))
    assert saved.look().failure == ""
    assert check(saved.objects).damaged == []


def test_store_that_cannot_be_opened_is_a_failure() -> None:
    saved = SavedStore()

    def refuse() -> Any:
        raise ObjectStoreUnavailable("no credentials")

    saver = ContinuousSaver(layout_of(saved.disk), NAMES, refuse, saved.clock)
    assert "no credentials" in saver.look(MASTER).failure


@pytest.mark.parametrize("may_lose", [False, True])
def test_gap_is_accepted_if_the_log_may_be_lost(may_lose: bool) -> None:
    saved = SavedStore()
    saved.put(20)
    saved.look()
    saved.put(60, "more")
    for start in (0, 4096):
        saved.disk.unlink(f"/store/commitlog/{start:020d}")
    state = saved.look(MASTER._replace(may_lose=may_lose))
    if may_lose:
        assert state.failure == ""
        assert check(saved.objects).gaps == [(4096, 8192)]
    else:
        assert "were deleted before they were saved" in state.failure
