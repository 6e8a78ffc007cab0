"""Figures of the timers."""

from mqgateway.engine.timers.figures import TimerRates, no_timer_figures, timer_figures


def test_rates_are_those_of_the_last_period() -> None:
    rates = TimerRates()
    rates.note(100.0, 0, 0)
    rates.note(100.5, 7, 7)
    assert (rates.enqueued, rates.delivered) == (0, 0)
    rates.note(102.0, 10, 4)
    assert (rates.enqueued, rates.delivered) == (5, 2)
    rates.note(104.0, 10, 8)
    assert (rates.enqueued, rates.delivered) == (0, 2)


def test_figures_have_the_same_keys_before_the_timers_are_loaded() -> None:
    figures = timer_figures(3, 4, 5, TimerRates())
    assert list(figures.values()) == ["3", "4", "5", "0.0", "0.0"]
    assert figures.keys() == no_timer_figures().keys()
