"""Which receipts are current, as far as memory knows."""

import pytest

from mqgateway.engine.pop import CheckPoint, PointKey, open_points
from mqgateway.engine.pop.open_points import LATE_MILLIS, OpenPoints, ReceiptState

KEY = PointKey("T", "G", 0, 10, 1000, "b")
VISIBLE = 6000


@pytest.fixture
def points() -> OpenPoints:
    made = OpenPoints(500)
    made.popped(CheckPoint(KEY, 5000, (0, 1)), 1000)
    return made


def test_receipt_is_current_until_it_is_acknowledged(points: OpenPoints) -> None:
    assert points.state(KEY, 10, VISIBLE, 1001) is ReceiptState.CURRENT
    points.acknowledged(KEY, (10,))
    assert points.state(KEY, 10, VISIBLE, 1001) is ReceiptState.ACKNOWLEDGED
    assert points.state(KEY, 11, VISIBLE, 1001) is ReceiptState.CURRENT
    points.reopen(KEY, 10)
    assert points.state(KEY, 10, VISIBLE, 1001) is ReceiptState.CURRENT


def test_late_receipt_is_current_until_its_message_is_visible_again(points: OpenPoints) -> None:
    assert points.state(KEY, 10, VISIBLE, VISIBLE + 1) is ReceiptState.CURRENT
    assert points.state(KEY, 10, VISIBLE, VISIBLE + LATE_MILLIS) is ReceiptState.STALE
    points.done(KEY)
    assert points.state(KEY, 10, VISIBLE, VISIBLE + 1) is ReceiptState.STALE


def test_replaced_receipt_is_stale(points: OpenPoints) -> None:
    points.replaced(KEY, 10, VISIBLE)
    assert points.state(KEY, 10, VISIBLE, 1001) is ReceiptState.STALE


def test_older_receipts_are_not_known(points: OpenPoints) -> None:
    assert points.state(KEY._replace(pop_time=499), 10, VISIBLE, 1001) is None


def test_memory_is_bounded(points: OpenPoints, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that were known become older ones, of which the log is asked."""
    monkeypatch.setattr(open_points, "POINTS_MAX", 3)
    for number in range(2, 6):
        points.popped(CheckPoint(KEY._replace(pop_time=number * 1000), 5000, (0,)), number * 1000)
    assert len(points) <= 3
    assert points.state(KEY, 10, VISIBLE, 5000) is None


def test_pops_of_the_time_at_which_memory_was_emptied_are_not_known(
    points: OpenPoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_points, "POINTS_MAX", 2)
    same_time = [KEY._replace(queue_id=number, pop_time=2000) for number in range(2)]
    for key in same_time:
        points.popped(CheckPoint(key, 5000, (0,)), 2000)
    assert [points.state(key, 10, 7000, 2001) for key in same_time] == [None, None]


def test_points_of_a_deleted_topic_are_forgotten(points: OpenPoints) -> None:
    points.forget(lambda key: key.topic == "T")
    assert len(points) == 0
