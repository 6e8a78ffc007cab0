"""Parts of a run with several workers, and what workers hand over to the main process."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from compat_tests.kafka.support.clients import CLIENTS
from compat_tests.support.artifacts import CURRENT
from compat_tests.support.record import PASSED, Outcome
from compat_tests.support.selection import APACHE, Selection
from compat_tests.support.workers import LINES, OTHERS, SELECTION, Workers, part_of

KAFKA = "compat_tests/kafka"


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("compat_tests/test_send.py::test_sync_send[ours-5.5.0]", OTHERS),
        ("compat_tests/test_query.py::test_without_parameters", OTHERS),
        ("compat_tests/test_examples.py::test_request_and_reply[ours]", "test_examples"),
        (f"{KAFKA}/test_groups.py::test_static[kafka-python-ours]", "kafka-python"),
        (f"{KAFKA}/test_records.py::test_headers[kafka-python-ours]", "kafka-python"),
        (f"{KAFKA}/test_groups.py::test_shares[java-4.4.0-ours-range]", "java-4.4.0"),
        (f"{KAFKA}/test_commands.py::test_topics[ours]", "kafka.test_commands"),
    ],
)
def test_part_of_a_scenario_is_its_kafka_client_or_file(name: str, part: str) -> None:
    assert part_of(name) == part


def test_no_name_of_a_client_is_part_of_another() -> None:
    assert not [(one, other) for one in CLIENTS for other in CLIENTS if one != other and one in other]


class Config:
    """Options of a run, with or without a terminal."""

    def __init__(self, terminal: Any = None) -> None:
        self.pluginmanager = SimpleNamespace(get_plugin=lambda name: terminal)

    def getoption(self, name: str) -> bool:
        return True


def workers(config: Any) -> Workers:
    return Workers(config, Selection(config))


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The record of Apache's side in a folder of the test."""
    monkeypatch.setenv("MQGATEWAY_CACHE", str(tmp_path))
    monkeypatch.setattr("compat_tests.support.selection.RECORD", tmp_path / "apache.json")
    return tmp_path / "apache.json"


def test_main_process_records_and_reports_what_workers_hand_over(record: Path) -> None:
    names = ["compat_tests/test_send.py::test_one[apache]", "compat_tests/test_send.py::test_two[apache]"]
    lines: list[str] = []
    main = workers(Config(SimpleNamespace(write_line=lines.append)))
    for name in names:
        config: Any = Config()
        config.workeroutput = {}
        worker = workers(config)
        outcome = Outcome(APACHE.digest("test_send"), "2026-11-29", PASSED)
        kept = {"outcomes": {"--apache": {name: [*outcome]}, "--ours": {}}, "proven": []}
        worker._selection.merge(kept)
        worker.report("official clients run in: Docker")
        worker.pytest_sessionfinish(SimpleNamespace(config=config))  # type: ignore[arg-type]
        assert not record.exists(), "a worker writes no record"
        # Only simple values pass between processes.
        output = json.loads(json.dumps(config.workeroutput))
        assert set(output) == {SELECTION, LINES}
        main.pytest_testnodedown(SimpleNamespace(workeroutput=output), None)
    main.pytest_sessionfinish(SimpleNamespace(exitstatus=0))  # type: ignore[arg-type]
    assert sorted(APACHE.record().outcomes) == names
    assert APACHE.record().version == CURRENT
    assert lines == ["official clients run in: Docker"] * 2


def test_worker_that_was_killed_hands_nothing_over(record: Path) -> None:
    main = workers(Config(SimpleNamespace(write_line=print)))
    main.pytest_testnodedown(SimpleNamespace(), "killed")
    main.pytest_sessionfinish(SimpleNamespace(exitstatus=1))  # type: ignore[arg-type]
    assert not record.exists()
