"""`python -m tests.sim`: clusters under controllers through generated histories, with counts of the checks.

Each seed is one history in each profile; the same seed is the same history. A line each minute reports the
progress. If an invariant is violated, the exit code is 1, and the steps of the history are printed.
"""

from __future__ import annotations

import logging
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import count, islice
from typing import NamedTuple

import click

from tests.sim.history import PROFILES, Broken, History

LINE_SECONDS = 60


class PlayResult(NamedTuple):
    """The result of one history; `broken` is empty if every invariant held. Seconds are simulated."""

    seed: int
    profile: str
    seconds: float
    sent: int
    acknowledged: int
    faults: Counter[str]
    checks: Counter[str]
    broken: str


def play(seed: int, profile: str, steps: int) -> PlayResult:
    """Play one history and return its result."""
    logging.disable(logging.CRITICAL)
    history, broken = History(seed, PROFILES[profile]), ""
    try:
        history.play(steps)
    except Broken as found:
        broken = f"{found}: {', '.join(history.events)}"
    return PlayResult(
        seed,
        profile,
        history.world.now,
        sum(one.sent for one in history.producers),
        len(history.acknowledged),
        history.faults,
        history.checks,
        broken,
    )


@click.command()
@click.option("--first", default=0, show_default=True, help="The first seed.")
@click.option("--seeds", type=int, help="How many seeds, in each profile.  [default: 10, or until --seconds]")
@click.option("--steps", default=60, show_default=True, help="Steps of each history.")
@click.option("--seconds", type=float, help="Begin no history after so many seconds.")
@click.option("--profile", "names", multiple=True, type=click.Choice(list(PROFILES)), help="Only this one.")
@click.option("--jobs", default=1, show_default=True, help="Processes.")
def main(
    first: int, seeds: int | None, steps: int, seconds: float | None, names: tuple[str, ...], jobs: int
) -> None:
    """Run histories, and print seeds, simulated time, faults and what was checked."""
    began = said = time.monotonic()
    many = seeds if seeds is not None or seconds is not None else 10
    total = Total(names or tuple(PROFILES), steps)
    for result in _all(total, first, many, None if seconds is None else began + seconds, jobs):
        total.take(result)
        if result.broken:
            click.echo(f"seed {result.seed}, {result.profile}: {result.broken}")
        if time.monotonic() - said > LINE_SECONDS:
            said = time.monotonic()
            click.echo(
                f"... {total.count} histories, {total.hours:.1f} simulated hours, {total.failed} broken"
            )
    total.print(time.monotonic() - began)
    sys.exit(1 if total.failed else 0)


def _all(total: Total, first: int, many: int | None, until: float | None, jobs: int) -> Iterator[PlayResult]:
    """Yield the results of all histories, in any order."""
    seeds = islice(count(first), many)
    wanted = ((seed, name, total.steps) for seed in seeds for name in total.names)
    with ProcessPoolExecutor(jobs) as pool:
        running = {pool.submit(play, *one) for one in islice(wanted, jobs)}
        while running:
            done = next(as_completed(running))
            running.discard(done)
            if until is None or time.monotonic() < until:
                running |= {pool.submit(play, *one) for one in islice(wanted, 1)}
            yield done.result()


class Total:
    """Sums of the results of all histories."""

    def __init__(self, names: tuple[str, ...], steps: int) -> None:
        self.names, self.steps = names, steps
        self.seeds: set[int] = set()
        self.count = self.failed = self.sent = self.acknowledged = 0
        self.hours = 0.0
        self.faults, self.checks = Counter[str](), Counter[str]()

    def take(self, result: PlayResult) -> None:
        """Add a result."""
        self.seeds.add(result.seed)
        self.count += 1
        self.failed += bool(result.broken)
        self.hours += result.seconds / 3600
        self.sent += result.sent
        self.acknowledged += result.acknowledged
        self.faults += result.faults
        self.checks += result.checks

    def print(self, seconds: float) -> None:
        """Print the sums; `seconds` is the duration of the run."""
        speed = self.hours * 3600 / max(seconds, 0.001)
        seeds = f"{min(self.seeds)} to {max(self.seeds)}, {self.count} histories of {self.steps} steps"
        click.echo(f"seeds          {seeds}")
        click.echo(f"profiles       {', '.join(self.names)}")
        click.echo(f"simulated time {self.hours:.2f} hours in {seconds:.0f} s, {speed:.0f} times as fast")
        click.echo(f"messages       {self.sent} sent, {self.acknowledged} acknowledged")
        click.echo(f"faults         {_counts_text(self.faults)}")
        click.echo(f"checked        {_counts_text(self.checks)}")
        click.echo(f"broken         {self.failed}")


def _counts_text(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in sorted(counts.items()))


if __name__ == "__main__":
    main()
