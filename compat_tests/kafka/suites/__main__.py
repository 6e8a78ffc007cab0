"""Run a suite by hand: all of it, or the tests whose names have a word."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import ModuleType

from compat_tests.kafka.suites import franz, kafka, librdkafka
from compat_tests.kafka.suites.outcomes import differences, load, recorded, save
from compat_tests.kafka.support.servers import KafkaServer

SUITES = {suite.NAME: suite for suite in (franz, kafka, librdkafka)}


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m compat_tests.kafka.suites", description=__doc__)
    parser.add_argument("server", help="apache or ours, which is started; or host:port of one of ours")
    parser.add_argument("suite", choices=sorted(SUITES))
    parser.add_argument("words", nargs="*", help="run only tests whose names have one of these")
    parser.add_argument("--record", action="store_true", help="write what came of the tests to the table")
    arguments = parser.parse_args()
    suite = SUITES[arguments.suite]
    kind = "apache" if arguments.server == "apache" else "ours"
    expected = load(suite.NAME, kind)
    work = Path(tempfile.mkdtemp(prefix="kafka-suite-"))
    log = work / f"{suite.NAME}.log"
    print(f"output in {log}", flush=True)
    suite.build()
    has_servers = suite is kafka  # of its own
    with nullcontext("") if has_servers else running(arguments.server, work, suite) as address:
        began = time.monotonic()
        outcomes = suite.outcomes(address, arguments.words, log, expected)
        seconds = time.monotonic() - began
    for outcome in sorted({*outcomes.values()}):
        print(f"{sum(one == outcome for one in outcomes.values())} {outcome}")
    print(f"{seconds:.0f} s")
    if arguments.record:
        save(suite.NAME, kind, recorded(expected, outcomes))
        return
    if arguments.words:
        expected = {name: entry for name, entry in expected.items() if name in outcomes}
    lines = differences(expected, outcomes)
    print("\n".join(lines))
    sys.exit(1 if lines else 0)


@contextmanager
def running(server: str, work: Path, suite: ModuleType) -> Iterator[str]:
    """Start a server if it is one of the two kinds; yield its address."""
    if server not in ("apache", "ours"):
        yield server
        return
    with KafkaServer(server, work, suite.SETTINGS if server == "ours" else {}) as started:
        yield started.address


main()
