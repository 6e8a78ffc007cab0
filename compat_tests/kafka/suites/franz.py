"""The tests of franz-go's package ``kgo``.

The Go module has them beside its sources. They run in one process, in parallel, and each creates topics and
groups of its own.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from compat_tests.kafka.suites.outcomes import FAILED, LEFT, PASSED, SKIPPED, Expected
from compat_tests.support.artifacts import cache_folder, made, run

NAME = "franz-go"
MODULE, VERSION = "github.com/twmb/franz-go", "v1.22.3"
RECORDS = 10_000
"""Records that a test sends through its chains of consumers and producers."""
TIMEOUT = 1200
SETTINGS = {"maxMessageSize": str(16 << 20)}
"""One test sends a record of 5 MiB."""

_RESULTS = {"PASS": PASSED, "FAIL": FAILED, "SKIP": SKIPPED}
_RESULT = re.compile(r"^ *--- (PASS|FAIL|SKIP): (\S+) ", re.MULTILINE)
_BEGIN = re.compile(r"^=== RUN +(\S+)$", re.MULTILINE)


def build() -> Path:
    """Return the folder of the sources, with the compiled tests in ``kgo.test``."""
    return made(cache_folder() / f"kafka-suite-{NAME}-{VERSION}", _build)


def _build(aside: Path) -> None:
    go = shutil.which("go") or "/usr/local/go/bin/go"
    env = {"HOME": str(Path.home()), **os.environ, "GOTOOLCHAIN": "local"}
    command = [go, "mod", "download", "-json", f"{MODULE}@{VERSION}"]
    found = subprocess.run(command, capture_output=True, text=True, check=True, env=env, cwd=aside.parent)
    shutil.copytree(json.loads(found.stdout)["Dir"], aside, copy_function=shutil.copyfile)
    for folder in (aside, *(path for path in aside.rglob("*") if path.is_dir())):
        folder.chmod(0o755)
    run([go, "test", "-c", "-buildvcs=false", "-o", str(aside / "kgo.test"), "./pkg/kgo"], aside, env)


def outcomes(
    address: str, words: Sequence[str], log: Path, expected: Mapping[str, Expected]
) -> dict[str, str]:
    """Run all tests but those left out, or those whose names contain a word; return what came of them.

    Parts of a test are named only if they did not pass.
    """
    sources = build()
    left = [name for name, entry in expected.items() if entry.outcome == LEFT]
    command = ["./../../kgo.test", "-test.v", f"-test.timeout={TIMEOUT}s"]
    command += [f"-test.run={'|'.join(words) or '.'}"]
    command += [f"-test.skip=^({'|'.join(left)})$"] if left else []
    env = {
        **os.environ,
        "KGO_SEEDS": address,
        "KGO_TEST_RF": "1",
        "KGO_TEST_RECORDS": str(RECORDS),
        "KGO_LOG_LEVEL": "none",
    }
    with log.open("w") as output:
        subprocess.run(
            command, cwd=sources / "pkg" / "kgo", env=env, stdout=output, stderr=output, check=False
        )
    return parse(log.read_text(errors="replace"))


def parse(text: str) -> dict[str, str]:
    """Return the outcomes in the output of a run; a test that did not end has failed."""
    found = dict.fromkeys(_BEGIN.findall(text), FAILED)
    found |= {name: _RESULTS[result] for result, name in _RESULT.findall(text)}
    return {name: outcome for name, outcome in found.items() if "/" not in name or outcome != PASSED}
