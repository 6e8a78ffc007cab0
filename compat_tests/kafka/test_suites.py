"""The test suites of franz-go and librdkafka, unmodified: each test does what the table says.

Which tests are left out on which server, and why, is in `suites/expected`.
"""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from compat_tests.kafka.suites import franz, librdkafka
from compat_tests.kafka.suites.outcomes import differences, load
from compat_tests.kafka.support.servers import KafkaServer

pytestmark = [pytest.mark.alone, pytest.mark.long]

RUN_SECONDS = 3600


@pytest.mark.timeout(RUN_SECONDS)
@pytest.mark.parametrize("suite", [franz, librdkafka], ids=lambda suite: suite.NAME)
def test_suite_has_the_expected_outcomes(suite: ModuleType, kind: str, work: Path) -> None:
    """A new failure is a difference, and so is a test that passes unexpectedly."""
    suite.build()
    expected = load(suite.NAME, kind)
    with KafkaServer(kind, work, suite.SETTINGS if kind == "ours" else {}) as server:
        outcomes = suite.outcomes(server.address, (), work / f"{suite.NAME}-{kind}.log", expected)
    assert differences(expected, outcomes) == []
