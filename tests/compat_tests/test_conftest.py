"""The suite leaves out what the record has, and writes down what came of a run, of however few scenarios."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from compat_tests import conftest
from compat_tests.support import selection
from compat_tests.support.artifacts import CURRENT
from compat_tests.support.record import FAILED, PASSED, Outcome, Record, digest_of
from compat_tests.support.selection import APACHE, NO_TESTS_COLLECTED, OURS, Selection
from compat_tests.support.workers import Workers

SEND = Path(conftest.__file__).with_name("test_send.py")
MEMBER = SEND.with_name("test_python_client.py")


USUAL = {"--apache": "changed", "--ours": "all", "--server": "both", "--record-apache": True}


class Config:
    """Options, and what the suite keeps beside them."""

    def __init__(self, **options: Any) -> None:
        self._options = {**USUAL, **options}
        self.stash = pytest.Stash()
        self.stash[conftest.SELECTION] = Selection(self)  # type: ignore[arg-type]
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
    """The record of Apache's side; that of this server is in the cache, which is a folder of the test too."""
    monkeypatch.setenv("MQGATEWAY_CACHE", str(tmp_path))
    path = tmp_path / "apache.json"
    monkeypatch.setattr("compat_tests.support.selection.RECORD", path)
    return path


def reported(item: Any, *phases: tuple[str, str]) -> None:
    for when, outcome in phases:
        report = SimpleNamespace(when=when, passed=outcome == "passed", outcome=outcome)
        hook = conftest.pytest_runtest_makereport(item, None)  # type: ignore[arg-type]
        next(hook)
        with pytest.raises(StopIteration) as ended:
            hook.send(report)  # type: ignore[attr-defined]
        assert ended.value.value is report


def finish(config: Config, exitstatus: int = 0) -> int:
    session = SimpleNamespace(config=config, exitstatus=exitstatus)
    Workers(config, config.stash[conftest.SELECTION]).pytest_sessionfinish(session)  # type: ignore[arg-type]
    return session.exitstatus


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
    reported(good, *every)
    reported(bad, ("setup", "passed"), ("call", "passed"), ("teardown", "failed"))
    for item in (ours, beside):
        reported(item, *every)
    finish(config)
    result = APACHE.record().outcomes
    assert set(OURS.record().outcomes) == {ours.nodeid, beside.nodeid}
    assert {name: one.result for name, one in result.items()} == {good.nodeid: PASSED, bad.nodeid: FAILED}

    again = Config()
    items = [scenario(again, "apache"), scenario(again, "apache", name="test_two"), scenario(again, "ours")]
    conftest.pytest_collection_modifyitems(again, items)  # type: ignore[arg-type]
    assert [item.nodeid for item in again.left_out] == [good.nodeid]
    lines: list[str] = []
    conftest.pytest_terminal_summary(SimpleNamespace(write_line=lines.append), again)  # type: ignore[arg-type]
    assert lines == [f"1 scenarios of Apache's side as recorded on {result[good.nodeid].date}"]


def test_all_can_be_run_all_the_same(place: Path) -> None:
    config = Config(**{"--apache": "all", "--record-apache": False})
    items = [scenario(config, "apache")]
    Record(CURRENT, {items[0].nodeid: Outcome(digest_of("test_send"), "2026-11-22", PASSED)}).save(place)
    before = place.read_text()
    conftest.pytest_collection_modifyitems(config, items)  # type: ignore[arg-type]
    reported(items[0], ("call", "failed"))
    finish(config)
    assert len(items) == 1 and not config.left_out and place.read_text() == before


def test_scenarios_of_this_server_run_once_for_each_state_of_the_sources(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = Config(**{"--ours": "changed"})
    good, bad = items = [scenario(config, "ours"), scenario(config, "ours", name="test_two")]
    conftest.pytest_collection_modifyitems(config, items)  # type: ignore[arg-type]
    reported(good, ("setup", "passed"), ("call", "passed"), ("teardown", "passed"))
    reported(bad, ("setup", "passed"), ("call", "failed"), ("teardown", "passed"))
    finish(config)
    assert not place.exists(), "Apache's record is about other scenarios"

    def left_out(**options: str) -> list[str]:
        again = Config(**options)
        chosen = [
            scenario(again, "ours"),
            scenario(again, "ours", name="test_two"),
            scenario(again, "apache"),
        ]
        conftest.pytest_collection_modifyitems(again, chosen)  # type: ignore[arg-type]
        return [item.nodeid for item in again.left_out]

    assert left_out(**{"--ours": "changed"}) == [good.nodeid]
    assert left_out() == [], "only when asked for"
    etcd = scenario(config, "ours", SEND.with_name("test_etcd.py"))
    assert not OURS.concerns(etcd), "scenarios outside of the core may read files that no digest covers"
    monkeypatch.setattr("compat_tests.support.record.product_digest", lambda *_: "another product")
    assert left_out(**{"--ours": "changed"}) == []


def test_run_with_nothing_left_to_prove_passes(place: Path) -> None:
    config = Config(**{"--ours": "changed"})
    items = [scenario(config, "ours")]
    conftest.pytest_collection_modifyitems(config, items)  # type: ignore[arg-type]
    reported(items[0], ("call", "passed"))
    assert finish(config, NO_TESTS_COLLECTED) == NO_TESTS_COLLECTED, "nothing was proven before"
    again = Config(**{"--ours": "changed"})
    conftest.pytest_collection_modifyitems(again, items)  # type: ignore[arg-type]
    assert not items and finish(again, NO_TESTS_COLLECTED) == 0
    assert finish(again, 1) == 1


def test_comparisons_are_left_out_when_one_server_is_chosen(place: Path) -> None:
    config = Config(**{"--server": "ours"})
    items = [scenario(config, "ours"), scenario(config, "ours", name="test_two")]
    items[1].get_closest_marker = lambda name: name in ("timeout", "both_servers") or None
    conftest.pytest_collection_modifyitems(config, items)  # type: ignore[arg-type]
    assert [item.nodeid for item in config.left_out] == ["compat_tests/test_send.py::test_two[ours]"]


@pytest.mark.parametrize(("path", "is_core"), [(SEND, True), (SEND.with_name("test_etcd.py"), False)])
def test_core_is_set_by_file(path: Path, is_core: bool) -> None:
    item = scenario(Config(), "ours", path)
    assert selection.is_core(item) == is_core
    item.get_closest_marker = lambda name: name == "both_servers" or None
    assert not selection.is_core(item), "a comparison belongs to stage two"
