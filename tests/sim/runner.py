"""The command that plays many histories, with counts of the checks.

Each seed is one history in each profile; the same seed is the same history. A line each minute reports the
progress. If an invariant is violated, the exit code is 1, and the steps of the history are printed.
"""

from __future__ import annotations

import logging
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import count, islice
from typing import NamedTuple

import click

from tests.sim.history import Broken, History, Profile

LINE_SECONDS = 60

Begin = Callable[[int, Profile], History]
"""Begins the history of a seed in a profile."""


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


def play(begin: Begin, profile: Profile, name: str, seed: int, steps: int) -> PlayResult:
    """Play one history and return its result."""
    logging.disable(logging.CRITICAL)
    history, broken = begin(seed, profile), ""
    try:
        history.play(steps)
    except Broken as found:
        broken = f"{found}: {', '.join(history.events)}"
    seconds, sent, acknowledged = history.world.now, history.sent, len(history.acknowledged)
    return PlayResult(seed, name, seconds, sent, acknowledged, history.faults, history.checks, broken)


def command(begin: Begin, profiles: Mapping[str, Profile]) -> click.Command:
    """Return the command that plays histories in some of the profiles."""
    options = (
        click.Option(["--first"], default=0, show_default=True, help="The first seed."),
        click.Option(
            ["--seeds"], type=int, help="How many seeds, in each profile.  [default: 10, or until --seconds]"
        ),
        click.Option(["--steps"], default=60, show_default=True, help="Steps of each history."),
        click.Option(["--seconds"], type=float, help="Begin no history after so many seconds."),
        click.Option(
            ["--profile", "names"], multiple=True, type=click.Choice(list(profiles)), help="Only this one."
        ),
        click.Option(["--jobs"], default=1, show_default=True, help="Processes."),
    )

    def run(
        first: int, seeds: int | None, steps: int, seconds: float | None, names: tuple[str, ...], jobs: int
    ) -> None:
        chosen = {name: profiles[name] for name in names or profiles}
        _run(begin, chosen, first, seeds, steps, seconds, jobs)

    summary = "Run histories, and print seeds, simulated time, faults and what was checked."
    return click.Command("sim", params=list(options), callback=run, help=summary)


def _run(
    begin: Begin,
    profiles: Mapping[str, Profile],
    first: int,
    seeds: int | None,
    steps: int,
    seconds: float | None,
    jobs: int,
) -> None:
    began = said = time.monotonic()
    many = seeds if seeds is not None or seconds is not None else 10
    until = None if seconds is None else began + seconds
    total = Total(tuple(profiles), steps)
    wanted = (
        (begin, profile, name, seed, steps)
        for seed in islice(count(first), many)
        for name, profile in profiles.items()
    )
    for result in _played(wanted, until, jobs):
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


def _played(
    wanted: Iterator[tuple[Begin, Profile, str, int, int]], until: float | None, jobs: int
) -> Iterator[PlayResult]:
    """Yield the results of all histories, in any order."""
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
