"""`python -m tests.sim`: sets under a controller through generated histories, and what was looked at.

Each seed is one history of three brokers, a controller and a name server in memory, the clock moved by hand;
the same seed is the same history. It ends with 1 and the seed's steps when an invariant does not hold.
"""

from __future__ import annotations

import logging
import sys
import time
from collections import Counter
from typing import Any

import click

from tests.support.gateway.broker.controlled_history import History

PROFILES: dict[str, dict[str, Any]] = {
    "processes die": {},
    "machines lose power": {"power": True},
    "minInSyncReplicas=2": {"min_in_sync_replicas": 2},
}
"""All with `allAckInSyncStateSet=true`; where power goes, with `flushDiskType=SYNC_FLUSH`."""


@click.command()
@click.option("--first", default=0, show_default=True, help="The first seed.")
@click.option("--seeds", default=10, show_default=True, help="How many seeds, in each profile.")
@click.option("--steps", default=60, show_default=True, help="Steps of each history.")
@click.option("--seconds", type=float, help="Begin no seed after so many seconds.")
def main(first: int, seeds: int, steps: int, seconds: float | None) -> None:
    """Run histories, and print seeds, simulated time, faults and what was checked."""
    logging.disable(logging.CRITICAL)
    began = time.monotonic()
    faults, checks = Counter[str](), Counter[str]()
    millis = done = sent = acknowledged = 0
    for seed in range(first, first + seeds):
        if seconds is not None and time.monotonic() - began > seconds:
            break
        for name, settings in PROFILES.items():
            history = History(seed, **settings)
            try:
                history.run(steps)
            except BaseException as failure:
                click.echo(f"seed {seed}, {name}: {failure!r}: {', '.join(history.told)}")
                sys.exit(1)
            millis += history.millis
            sent, acknowledged = sent + history.number, acknowledged + len(history.acknowledged)
            faults += history.faults
            checks += history.checks
        done += 1
    click.echo(
        f"seeds          {first} to {first + done - 1}, each in {len(PROFILES)} profiles, {steps} steps"
    )
    click.echo(f"simulated time {millis / 3_600_000:.2f} hours in {time.monotonic() - began:.0f} s")
    click.echo(f"messages       {sent} sent, {acknowledged} acknowledged")
    click.echo(f"faults         {_told(faults)}")
    click.echo(f"checked        {_told(checks)}")


def _told(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))


if __name__ == "__main__":
    main()
