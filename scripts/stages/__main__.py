"""The command line of `scripts/test`."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from pathlib import Path
from typing import NoReturn

from scripts.stages import long_run
from scripts.stages.environments import NotPrepared, prepare
from scripts.stages.machine import NotInstallable, install, missing_packages
from scripts.stages.plan import LONG_RUN, ROOT, SECOND, Plan, first
from scripts.stages.runner import Runner, line, report

LOGS = Path(".tox") / "logs"
WITHOUT_PEERS = (
    "Left out (--no-peers): the compatibility core, which needs Java, Go, Node and Docker,"
    " and the compiled modules, which take minutes to build."
)


def parser() -> argparse.ArgumentParser:
    """Return the options of `scripts/test`."""
    made = argparse.ArgumentParser(
        prog="scripts/test",
        description="Run the tests. Without an option: stage one, seven to nine minutes on two cores.",
    )
    which = made.add_mutually_exclusive_group()
    which.add_argument(
        "--no-peers",
        action="store_true",
        help="without official clients and compiled modules; four minutes",
    )
    which.add_argument("--all", action="store_true", help="stage one, then two: all but the long run")
    which.add_argument(
        "--long",
        action="store_true",
        help="Apache's integration tests, DLedger, controller, migration, packages, Rust, Spark, Helm",
    )
    made.add_argument(
        "--repeat",
        action="store_true",
        help="run what passed with the same sources too",
    )
    made.add_argument("--only", metavar="STAGE", action="append", default=[], help="run this stage only")
    return made


def chosen(options: argparse.Namespace) -> list[Plan]:
    """Return the plans that the options ask for, without stages that `--only` leaves out.

    Raises:
        ValueError: `--only` names no stage of these plans.
    """
    setup = (ROOT / "setup.py").read_text()
    if options.long:
        plans = [LONG_RUN]
    else:
        plans = [first(setup, peers=not options.no_peers, repeat=options.repeat or options.all)]
        plans += [SECOND] if options.all else []
    names = [stage.name for plan in plans for stage in plan.stages]
    unknown = [name for name in options.only if name not in names]
    if unknown:
        raise ValueError(f"--only {unknown[0]}: no such stage here; there are {', '.join(names)}")
    if not options.only:
        return plans
    kept = [Plan(one.title, tuple(s for s in one.stages if s.name in options.only)) for one in plans]
    return [plan for plan in kept if plan.stages]


def main(arguments: list[str]) -> int:
    """Run what the arguments ask for; return the exit code."""
    options = parser().parse_args(arguments)
    began = time.monotonic()
    try:
        plans = chosen(options)
        stages = [stage for plan in plans for stage in plan.stages]
        install(missing_packages({need for stage in stages for need in stage.needs}))
        logs = ROOT / LOGS
        logs.mkdir(parents=True, exist_ok=True)
        made = prepare(ROOT, [stage.environment for stage in stages], logs / "environments.log")
    except (ValueError, NotInstallable, NotPrepared) as failure:
        print(failure, file=sys.stderr)
        return 2
    if made:
        print(line("environments", True, time.monotonic() - began, ", ".join(made)), flush=True)
    runner = Runner(ROOT, LOGS)
    for plan in plans:
        runner.run(plan)
    notes = [WITHOUT_PEERS] if options.no_peers else []
    print(report(runner.results, time.monotonic() - began, notes), flush=True)
    if options.long:
        long_run.record(ROOT, runner.results)
    return 0 if all(result.has_passed for result in runner.results) else 1


def interrupted(number: int, frame: object) -> NoReturn:
    """End the stages on SIGTERM as on Ctrl-C, also where a shell has SIGINT ignored in the background."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupted)
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
