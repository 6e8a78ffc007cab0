"""The contract of any storage of broker sets: for tests, on disk, and shared."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.controller.events import ApplyBrokerId, CleanBrokerData, ElectMaster
from mqgateway.engine.controller.local_state import LocalState
from mqgateway.engine.controller.shared_state import SharedState
from mqgateway.engine.controller.state import ControllerState, Leader
from mqgateway.engine.testing.crash_disk import CrashDisk
from tests.support.engine.controller.etcd_model import EtcdModel, Line
from tests.support.engine.controller.sets import HeldState, code


def local() -> ControllerState:
    return LocalState(Leader("n0", "127.0.0.1:9877"), CrashDisk(), "/c/brokerSets.json", ManualClock())


def shared() -> ControllerState:
    state = SharedState(Leader("n0", "127.0.0.1:9877"), Line(EtcdModel()), ManualClock(), "/p", 5)
    state.start(lambda: None)
    return state


@pytest.mark.parametrize("make", [HeldState, local, shared])
def test_events_are_applied_when_they_are_agreed(make: Callable[[], ControllerState]) -> None:
    state = make()
    assert state.is_leader and state.leader == ("n0", "127.0.0.1:9877") and state.term > 0
    notified: list[Exception | None] = []
    state.propose(ApplyBrokerId("brk", "CL", "a:1", 1, code(1)), notified.append)
    state.propose(ElectMaster("brk", 1), notified.append)
    assert notified == [None, None]
    assert (state.sets["brk"].master, state.sets["brk"].master_epoch) == (1, 1)
    state.propose(CleanBrokerData("brk"), notified.append)
    assert notified == [None] * 3 and not state.sets
    state.confirm(notified.append)
    assert notified[3] is None
