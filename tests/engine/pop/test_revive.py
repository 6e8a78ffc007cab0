"""One revive queue: due checkpoints, acknowledgements, and progress."""

from mqgateway.engine.pop.records import Ack, CheckPoint, PointKey
from mqgateway.engine.pop.revive import ReviveQueue

NOW = 1_700_000_000_000
INVISIBLE = 60_000
RIPE = NOW + INVISIBLE + 2000
"""The last moment before a checkpoint popped at `NOW` is due."""


def point(number: int = 0, pop_time: int = NOW, count: int = 2) -> CheckPoint:
    key = PointKey("t", "g", 0, 10 * number, pop_time, "b")
    return CheckPoint(key, INVISIBLE, tuple(range(count)))


def test_a_check_point_is_ripe_two_seconds_after_its_time() -> None:
    queue = ReviveQueue(-1, 1000)
    queue.take(point(), NOW + INVISIBLE - 1000)
    assert queue.ripe(RIPE, True) is None
    found = queue.ripe(RIPE + 1, True)
    assert found is not None
    assert found.missing == [0, 1]
    assert (found.offset, queue.progress, queue.cursor) == (0, -1, 1)
    queue.done(found)
    assert (queue.progress, len(queue)) == (0, 0)
    assert queue.ripe(RIPE + 1, True) is None


def test_acknowledged_messages_are_not_missing() -> None:
    queue = ReviveQueue(-1, 1000)
    queue.take(point(), 0)
    queue.take(Ack(point().key, (1,)), 0)
    found = queue.ripe(RIPE + 1, True)
    assert found is not None
    assert found.missing == [0]


def test_an_acknowledgement_may_come_before_its_check_point() -> None:
    queue = ReviveQueue(-1, 1000)
    queue.take(Ack(point().key, (0, 1), True), NOW + INVISIBLE)
    assert queue.progress == -1
    queue.take(point(), NOW + INVISIBLE)
    found = queue.ripe(RIPE + 1, True)
    assert found is not None
    assert found.missing == []
    queue.done(found)
    assert queue.progress == 1


def test_an_acknowledgement_without_a_check_point_is_given_up() -> None:
    queue = ReviveQueue(-1, 1000)
    queue.take(Ack(point().key, (0,)), NOW)
    assert queue.ripe(NOW + 2000, True) is None
    assert queue.progress == -1
    assert queue.ripe(NOW + 2001, True) is None
    assert queue.progress == 0


def test_check_points_are_done_with_in_their_order() -> None:
    queue = ReviveQueue(4, 1000)
    queue.take(point(0, NOW + 500), 0)
    queue.take(point(1), 0)
    assert queue.ripe(RIPE + 1, True) is None
    found = queue.ripe(RIPE + 501, True)
    assert found is not None
    assert found.offset == 5
    queue.done(found)
    assert queue.progress == 5


def test_checkpoint_waits_for_unread_acknowledgements() -> None:
    """Before the end of the queue only read messages show how far it is complete."""
    queue = ReviveQueue(-1, 1000)
    queue.take(point(), NOW + INVISIBLE - 1000)
    assert queue.ripe(RIPE + 60_000, False) is None
    queue.take(None, RIPE + 1)
    assert queue.ripe(RIPE + 60_000, False) is not None


def test_coarse_timers_need_more_patience() -> None:
    queue = ReviveQueue(-1, 5000)
    queue.take(point(), 0)
    assert queue.ripe(NOW + INVISIBLE + 6000, True) is None
    assert queue.ripe(NOW + INVISIBLE + 6001, True) is not None


def test_messages_that_mean_nothing_are_passed() -> None:
    queue = ReviveQueue(-1, 1000)
    queue.take(None, 0)
    assert (queue.progress, queue.cursor) == (0, 1)
