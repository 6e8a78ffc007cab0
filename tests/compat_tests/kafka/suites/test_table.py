"""The table of Kafka's own tests on the page."""

from __future__ import annotations

from compat_tests.kafka.suites.outcomes import FAILED, LEFT, PASSED, SKIPPED, Expected
from compat_tests.kafka.suites.table import PAGE, placed, text


def test_table_has_a_row_for_each_class_with_its_reasons() -> None:
    expected = {
        "ATest.one": Expected(PASSED),
        "ATest.two": Expected(SKIPPED, "several brokers"),
        "ATest.three": Expected(LEFT, "several brokers"),
        "BTest.one": Expected(FAILED, "slow"),
        "BTest.two": Expected(LEFT, "policies"),
        "CTest.one": Expected(PASSED),
    }
    assert text(expected).splitlines() == [
        "2 of 3 tests pass, of 3 classes; 3 are not run:",
        "",
        "| class | passes | fails | not run | why |",
        "| --- | --- | --- | --- | --- |",
        "| ATest | 1 | 0 | 2 | several brokers |",
        "| BTest | 0 | 1 | 1 | slow (1); policies (1) |",
        "| CTest | 1 | 0 | 0 |  |",
    ]


def test_page_has_the_recorded_outcomes() -> None:
    page = PAGE.read_text()
    assert placed(page) == page
