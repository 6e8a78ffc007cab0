"""A turn is ended by the caller that began it; output outside of one is flushed on the next loop turn."""

import logging

import pytest
from twisted.internet.task import Clock

from mqgateway.gateway.remoting.turn import Turn


def test_turn_belongs_to_its_first_caller() -> None:
    turn = Turn()
    assert turn.begin()
    assert not turn.begin()
    turn.end()
    assert turn.begin()


class Heard:
    """Speaker that counts its flushes."""

    def __init__(self) -> None:
        self.times = 0

    def flush(self) -> None:
        self.times += 1


def test_output_outside_of_turn_is_flushed_on_next_loop_turn() -> None:
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


def test_turn_flushes_earlier_output() -> None:
    time, one = Clock(), Heard()
    turn = Turn(clockwork=time)
    turn.add(one)
    turn.begin()
    turn.end()
    assert one.times == 1
    time.advance(0)
    assert one.times == 1


def test_add_outside_of_turn_is_refused_without_clockwork() -> None:
    turn, one = Turn(), Heard()
    assert not turn.add(one)
    turn.begin()
    assert turn.add(one)
    turn.end()
    assert one.times == 1


class Broken(Heard):
    """Speaker whose flush fails."""

    def flush(self) -> None:
        super().flush()
        raise OSError("gone")


def test_failed_flush_does_not_stop_others(caplog: pytest.LogCaptureFixture) -> None:
    turn, one, other = Turn(), Broken(), Heard()
    turn.begin()
    assert turn.add(one) and turn.add(other)
    with caplog.at_level(logging.ERROR):
        turn.end()
    assert (one.times, other.times) == (1, 1)
    assert "flushing connections after a read failed" in caplog.text
