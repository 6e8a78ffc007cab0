"""Bugs planted in the product, which histories have to find: a simulator without findings may be blind."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from mqgateway.engine.controller import decisions
from mqgateway.engine.controller.local_state import LocalState
from mqgateway.engine.ha.agreed_replicas import AgreedReplicas
from mqgateway.engine.ha.authority import Authority
from mqgateway.engine.ha.epoch_follow import EpochFollow
from mqgateway.engine.ha.in_sync_set import InSyncSet
from mqgateway.engine.store import reader
from mqgateway.engine.store.log import Agreement
from mqgateway.engine.store.message_store import MessageStore
from mqgateway.gateway.broker.replication.slave import MasterClient, MasterConnection
from tests.sim.history import PROFILES, Broken, History

SEEDS = 40
STEPS = 40

Plant = Callable[[pytest.MonkeyPatch], None]


def acknowledge_before_replicas_have_it(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(AgreedReplicas, "need", lambda self, now: 1)
    patch.setattr(AgreedReplicas, "high_water_mark", lambda self, need: self._log.position)
    patch.setattr(Agreement, "__call__", lambda self, log: self._base(log))


def leave_the_end_of_a_log_that_the_master_does_not_have(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(EpochFollow, "_common", lambda self, master: None)


def act_when_the_lease_is_over(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Authority, "holds", lambda self, now, in_sync: True)
    patch.setattr(Authority, "was_away", lambda self, now: False)


def make_the_set_smaller_before_the_controller_agreed(patch: pytest.MonkeyPatch) -> None:
    """Change the set as RocketMQ's master does."""

    def consider(self: InSyncSet, *given: Any) -> frozenset[int] | None:
        wanted = real(self, *given)
        if wanted is not None:
            self.members = wanted
        return wanted

    real = InSyncSet.consider
    patch.setattr(InSyncSet, "consider", consider)
    patch.setattr(InSyncSet, "ask", lambda self, wanted: setattr(self, "members", wanted))


def show_readers_what_is_not_confirmed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(reader, "agreed_limit", lambda log: None)
    patch.setattr(Agreement, "__call__", lambda self, log: self._base(log))


def elect_who_is_not_in_sync(patch: pytest.MonkeyPatch) -> None:
    real = decisions.elect
    patch.setattr(decisions, "elect", lambda in_sync, others, **named: real(range(1, 9), (), **named))


def forget_what_was_decided(patch: pytest.MonkeyPatch) -> None:
    """Replace the controller's file by one that writes nothing."""

    class NoFile:
        def __init__(self, file: Any) -> None:
            self._file = file

        def __getattr__(self, name: str) -> Any:
            return getattr(self._file, name)

        def append(self, change: Any) -> None:
            """Drop the change: it is lost when the process ends."""

        def proceed(self, chunks: Any) -> None:
            """Write nothing."""

    def begin(self: LocalState, *given: Any) -> None:
        real(self, *given)
        self._file = NoFile(self._file)  # type: ignore[assignment]

    real = LocalState.__init__
    patch.setattr(LocalState, "__init__", begin)


def report_what_is_not_on_disk(patch: pytest.MonkeyPatch) -> None:
    """Acknowledge, as a slave whose machine may lose power, with `flushDiskType=SYNC_FLUSH`."""

    def acknowledge(self: MasterClient, connection: MasterConnection) -> None:
        connection.send(connection.follow.report(self._store.raw.position, self.now()))

    patch.setattr(MasterClient, "_acknowledge", acknowledge)
    patch.setattr(MessageStore, "flushed_offset", property(lambda self: self.raw.position))


LOST = "was acknowledged at|was read at|never read"
PLANTED: tuple[tuple[Plant, str, int, str], ...] = (
    (acknowledge_before_replicas_have_it, "processes die", 1, LOST),
    (leave_the_end_of_a_log_that_the_master_does_not_have, "processes die", 2, f"{LOST}|heal|differ"),
    (act_when_the_lease_is_over, "processes die", 0, "has become master in epoch"),
    (make_the_set_smaller_before_the_controller_agreed, "processes die", 3, LOST),
    (show_readers_what_is_not_confirmed, "processes die", 2, "was read at"),
    (elect_who_is_not_in_sync, "processes die", 0, LOST),
    (forget_what_was_decided, "processes die", 16, "acknowledge in epoch|heal"),
    (report_what_is_not_on_disk, "machines lose power", 15, LOST),
)
"""Each bug with a seed that has found it. If that seed no longer does, the seeds after it are tried."""


@pytest.mark.parametrize(
    ("plant", "profile", "first", "found"), PLANTED, ids=[one[0].__name__ for one in PLANTED]
)
def test_a_planted_fault_is_found(
    plant: Plant, profile: str, first: int, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    for seed in range(first, first + SEEDS):
        try:
            History(seed, PROFILES[profile]).play(STEPS)
        except Broken as broken:
            print(f"seed {seed}: {broken}")
            assert re.search(found, str(broken)), str(broken)
            return
    pytest.fail(f"{SEEDS} histories have not found it")
