"""Outcomes of Kafka's own tests are read from a report of JUnit."""

from __future__ import annotations

from compat_tests.kafka.suites.kafka import parse
from compat_tests.kafka.suites.outcomes import FAILED, PASSED, SKIPPED

REPORT = """<testsuite>
<testcase name="testSeek()[1]" classname="org.apache.kafka.PollTest"/>
<testcase name="testTypes(Type)[1]" classname="org.apache.kafka.PollTest"/>
<testcase name="testTypes(Type)[2]" classname="org.apache.kafka.PollTest"><skipped/></testcase>
<testcase name="testTypes(Type)[3]" classname="org.apache.kafka.PollTest"><failure>x</failure></testcase>
<testcase name="testBoth()[1]" classname="org.apache.kafka.PollTest"><skipped/></testcase>
<testcase name="testBoth()[2]" classname="org.apache.kafka.PollTest"/>
<testcase name="testInside()[1]" classname="org.apache.kafka.PollTest"><skipped/></testcase>
<testcase name="testBroken()[1]" classname="org.apache.kafka.PollTest"><error>x</error></testcase>
</testsuite>"""


def test_method_passes_if_a_run_passed_and_none_failed() -> None:
    assert parse(REPORT) == {
        "PollTest.testSeek": PASSED,
        "PollTest.testTypes": FAILED,
        "PollTest.testBoth": PASSED,
        "PollTest.testInside": SKIPPED,
        "PollTest.testBroken": FAILED,
    }
