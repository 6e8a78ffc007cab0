"""Who began a turn ends it; what is ready outside of one is written when the loop has turned."""

import logging

import pytest
from twisted.internet.task import Clock

from mqgateway.gateway.remoting.turn import Turn


def test_a_turn_belongs_to_who_began_it() -> None:
    turn = Turn()
    assert turn.begin()
    assert not turn.begin()
    turn.end()
    assert turn.begin()


class Heard:
    """Counts how often it is told to write."""

    def __init__(self) -> None:
        self.times = 0

    def flush(self) -> None:
        self.times += 1


def test_what_is_ready_outside_of_a_turn_is_written_when_the_loop_has_turned() -> None:
    time, one, other = Clock(), Heard(), Heard()
    turn = Turn(clockwork=time)
    assert turn.add(one) and turn.add(other)
    assert len(time.getDelayedCalls()) == 1, "one call for all"
    assert (one.times, other.times) == (0, 0)
    time.advance(0)
    assert (one.times, other.times) == (1, 1)
    assert turn.add(one)
    time.advance(0)
    assert (one.times, other.times) == (2, 1)


def test_a_turn_writes_what_was_ready_before_it() -> None:
    time, one = Clock(), Heard()
    turn = Turn(clockwork=time)
    turn.add(one)
    turn.begin()
    turn.end()
    assert one.times == 1
    time.advance(0)
    assert one.times == 1


def test_without_a_clockwork_nothing_is_collected_outside_of_a_turn() -> None:
    turn, one = Turn(), Heard()
    assert not turn.add(one)
    turn.begin()
    assert turn.add(one)
    turn.end()
    assert one.times == 1


class Broken(Heard):
    """Fails when it is told to write."""

    def flush(self) -> None:
        super().flush()
        raise OSError("gone")


def test_one_that_cannot_write_keeps_nobody_from_it(caplog: pytest.LogCaptureFixture) -> None:
    turn, one, other = Turn(), Broken(), Heard()
    turn.begin()
    assert turn.add(one) and turn.add(other)
    with caplog.at_level(logging.ERROR):
        turn.end()
    assert (one.times, other.times) == (1, 1)
    assert "flushing connections after a read failed" in caplog.text
