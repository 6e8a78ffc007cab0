"""The work of a scrape, counted in instructions, which do not vary between runs.

It is proportional to the lines shown, and no step of it is long.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.scrape import broker, measure, section
from bench.steps import instructions
from mqgateway.gateway.metrics.observed import EXPORTER, STANDARD, ObservedBroker

TOPICS, GROUPS = 200, 40
LINES = {STANDARD: 11 * TOPICS + 7 * GROUPS, EXPORTER: 3 * TOPICS + 5 * GROUPS}
"""Number of lines of a scrape that depend on the numbers of topics and groups."""
INSTRUCTIONS_A_LINE = {STANDARD: 50, EXPORTER: 330}
INSTRUCTIONS_A_STEP = 100_000
DONE = object()


def work(observed: ObservedBroker, metrics: str) -> list[int]:
    """Return the number of instructions of each step of a scrape."""
    steps, counts, is_done = observed.write(metrics, [], []), [], False

    def step() -> None:
        nonlocal is_done
        is_done = next(steps, DONE) is DONE

    while not is_done:
        counts.append(instructions(step))
    return counts


@pytest.mark.parametrize("metrics", [STANDARD, EXPORTER])
def test_work_grows_with_what_is_shown_and_comes_in_short_steps(metrics: str, tmp_path: Path) -> None:
    """A line takes a few microseconds and a step a millisecond, so 10,000 topics take less than 100 ms."""
    once, twice = (broker(tmp_path / str(times), TOPICS * times, GROUPS * times)() for times in (1, 2))
    first, second = work(once, metrics), work(twice, metrics)
    later, more = work(once, metrics), work(twice, metrics)
    assert sum(later) < sum(first) and sum(more) < sum(second), "labels are made once"
    assert (sum(more) - sum(later)) / LINES[metrics] < INSTRUCTIONS_A_LINE[metrics]
    assert max(*second, *more) < INSTRUCTIONS_A_STEP


def test_the_figures(tmp_path: Path) -> None:
    observed = broker(tmp_path, 20, 5)
    scrapes = [measure(observed, metrics, 2) for metrics in (STANDARD, EXPORTER)]
    assert all(one.lines > 100 and one.longest > 0 and one.later > 0 for one in scrapes)
    text = "\n".join(section(scrapes, 20, 5, 2))
    assert "| standard |" in text and "| exporter |" in text
