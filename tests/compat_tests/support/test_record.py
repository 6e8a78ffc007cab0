"""The record of scenarios that need not be run again on Apache's server."""

from __future__ import annotations

from pathlib import Path

import pytest

from compat_tests.support import record
from compat_tests.support.artifacts import CURRENT
from compat_tests.support.record import (
    FAILED,
    PASSED,
    Outcome,
    Record,
    code_of,
    digest_of,
    file_of,
    has_our_part,
    helpers,
    imports,
)

ONE, TWO = "suite/test_a.py::test_one[apache-5.5.0]", "suite/test_b.py::test_two[apache]"


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """Return the folder of a suite of two files; each imports in another way."""
    folder = tmp_path / "suite"
    for name, text in {
        "conftest.py": "from suite.support.servers import Server",
        "support/__init__.py": "",
        "support/servers.py": "import os\nfrom gateway.codec import codes",
        "support/artifacts.py": "",
        "test_a.py": "from suite.support import artifacts",
        "test_b.py": "from suite.support.member import run\nfrom suite.support.record import Record",
        "support/member.py": "from mqgateway.gateway.client import Producer",
        "support/record.py": "",
        "support/java/driver/Driver.java": "class Driver {}",
        "support/java/bench/Load.java": "class Load {}",
        "support/java/driver/__pycache__/lines.pyc": "",
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def change(path: Path, added: str = "\nnew = 1\n") -> None:
    path.write_text(path.read_text() + added)
    record._text.cache_clear()


def test_helpers_are_found_through_their_imports(suite: Path) -> None:
    assert helpers("test_a", suite) == {
        "test_a",
        "support",
        "support.artifacts",
        "conftest",
        "support.servers",
    }
    assert helpers("test_b", suite) == {"test_b", "support.member", "conftest", "support.servers"}


@pytest.mark.parametrize(
    ("path", "changes"),
    [
        ("test_a.py", "a"),
        ("conftest.py", "ab"),
        ("support/servers.py", "ab"),
        ("support/member.py", "b"),
        ("support/java/driver/Driver.java", "a"),
        ("support/java/bench/Load.java", ""),
        ("support/java/driver/__pycache__/lines.pyc", ""),
        ("support/record.py", ""),
    ],
)
def test_digest_covers_the_imports_of_a_scenario(suite: Path, path: str, changes: str) -> None:
    before = {one: digest_of(f"test_{one}", suite) for one in "ab"}
    change(suite / path)
    assert "".join(one for one in "ab" if digest_of(f"test_{one}", suite) != before[one]) == changes


def test_rewording_keeps_the_digest(suite: Path) -> None:
    before = digest_of("test_a", suite)
    change(suite / "test_a.py", "  # A reason.\n\n")
    assert digest_of("test_a", suite) == before
    change(suite / "test_a.py", "text = 'A reason.'\n")
    assert digest_of("test_a", suite) != before


def test_code_is_what_is_left_without_prose() -> None:
    source = '''"""A module."""

LIMIT = 3  # bytes
"""A limit,
of bytes."""


class A:
    """A class."""

    # Why.
    text = """# kept
    """

    def run(self) -> str:
        """Run."""
        return "a # b"  # Why.
'''
    assert code_of(source).splitlines() == [
        "LIMIT = 3",
        "class A:",
        '    text = """# kept',
        '    """',
        "    def run(self) -> str:",
        '        return "a # b"',
    ]


def test_our_client_beside_apaches_server_always_runs(suite: Path) -> None:
    """The client is tested there, and a change of it must be seen; codes and layouts are no client."""
    assert has_our_part("test_b", suite) and not has_our_part("test_a", suite)
    (suite / "test_a.py").write_text("from mqgateway import Producer")
    imports.cache_clear()
    assert has_our_part("test_a", suite), "by its public name"
    assert has_our_part("test_python_client") and has_our_part("test_spark_static")
    assert not has_our_part("test_send") and not has_our_part("test_go_client")


def test_a_scenario_has_passed_with_its_text_only(tmp_path: Path) -> None:
    path = tmp_path / "apache.json"
    known = Record(
        "5.5.0", {ONE: Outcome("d1", "2026-11-22", PASSED), TWO: Outcome("d2", "2026-11-23", FAILED)}
    )
    known.save(path)
    again = Record.load("5.5.0", path)
    assert again.outcomes == known.outcomes and [one.name for one in tmp_path.iterdir()] == ["apache.json"]
    assert again.has_passed(ONE, "d1") and not again.has_passed(ONE, "d9")
    assert not again.has_passed(TWO, "d2") and not again.has_passed("another", "d1")
    assert again.dates([ONE, TWO]) == ("2026-11-22", "2026-11-23")
    assert Record.load("5.6.0", path).outcomes == {}
    assert Record.load("5.5.0", tmp_path / "none").outcomes == {}


def test_a_run_of_some_scenarios_leaves_the_others() -> None:
    """Scenarios whose file has changed or is gone are dropped: their outcomes are stale."""
    other = "suite/test_a.py::test_other[apache]"
    known = Record(
        "5.5.0",
        {
            ONE: Outcome("old", "2026-11-01", PASSED),
            other: Outcome("a2", "2026-11-02", PASSED),
            TWO: Outcome("b1", "2026-11-03", PASSED),
            "suite/test_gone.py::test[apache]": Outcome("c", "2026-11-03", PASSED),
        },
    )
    known.merge({TWO: Outcome("b1", "2026-11-22", FAILED)}, {"test_a": "a2", "test_b": "b1"})
    assert known.outcomes == {
        other: Outcome("a2", "2026-11-02", PASSED),
        TWO: Outcome("b1", "2026-11-22", FAILED),
    }


def test_record_is_of_the_current_suite() -> None:
    """A change of a scenario or its helpers needs a new record of Apache's side (docs/compatibility.md).

    Without it every run of the suite has to prove it again, and the test command takes many minutes longer.
    """
    files = {file_of(name): one.digest for name, one in Record.load(CURRENT).outcomes.items()}
    assert files, "nothing is recorded"
    assert {stem: digest_of(stem) for stem in files} == files
