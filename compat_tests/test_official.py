"""Apache's own integration tests: what passes on Apache's server passes here.

Each class is a test; in the end all 83 are listed, with what came of them. Which methods Apache's server
passes was recorded by hand, see ``official/__init__``. They come last, when nothing else runs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests.conftest import OFFICIAL
from compat_tests.official.classes import CLASSES, NOT_HERE
from compat_tests.official.results import FAILED, load, recorded
from compat_tests.official.run import OfficialRun
from compat_tests.support.peers import Peers

pytestmark = [pytest.mark.alone, pytest.mark.long]

LANES = int(os.environ.get("MQGATEWAY_OFFICIAL_LANES", "4"))
"""Clusters and JVMs at once: these tests wait more than they work."""

RUN_SECONDS = 2400

JUDGE = load(recorded("apache"))


@pytest.fixture(scope="module")
def official(request: pytest.FixtureRequest, peers: Peers, work: Path) -> Iterator[OfficialRun]:
    """The run of all classes; they are waited for one by one."""
    run = OfficialRun("ours", peers.runtime, work / "official", LANES).start()
    request.config.stash[OFFICIAL] = run.results
    yield run
    run.close()


@pytest.mark.timeout(RUN_SECONDS)
@pytest.mark.parametrize("name", CLASSES)
def test_what_passes_on_apache_passes_here(official: OfficialRun, name: str) -> None:
    """Every method of a class, in one of three tries; but for those that fail on Apache's server too."""
    outcomes = official.outcomes(name, RUN_SECONDS)
    failed = {method: outcome.reason for method, outcome in outcomes.items() if outcome.result == FAILED}
    missing = dict.fromkeys(JUDGE.passed(name) - set(outcomes), "did not run")
    excused = JUDGE.failed(name)
    assert {method: why for method, why in (failed | missing).items() if method not in excused} == {}


def test_every_class_of_the_tests_is_accounted_for() -> None:
    """83 classes are named as tests; each runs here or has a reason why not."""
    assert len({*CLASSES, *NOT_HERE}) == len(CLASSES) + len(NOT_HERE) == 83
