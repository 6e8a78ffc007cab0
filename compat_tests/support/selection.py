"""Which scenarios a run leaves out: those not asked for, and those proven before with the same sources.

Bookkeeping: no scenario depends on this module, so that a change here does not invalidate what was recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from compat_tests.support.artifacts import CURRENT, cache_folder
from compat_tests.support.order import arranged
from compat_tests.support.overlap import kind_of
from compat_tests.support.peers import KINDS, chosen_kinds
from compat_tests.support.record import (
    FAILED,
    PASSED,
    RECORD,
    Outcome,
    Record,
    digest_of,
    file_of,
    has_our_part,
    our_digest_of,
)

CORE = frozenset(
    (
        "kafka.test_commands",
        "kafka.test_crossing",
        "kafka.test_groups",
        "kafka.test_records",
        "test_examples",
        "test_go_client",
        "test_grpc_clients",
        "test_mqadmin",
        "test_pop",
        "test_pull",
        "test_push",
        "test_python_client",
        "test_retry",
        "test_send",
        "test_timers",
        "test_transactions",
    )
)
"""Files of the core: what every client does, in minutes."""

KAFKA_CLIENTS = frozenset({"java-4.4.0", "librdkafka", "kafka-python"})
"""Kafka's clients of the core; scenarios in its files that are about other clients are left to stage two."""

NO_TESTS_COLLECTED = 5


def is_core(item: pytest.Item) -> bool:
    """Return True if stage one of the test command runs a scenario. Comparisons of both servers are left to
    stage two: so nothing of Apache's runs in stage one while its record holds."""
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    is_chosen = parameters.get("client_name", "librdkafka") in KAFKA_CLIENTS
    return is_chosen and file_of(item.nodeid) in CORE and item.get_closest_marker("both_servers") is None


def is_apaches(item: pytest.Item) -> bool:
    """Return True if a scenario is about Apache's server alone, with nothing of this project beside it."""
    return kind_of(item) == "apache" and not has_our_part(file_of(item.nodeid))


class Side(NamedTuple):
    """One of the two records, and the scenarios that it is about."""

    option: str
    title: str
    path: Callable[[], Path]
    concerns: Callable[[pytest.Item], bool]
    digest: Callable[[str], str]

    def record(self) -> Record:
        """Return what was recorded."""
        return Record.load(CURRENT, self.path())

    def proven(self, config: pytest.Config, items: Sequence[pytest.Item]) -> list[pytest.Item]:
        """Return the scenarios that need not run: they passed with the digest of today."""
        if config.getoption(self.option) != "changed":
            return []
        record = self.record()
        return [
            item
            for item in items
            if self.concerns(item) and record.has_passed(item.nodeid, self.digest(file_of(item.nodeid)))
        ]

    def save(self, outcomes: dict[str, Outcome]) -> None:
        """Merge the outcomes of a run into the record."""
        record = self.record()
        files = {file_of(name) for name in (*record.outcomes, *outcomes)}
        record.merge(outcomes, {stem: self.digest(stem) for stem in files})
        record.save(self.path())


APACHE = Side("--apache", "Apache's side", lambda: RECORD, is_apaches, digest_of)
OURS = Side(
    "--ours",
    "this server",
    lambda: cache_folder() / "ours.json",
    lambda item: is_core(item) and not is_apaches(item),
    our_digest_of,
)
SIDES = (APACHE, OURS)


class Selection:
    """Selects scenarios before a run, keeps their outcomes during it, and writes them down afterwards."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._proven: list[tuple[Side, list[str]]] = []
        self._outcomes: dict[str, dict[str, Outcome]] = {side.option: {} for side in SIDES}

    def choose(self, items: list[pytest.Item], ours: Sequence[pytest.Item]) -> None:
        """Deselect, of the suite's own items, comparisons if one server is chosen, and what is proven.

        What is left is put in the order of the run.
        """
        left_out: list[pytest.Item] = []
        if chosen_kinds(self._config) != KINDS:
            left_out += [item for item in ours if item.get_closest_marker("both_servers")]
        for side in SIDES:
            proven = side.proven(self._config, [item for item in ours if item not in left_out])
            self._proven.append((side, [item.nodeid for item in proven]))
            left_out += proven
        if left_out:
            self._config.hook.pytest_deselected(items=left_out)
            items[:] = [item for item in items if item not in left_out]
        items[:] = arranged(items)

    def keep(self, item: pytest.Item, report: pytest.TestReport) -> None:
        """Keep the outcome of a scenario."""
        today = datetime.now(UTC).date().isoformat()
        for side in SIDES:
            if side.concerns(item) and (report.when == "call" or not report.passed):
                result = PASSED if report.passed else FAILED
                self._outcomes[side.option][item.nodeid] = Outcome(
                    side.digest(file_of(item.nodeid)), today, result
                )

    def kept(self) -> dict[str, Any]:
        """Return what a worker hands over to the main process, as simple values."""
        outcomes = {
            side: {name: [*one] for name, one in found.items()} for side, found in self._outcomes.items()
        }
        return {"outcomes": outcomes, "proven": [(side.option, names) for side, names in self._proven]}

    def merge(self, kept: dict[str, Any]) -> None:
        """Add what a worker handed over. All workers leave out the same scenarios."""
        for side, found in kept["outcomes"].items():
            self._outcomes[side] |= {name: Outcome(*one) for name, one in found.items()}
        by_option = {side.option: side for side in SIDES}
        self._proven = [(by_option[option], names) for option, names in kept["proven"]]

    def finish(self, session: pytest.Session) -> None:
        """Write down what came of the run; a run that has nothing left to prove is no failure."""
        if self._outcomes["--ours"]:
            OURS.save(self._outcomes["--ours"])
        if self._outcomes["--apache"] and self._config.getoption("--record-apache"):
            APACHE.save(self._outcomes["--apache"])
        if session.exitstatus == NO_TESTS_COLLECTED and any(names for _, names in self._proven):
            session.exitstatus = 0

    def lines(self) -> list[str]:
        """Return a line for each record that scenarios were taken from."""
        lines = []
        for side, names in self._proven:
            if names:
                first, last = side.record().dates(names)
                days = first if first == last else f"{first} to {last}"
                lines.append(f"{len(names)} scenarios of {side.title} as recorded on {days}")
        return lines
