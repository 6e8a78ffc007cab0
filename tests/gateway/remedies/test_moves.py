import pytest

from mqgateway.gateway.remedies.moves import GroupMove, GroupPosition, undoing


def position(offset: int, queue_id: int = 0) -> GroupPosition:
    return GroupPosition("broker-a", queue_id, 10, 20, offset)


@pytest.mark.parametrize(("offset", "target"), [(9, 10), (10, 10), (15, 15), (20, 20), (99, 20)])
def test_move_to_an_offset_ends_within_the_queue(offset: int, target: int) -> None:
    assert position(12).move_to(offset).target == target


@pytest.mark.parametrize(
    ("offset", "count", "target"),
    [(12, 3, 15), (12, -1, 11), (12, -5, 10), (12, 99, 20), (-1, 2, 12), (4, 2, 12)],
)
def test_move_by_messages_counts_from_the_oldest_message_that_is_left(
    offset: int, count: int, target: int
) -> None:
    assert position(offset).move_by(count).target == target


@pytest.mark.parametrize(
    ("offset", "target", "distance", "is_change"),
    [(12, 15, 3, True), (15, 12, -3, True), (12, 12, 0, False), (-1, 10, 10, True), (-1, 0, 0, True)],
)
def test_move_counts_the_messages_between(offset: int, target: int, distance: int, is_change: bool) -> None:
    move = GroupMove(position(offset), target)
    assert (move.distance, move.is_change) == (distance, is_change)


def test_undoing_moves_the_queues_that_were_moved() -> None:
    positions = [position(20, queue_id) for queue_id in range(4)]
    before = {("broker-a", 0): 12, ("broker-a", 1): 3, ("broker-b", 2): 12}
    found = [(one.position.queue_id, one.target) for one in undoing(positions, before)]
    assert found == [(0, 12), (1, 10)], "a queue has deleted messages since; others stay"
