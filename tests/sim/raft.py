"""`python -m tests.sim.raft`: DLedger groups through generated histories, and what was looked at.

Each seed is one history of three to five members in memory, the clocks moved by hand; the same seed is the
same history. It ends with 1 when an invariant does not hold; with `--without RULE`, or all of them, as the
standard has it, histories that break are counted instead.
"""

from __future__ import annotations

import logging
import sys
import time
from collections import Counter
from dataclasses import fields, replace

import click

from mqgateway.engine.raft.settings import RaftRules
from tests.support.engine.raft.history import History

RULES = [field.name for field in fields(RaftRules)]


@click.command()
@click.option("--first", default=0, show_default=True, help="The first seed.")
@click.option("--seeds", default=20, show_default=True, help="How many seeds.")
@click.option("--steps", default=40, show_default=True, help="Faults of each history.")
@click.option("--seconds", type=float, help="Begin no seed after so many seconds.")
@click.option("--without", type=click.Choice(RULES), multiple=True, help="A rule that does not hold.")
@click.option("--files", is_flag=True, help="Keep the logs on disks in memory, as files.")
def main(
    first: int, seeds: int, steps: int, seconds: float | None, without: tuple[str, ...], files: bool
) -> None:
    """Run histories, and print seeds, simulated time, faults and what was acknowledged."""
    logging.disable(logging.CRITICAL)
    rules = replace(RaftRules(), **dict.fromkeys(without, False))
    began = time.monotonic()
    faults = Counter[str]()
    broken: list[str] = []
    millis = sent = acknowledged = terms = done = 0
    for seed in range(first, first + seeds):
        if seconds is not None and time.monotonic() - began > seconds:
            break
        history = History(seed, 3 + seed % 3, rules, files=files)
        try:
            history.run(steps)
        except AssertionError as failure:
            broken.append(f"seed {seed}: {failure}")
            if not without:
                click.echo(broken[0])
                sys.exit(1)
        done += 1
        millis += history.group.now
        sent, acknowledged = sent + history.number, acknowledged + len(history.group.acknowledged)
        terms += len(history.group.leaders)
        faults += history.faults
    click.echo(f"seeds          {first} to {first + done - 1}, {steps} faults each")
    click.echo(f"simulated time {millis / 3_600_000:.2f} hours in {time.monotonic() - began:.0f} s")
    click.echo(f"entries        {sent} offered, {acknowledged} acknowledged, {terms} terms with a leader")
    click.echo(f"faults         {', '.join(f'{name} {count}' for name, count in sorted(faults.items()))}")
    if without:
        click.echo(f"broken         {len(broken)}{'; ' + broken[0][:300] if broken else ''}")


if __name__ == "__main__":
    main()
