"""Bytes per second."""

from mqgateway.engine.ha.flow import Flow


def test_without_a_limit_there_is_always_room() -> None:
    flow = Flow(0)
    flow.add(1 << 40, 0)
    assert flow.room(0) is None


def test_a_second_has_room_for_the_limit_and_the_next_for_as_much() -> None:
    flow = Flow(0, 100)
    flow.add(70, 10)
    assert flow.room(999) == 30
    flow.add(50, 999)
    assert flow.room(999) == 0
    assert flow.room(1000) == 100


def test_rate_is_that_of_last_whole_second() -> None:
    flow = Flow(0)
    flow.add(70, 10)
    assert flow.per_second(500) == 0
    assert flow.per_second(1500) == 70
    assert flow.per_second(2500) == 0
