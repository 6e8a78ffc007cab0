"""Buffered input: its count, and the connections closed above a limit."""

import pytest

from mqgateway.gateway.remoting.pending_input import PendingInput


class Scene:
    """Limits of 1000 bytes, 600 per address, and connections that record when they are closed."""

    def __init__(self) -> None:
        self.now = 0.0
        self.input = PendingInput(1000, 600, lambda: self.now)
        self.cut: list[str] = []

    def keeper(self, name: str) -> "Keeper":
        return Keeper(self, name)


class Keeper:
    def __init__(self, scene: Scene, name: str) -> None:
        self.scene, self.name, self.reason = scene, name, ""

    def keep(self, size: int, address: str = "", *, is_new: bool = False) -> None:
        self.scene.input.set(self, address or f"address of {self.name}", size, is_new=is_new)

    def cut_off(self, reason: str) -> None:
        self.reason = reason
        self.scene.cut.append(self.name)


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_buffered_input_is_counted_until_served(scene: Scene) -> None:
    one, two = scene.keeper("one"), scene.keeper("two")
    one.keep(400)
    two.keep(500)
    one.keep(100, is_new=True)
    assert scene.input.total == 600
    one.keep(0)
    two.keep(0)
    two.keep(0)
    assert (scene.input.total, scene.cut) == (0, [])


def test_oldest_of_equal_keepers_is_disconnected(scene: Scene) -> None:
    keepers = [scene.keeper(name) for name in ("one", "two", "three")]
    for keeper in keepers:
        keeper.keep(400)
        scene.now += 1
    assert scene.cut == ["one"]
    assert scene.input.total == 800
    assert "maxPendingInput allows" in keepers[0].reason
    assert "400 bytes of unfinished requests for 2 s" in keepers[0].reason


def test_old_short_frame_is_tolerated(scene: Scene) -> None:
    """Slow clients cost little; those that send much and stop do not."""
    slow, hog, honest = scene.keeper("slow"), scene.keeper("hog"), scene.keeper("honest")
    slow.keep(1)
    scene.now = 100
    hog.keep(590)
    scene.now = 110
    honest.keep(500)
    assert scene.cut == ["hog"]


def test_progress_resets_age(scene: Scene) -> None:
    """A client that always has the start of its next request in flight is not an old one."""
    busy, idle = scene.keeper("busy"), scene.keeper("idle")
    busy.keep(400)
    scene.now = 50
    idle.keep(400)
    scene.now = 99
    busy.keep(400, is_new=True)
    scene.now = 100
    scene.keeper("third").keep(400)
    assert scene.cut == ["idle"]


def test_address_has_own_limit(scene: Scene) -> None:
    other = scene.keeper("other")
    other.keep(300)
    scene.now = 10
    keepers = [scene.keeper(name) for name in ("one", "two")]
    for keeper in keepers:
        scene.now += 1
        keeper.keep(350, "10.0.0.1")
    assert scene.cut == ["one"]
    assert "the 600 that maxPendingInputOfPeer allows" in keepers[0].reason


def test_disconnects_down_to_limit(scene: Scene) -> None:
    for number in range(10):
        scene.keeper(str(number)).keep(99)
        scene.now += 1
    scene.keeper("large").keep(599)
    assert scene.cut == ["0", "1", "2", "3", "4", "5"]
    assert scene.input.total == 995


def test_single_keeper_above_limit_is_disconnected(scene: Scene) -> None:
    alone = scene.keeper("alone")
    alone.keep(1001)
    assert (scene.cut, scene.input.total) == (["alone"], 0)


@pytest.mark.parametrize(("limit", "expected"), [(500, 2024), (5000, 5000), (float("inf"), float("inf"))])
def test_limits_allow_one_message(limit: float, expected: float) -> None:
    pending = PendingInput.for_messages(limit, limit, lambda: 0.0, 1000)
    assert pending._limit == pending._address_limit == expected
