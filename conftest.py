"""Hooks for all tests: in continuous integration (`CI=true`) no skipped test counts as passed.

A failure because of a program's exit code is reported with what the program wrote to stderr.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Generator
from typing import Any

import pytest

RERUN_LINES = 40
"""Number of lines shown of a failure if the rerun passed."""


def _refuse_skip(report: Any, what: str) -> None:
    if report.skipped and os.environ.get("CI") == "true":
        report.outcome = "failed"
        report.longrepr = f"{what} was skipped, which CI=true does not allow: {report.longrepr}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Turn a skip, or an expected failure, into a failure; add what a failed program wrote to stderr."""
    report = yield
    _refuse_skip(report, item.nodeid)
    failure = call.excinfo.value if call.excinfo is not None else None
    if isinstance(failure, (subprocess.CalledProcessError, subprocess.TimeoutExpired)) and failure.stderr:
        report.sections.append(("stderr of the program", _text(failure.stderr)))
    return report


def _text(output: bytes | str) -> str:
    return output if isinstance(output, str) else output.decode(errors="replace")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Show why tests were run again: nothing else does for a test that passed in the end."""
    for report in terminalreporter.getreports("rerun"):
        terminalreporter.write_sep("-", f"{report.nodeid} was run again, after this")
        terminalreporter.write_line("\n".join(report.longreprtext.splitlines()[-RERUN_LINES:]))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, Any]:
    """Turn the skip of a whole module at import into a failure."""
    report = yield
    _refuse_skip(report, collector.nodeid)
    return report
