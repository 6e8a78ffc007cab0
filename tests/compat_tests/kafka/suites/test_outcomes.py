"""Outcomes of suites are compared with the table, and read from the output of a run."""

from __future__ import annotations

import pytest

from compat_tests.kafka.suites import franz, librdkafka
from compat_tests.kafka.suites.outcomes import (
    FAILED,
    LEFT,
    PASSED,
    SKIPPED,
    Expected,
    differences,
    load,
    recorded,
)

TABLE = {"a": Expected(PASSED), "b": Expected(SKIPPED, "SASL"), "c": Expected(LEFT, "transactions")}


def test_new_failure_and_unexpected_pass_are_differences() -> None:
    assert differences(TABLE, {"a": PASSED, "b": SKIPPED}) == []
    assert differences(TABLE, {"a": FAILED, "b": PASSED, "d": PASSED}) == [
        "a: failed, expected: passed",
        "b: passed, expected: skipped",
        "d: passed, expected: not listed",
    ]
    assert differences(TABLE, {"b": SKIPPED}) == ["a: not run, expected: passed"]


def test_record_of_a_run_keeps_reasons_of_outcomes_that_stay() -> None:
    after = recorded(TABLE, {"a": FAILED, "b": SKIPPED})
    assert after == {**TABLE, "a": Expected(FAILED)}


def test_test_that_does_not_end_has_failed_and_parts_that_pass_are_not_named() -> None:
    text = (
        "=== RUN   TestA\n=== RUN   TestA/one\n=== RUN   TestA/two\n=== RUN   TestB\n"
        "    --- SKIP: TestA/one (0.00s)\n    --- PASS: TestA/two (0.00s)\n--- PASS: TestA (0.10s)\n"
        "panic: test timed out\n"
    )
    assert franz.parse(text) == {"TestA": PASSED, "TestA/one": SKIPPED, "TestB": FAILED}


@pytest.mark.parametrize("kind", ["apache", "ours"])
@pytest.mark.parametrize("suite", [franz.NAME, librdkafka.NAME])
def test_everything_but_a_pass_has_a_reason(suite: str, kind: str) -> None:
    table = load(suite, kind)
    assert {entry.outcome for entry in table.values()} <= {PASSED, FAILED, SKIPPED, LEFT}
    assert [name for name, entry in table.items() if bool(entry.reason) == (entry.outcome == PASSED)] == []
