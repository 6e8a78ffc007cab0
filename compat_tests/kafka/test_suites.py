"""The test suites of Kafka, franz-go and librdkafka, unmodified: each test does what the table says.

Which tests are left out on which server, and why, is in `suites/expected`.
"""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from compat_tests.kafka.suites import franz, kafka, librdkafka
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


@pytest.mark.timeout(RUN_SECONDS)
def test_tests_of_kafka_have_the_expected_outcomes(work: Path) -> None:
    """They start servers of this project; Kafka's project runs them on its own."""
    kafka.build()
    expected = load(kafka.NAME, "ours")
    outcomes = kafka.outcomes("", (), work / "kafka-ours.log", expected)
    assert differences(expected, outcomes) == []
