"""Apache's own integration tests: methods that pass on Apache's server pass here.

Each class is a test; a list of all 83 with their results follows at the end. The results on Apache's server
were recorded by hand, see ``official/__init__``. These tests run last and alone.
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
"""Number of concurrent clusters and JVMs: these tests mostly wait."""

RUN_SECONDS = 2400

JUDGE = load(recorded("apache"))


@pytest.fixture(scope="module")
def official(request: pytest.FixtureRequest, peers: Peers, work: Path) -> Iterator[OfficialRun]:
    """Start the run of all classes; tests wait for one class each."""
    run = OfficialRun("ours", peers.runtime, work / "official", LANES).start()
    request.config.stash[OFFICIAL] = run.results
    yield run
    run.close()


@pytest.mark.timeout(RUN_SECONDS)
@pytest.mark.parametrize("name", CLASSES)
def test_methods_that_pass_on_apache_pass_here(official: OfficialRun, name: str) -> None:
    """Every method passes in one of three tries, except for those that fail on Apache's server too."""
    outcomes = official.outcomes(name, RUN_SECONDS)
    failed = {method: outcome.reason for method, outcome in outcomes.items() if outcome.result == FAILED}
    missing = dict.fromkeys(JUDGE.passed(name) - set(outcomes), "did not run")
    excused = JUDGE.failed(name)
    assert {method: why for method, why in (failed | missing).items() if method not in excused} == {}


def test_every_class_of_the_tests_is_accounted_for() -> None:
    """All 83 classes are listed; each runs here or has a reason why not."""
    assert len({*CLASSES, *NOT_HERE}) == len(CLASSES) + len(NOT_HERE) == 83
