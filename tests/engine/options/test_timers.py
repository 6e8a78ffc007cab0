"""Settings of timers: which have an effect, and what they may be."""

import pytest

from mqgateway.engine.options import OptionSet, Setting, StoreOptions
from mqgateway.engine.options.timers import TimerOptions

YEAR_SECONDS = 365 * 24 * 3600


@pytest.mark.parametrize(
    ("key", "value"), [("timerMaxDelaySec", str(YEAR_SECONDS)), ("timerPrecisionMs", "50")]
)
def test_a_year_and_fractions_of_a_second_are_settings(key: str, value: str) -> None:
    options = OptionSet(StoreOptions())
    assert options.apply([Setting(key, value)]) == []
    assert options.get(key) == int(value)


@pytest.mark.parametrize(("key", "value"), [("timerPrecisionMs", "0"), ("timerRollWindowSlot", "1")])
def test_a_wheel_that_could_not_turn_is_refused(key: str, value: str) -> None:
    (problem,) = OptionSet(StoreOptions()).apply([Setting(key, value)])
    assert "less than" in problem.what


def test_the_defaults_are_the_standards() -> None:
    options = TimerOptions()
    assert (options.timer_max_delay_sec, options.timer_precision_ms) == (3 * 24 * 3600, 1000)
