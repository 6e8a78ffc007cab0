"""The suite leaves out what the record has, and writes down what came of a run, of however few scenarios."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from compat_tests import conftest
from compat_tests.support.artifacts import CURRENT
from compat_tests.support.record import FAILED, PASSED, Outcome, Record, digest_of

SEND = Path(conftest.__file__).with_name("test_send.py")
MEMBER = SEND.with_name("test_python_client.py")


class Config:
    """Options, and what the suite keeps beside them."""

    def __init__(self, **options: Any) -> None:
        self._options = {"--apache": "changed", "--server": "both", "--record-apache": True, **options}
        self.stash = pytest.Stash()
        self.left_out: list[Any] = []
        self.hook = SimpleNamespace(pytest_deselected=lambda items: self.left_out.extend(items))

    def getoption(self, name: str) -> Any:
        return self._options[name]


def scenario(config: Config, kind: str, path: Path = SEND, name: str = "test_one") -> Any:
    return SimpleNamespace(
        config=config,
        path=path,
        nodeid=f"compat_tests/{path.name}::{name}[{kind}]",
        callspec=SimpleNamespace(params={"kind": kind}),
        get_closest_marker=lambda name: name == "timeout" or None,
    )


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the record is."""
    path = tmp_path / "apache.json"
    load, save = Record.load, Record.save
    monkeypatch.setattr(Record, "load", lambda version: load(version, path))
    monkeypatch.setattr(Record, "save", lambda self: save(self, path))
    return path


def reported(item: Any, *phases: tuple[str, str]) -> None:
    for when, outcome in phases:
        report = SimpleNamespace(when=when, passed=outcome == "passed", outcome=outcome)
        hook = conftest.pytest_runtest_makereport(item, None)  # type: ignore[arg-type]
        next(hook)
        with pytest.raises(StopIteration) as ended:
            hook.send(report)  # type: ignore[attr-defined]
        assert ended.value.value is report


def finish(config: Config) -> None:
    conftest.pytest_sessionfinish(SimpleNamespace(config=config))  # type: ignore[arg-type]


def test_a_run_is_written_down_and_left_out_by_the_next(place: Path) -> None:
    config = Config()
    good, bad, ours, beside = items = [
        scenario(config, "apache"),
        scenario(config, "apache", name="test_two"),
        scenario(config, "ours"),
        scenario(config, "apache", MEMBER),
    ]
    conftest.pytest_collection_modifyitems(config, items)  # type: ignore[arg-type]
    assert len(items) == 4 and not config.left_out
    every = [("setup", "passed"), ("call", "passed"), ("teardown", "passed")]
    # The second time is a rerun of what failed at first.
    reported(good, ("setup", "passed"), ("call", "failed"), ("teardown", "passed"), *every)
    reported(bad, ("setup", "passed"), ("call", "passed"), ("teardown", "failed"))
    for item in (ours, beside):
        reported(item, *every)
    finish(config)
    told = Record.load(CURRENT).outcomes
    assert {name: one.result for name, one in told.items()} == {good.nodeid: PASSED, bad.nodeid: FAILED}

    again = Config()
    items = [scenario(again, "apache"), scenario(again, "apache", name="test_two"), scenario(again, "ours")]
    conftest.pytest_collection_modifyitems(again, items)  # type: ignore[arg-type]
    assert [item.nodeid for item in again.left_out] == [good.nodeid]
    lines: list[str] = []
    conftest.pytest_terminal_summary(SimpleNamespace(write_line=lines.append), again)  # type: ignore[arg-type]
    assert lines == [f"1 scenarios of Apache's side as recorded on {told[good.nodeid].date}"]


def test_all_can_be_run_all_the_same(place: Path) -> None:
    config = Config(**{"--apache": "all", "--record-apache": False})
    items = [scenario(config, "apache")]
    Record(CURRENT, {items[0].nodeid: Outcome(digest_of("test_send"), "2026-11-22", PASSED)}).save()
    before = place.read_text()
    conftest.pytest_collection_modifyitems(config, items)  # type: ignore[arg-type]
    reported(items[0], ("call", "failed"))
    finish(config)
    assert len(items) == 1 and not config.left_out and place.read_text() == before
