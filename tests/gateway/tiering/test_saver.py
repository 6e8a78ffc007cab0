"""The broker's side of saving: messages to the process, its reports, and its end."""

import pytest
from twisted.internet.task import Clock

from mqgateway.engine.ha.role import RoleKind
from mqgateway.gateway.runtime.schedule import Schedule
from mqgateway.gateway.tiering.saver import LOOK_SECONDS, RESTART_SECONDS, TierSaver
from tests.support.gateway.broker.helpers import MemoryBroker
from tests.support.gateway.container.fakes import FakeLaunch

REPORT = {
    "saved_to": 4096,
    "oldest": 5,
    "ranges": 1,
    "failure": "",
    "expired_segments": 2,
    "orphans": 3,
    "deleted_bytes": 700,
}


class SavedBroker:
    """A broker in memory with its saver, and a loop that the test drives."""

    def __init__(self) -> None:
        self.host = MemoryBroker()
        self.broker = self.host.broker
        self.loop = Clock()
        self.launch = FakeLaunch()
        self.saver = TierSaver(self.broker, {"url": "file:///x"}, self.launch, Schedule(self.loop))

    @property
    def saved(self) -> tuple[int, int, str]:
        saved = self.broker.store.admin.saved
        return saved.saved_to, saved.oldest, saved.failure


@pytest.fixture
def world() -> SavedBroker:
    world = SavedBroker()
    world.saver.start()
    world.loop.advance(0)
    return world


def test_process_is_informed_of_role_and_confirmed_offset(world: SavedBroker) -> None:
    [child] = world.launch.children
    assert (child.path, child.sent[0]) == (world.broker.store.root, {"url": "file:///x"})
    now = world.broker.clock.millis()
    rules = {
        "saves": True,
        "confirmed": 0,
        "range_millis": 3_600_000,
        "may_lose": False,
        "reserved_millis": 72 * 3_600_000,
        "now": now,
    }
    assert child.sent[1:] == [rules]
    world.broker.role.become(RoleKind.SLAVE, broker_id=1)
    world.loop.advance(LOOK_SECONDS)
    assert child.sent[-1] == {**rules, "saves": False}
    assert world.saver.pid == child.pid


def test_reports_are_taken_over(world: SavedBroker) -> None:
    [child] = world.launch.children
    child.say(REPORT)
    assert world.saved == (4096, 5, "")
    assert world.broker.store.admin.saved.deleted == (2, 3, 700)
    child.say({**REPORT, "failure": "the store is away"})
    assert world.saved == (4096, 5, "the store is away")


def test_unknown_offset_changes_nothing(world: SavedBroker) -> None:
    """A process that was started again knows nothing at first."""
    [child] = world.launch.children
    child.say(REPORT)
    child.say({**REPORT, "saved_to": -1, "failure": "away"})
    assert world.saved[0] == 4096


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"saved_to": 1},
        {**REPORT, "saved_to": "1"},
        {**REPORT, "failure": None},
        {**REPORT, "x": 1},
        {**REPORT, "orphans": "1"},
    ],
)
def test_other_messages_are_ignored(world: SavedBroker, message: dict[str, object]) -> None:
    [child] = world.launch.children
    child.say(message)
    assert world.saved == (-1, 0, "")


def test_process_that_ended_is_started_again(world: SavedBroker) -> None:
    world.launch.children[0].end("exit code 1")
    assert "has ended: exit code 1" in world.saved[2]
    assert world.saver.pid is None
    world.loop.advance(RESTART_SECONDS)
    assert len(world.launch.children) == 2
    world.loop.advance(LOOK_SECONDS)
    assert len(world.launch.children[1].sent) > 1
    world.launch.children[1].say(REPORT)
    assert world.saved == (4096, 5, "")


def test_process_that_cannot_be_started_is_tried_again() -> None:
    world = SavedBroker()
    world.launch.refusing = True
    world.saver.start()
    assert "temporarily unavailable" in world.saved[2]
    world.launch.refusing = False
    world.loop.advance(RESTART_SECONDS)
    assert len(world.launch.children) == 1


def test_stop_ends_the_process_for_good(world: SavedBroker) -> None:
    [child] = world.launch.children
    world.saver.stop()
    assert child.kills == 1
    child.end("killed by SIGKILL")
    world.loop.advance(RESTART_SECONDS)
    assert len(world.launch.children) == 1
    assert world.saved[2] == ""
