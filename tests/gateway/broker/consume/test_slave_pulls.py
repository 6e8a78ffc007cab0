"""A slave's answers to pulls, made from a master's."""

from __future__ import annotations

import pytest

from mqgateway.engine.ha.role import RoleKind
from mqgateway.engine.store.results import GetStatus
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.consume.pull import pull
from mqgateway.gateway.broker.consume.pull_request import PullOutcome, PullOutcomeStatus
from mqgateway.gateway.broker.consume.slave_pulls import as_slave
from mqgateway.gateway.broker.errors import OperationError, Reason
from tests.support.gateway.broker.helpers import FakePeer, MemoryBroker
from tests.support.gateway.broker.pulls import pull_request

FOUND, NOT_FOUND = PullOutcomeStatus.FOUND, PullOutcomeStatus.NOT_FOUND
RETRY, MOVED = PullOutcomeStatus.RETRY_IMMEDIATELY, PullOutcomeStatus.OFFSET_MOVED


class Scene:
    """A slave, whose master is there or not; `group` is served by broker 1, far behind or not."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, has_master: bool) -> None:
        monkeypatch.setattr(Broker, "has_master", has_master)
        self.memory = MemoryBroker(options={"slave_read_enable": True})
        self.memory.broker.role.become(RoleKind.SLAVE, broker_id=1)
        self.broker = self.memory.broker
        self.group = SubscriptionGroupConfig("G", broker_id=1, which_broker_when_consume_slowly=1)

    def answer(
        self, status: PullOutcomeStatus, found: GetStatus = GetStatus.FOUND, *, is_far_behind: bool = False
    ) -> tuple[PullOutcomeStatus, int, int]:
        """Status, suggested broker and next offset after a pull from 900 that found the queue to end at 3."""
        outcome = PullOutcome(status, found, b"", 3, 0, 3, 1, 0, 0)
        as_slave(self.broker, outcome, 900, self.group, is_far_behind)
        return outcome.status, outcome.suggested_broker, outcome.next_offset


def test_a_reader_that_is_not_behind_goes_to_the_master(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even where the group's own broker and that of slow readers are both this slave."""
    scene = Scene(monkeypatch, has_master=True)
    assert scene.answer(FOUND) == (FOUND, 0, 3)
    assert scene.answer(NOT_FOUND) == (RETRY, 0, 3)
    assert scene.answer(FOUND, is_far_behind=True) == (FOUND, 1, 3)


def test_without_a_master_readers_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene(monkeypatch, has_master=False)
    assert scene.answer(FOUND) == (FOUND, 1, 3)
    assert scene.answer(NOT_FOUND) == (NOT_FOUND, 1, 3)


def test_an_offset_is_corrected_only_if_that_is_wanted_or_it_was_reset(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scene = Scene(monkeypatch, has_master=False)
    assert scene.answer(MOVED, GetStatus.OFFSET_OVERFLOW_BADLY) == (RETRY, 1, 900)
    assert scene.answer(MOVED, GetStatus.OFFSET_RESET) == (RETRY, 1, 3)
    scene.memory.store_options.offset_check_in_slave = True
    assert scene.answer(MOVED, GetStatus.OFFSET_OVERFLOW_BADLY) == (MOVED, 1, 3)


def test_pulls_are_served_as_the_role_says(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene(monkeypatch, has_master=True)
    scene.memory.add_topic("T")
    scene.broker.tables.groups.put(scene.group)
    waits = pull_request(max_wait=15_000)
    outcome = pull(scene.broker, waits, FakePeer())
    assert isinstance(outcome, PullOutcome)
    assert (outcome.status, outcome.suggested_broker) == (RETRY, 0)
    scene.memory.options.slave_read_enable = False
    with pytest.raises(OperationError) as refusal:
        pull(scene.broker, waits, FakePeer())
    assert refusal.value.reason is Reason.SYSTEM_BUSY
    scene.broker.role.become(RoleKind.MASTER, epoch=1)
    assert not isinstance(pull(scene.broker, waits, FakePeer()), PullOutcome)
