"""Run the official tests by hand: all, or those whose name contains a word."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from pathlib import Path

from compat_tests.official import table
from compat_tests.official.classes import CLASSES
from compat_tests.official.results import PASSED, load, recorded
from compat_tests.official.run import OfficialRun
from compat_tests.support.runtime import choose

CLASS_SECONDS = 3600


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m compat_tests.official", description=__doc__)
    parser.add_argument(
        "kind", choices=["apache", "ours", "table"], help="which server; or only write the table"
    )
    parser.add_argument("words", nargs="*", help="run only classes whose names contain one of these")
    parser.add_argument("--lanes", type=int, default=2, help="how many clusters and JVMs at once")
    parser.add_argument("--record", action="store_true", help="keep the results and write the table")
    parser.add_argument("--missing", action="store_true", help="only classes of which no results are kept")
    parser.add_argument("--runtime", default="local", choices=["docker", "local", "auto"])
    arguments = parser.parse_args()
    if arguments.kind != "table":
        run(arguments)
    if arguments.kind == "table" or arguments.record:
        table.write()


def run(arguments: argparse.Namespace) -> None:
    """Run, and print what came of each class as it is known."""
    kept = load(recorded(arguments.kind))
    names = [name for name in CLASSES if not arguments.words or any(word in name for word in arguments.words)]
    names = [name for name in names if not (arguments.missing and name in kept.classes)]
    work = Path(tempfile.mkdtemp(prefix="official-"))
    print(f"logs in {work}", flush=True)
    runtime = choose(arguments.runtime, work)
    began = time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    official = OfficialRun(arguments.kind, runtime, work, arguments.lanes, names).start()
    try:
        for name in names:
            outcomes = official.outcomes(name, CLASS_SECONDS)
            seconds = sum(outcome.seconds for outcome in outcomes.values())
            print(f"{name} ({seconds:.0f} s)", flush=True)
            for method, outcome in outcomes.items():
                if outcome.result != PASSED or outcome.tries > 1:
                    print(
                        f"    {method}: {outcome.result}, tries {outcome.tries} {outcome.reason}", flush=True
                    )
            kept.date, kept.classes[name] = official.results.date, outcomes
            if arguments.record:
                kept.save(recorded(arguments.kind))
    finally:
        official.close()
        runtime.close()
    print(f"{time.monotonic() - began:.0f} s")


main()
