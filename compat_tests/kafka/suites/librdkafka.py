"""The tests of librdkafka that need a server; each runs in a process of its own.

Those against its mock cluster, of share consumers, and of what this server cannot have (several brokers, TLS
and SASL of the test's own set-up) are not in the table.
"""

from __future__ import annotations

import os
import re
import subprocess
import tarfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TextIO

from compat_tests.kafka.suites.outcomes import FAILED, LEFT, PASSED, SKIPPED, Expected
from compat_tests.support.artifacts import cache_folder, made, run

NAME = "librdkafka"
VERSION = "2.15.0"
CARRIER = "@confluentinc/kafka-javascript@1.10.0"
"""The package of npm that holds the sources of this version, tests included."""
SOURCES = "package/deps/librdkafka"
PATIENCE = 3
"""Factor of the tests' own timeouts, for a busy machine."""
BROKER_VERSION = "4.4.0"
TIMEOUT = 300
AT_ONCE = 4
"""Tests at once: they wait more than they work."""
SETTINGS: dict[str, str] = {}

_SKIPPED = re.compile(r"\| *SKIPPED *\|")


def build() -> Path:
    """Return the folder of the sources, with the compiled tests."""
    return made(cache_folder() / f"kafka-suite-{NAME}-{VERSION}", _build) / SOURCES


def _build(aside: Path) -> None:
    aside.mkdir()
    run(["npm", "pack", "--silent", CARRIER], aside)
    (archive,) = aside.glob("*.tgz")
    with tarfile.open(archive) as packed:
        packed.extractall(aside, filter="data")
    archive.unlink()
    run(["./configure", "--disable-gssapi", "--disable-curl"], aside / SOURCES)
    for folder, target in (("src", "all"), ("src-cpp", "all"), ("tests", "test-runner")):
        run(["make", "-j2", "-C", folder, target], aside / SOURCES)


def outcomes(
    address: str, words: Sequence[str], log: Path, expected: Mapping[str, Expected]
) -> dict[str, str]:
    """Run the tests of the table, or those that begin with a word; return what came of them."""
    runner = build() / "tests"
    config = log.with_suffix(".conf")
    config.write_text(f"bootstrap.servers={address}\ntest.timeout.multiplier={PATIENCE}\n")
    names = [name for name, entry in expected.items() if entry.outcome != LEFT]
    if words:
        names = [name for name in expected if name.startswith(tuple(words))]
    with log.open("w") as output, ThreadPoolExecutor(AT_ONCE) as threads:
        found = zip(names, threads.map(lambda name: _run(runner, name, config), names), strict=True)
        return dict(_written(name, *ended, output) for name, ended in found)


def _written(name: str, outcome: str, text: str, output: TextIO) -> tuple[str, str]:
    output.write(f"{text}\n=== {name}: {outcome}\n")
    output.flush()
    return name, outcome


def _run(runner: Path, name: str, config: Path) -> tuple[str, str]:
    """Run one test; return what came of it, and its output."""
    env = {
        **os.environ,
        "TESTS": name,
        "TEST_KAFKA_VERSION": BROKER_VERSION,
        "RDKAFKA_TEST_CONF": str(config),
        "LD_LIBRARY_PATH": f"{runner.parent / 'src'}:{runner.parent / 'src-cpp'}",
    }
    env.pop("CI", None)  # with it, a test of latency is left out
    command = ["./test-runner", "-p1", "-Q", "-E"]
    try:
        ended = subprocess.run(
            command,
            cwd=runner,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired as expired:
        return FAILED, (expired.output or b"").decode(errors="replace")
    text = ended.stdout.decode(errors="replace")
    if ended.returncode:
        return FAILED, text
    return SKIPPED if _SKIPPED.search(text) else PASSED, text
