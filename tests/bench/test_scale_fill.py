"""A store made large without a broker is one that a broker takes, and that has nothing wrong."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from bench import scale_fill
from bench.store_fill import open_store
from bench.store_loop import Loop
from mqgateway.engine.clock import SystemClock
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.real_disk import RealDisk
from mqgateway.engine.timers.timers import Timers

FILE = 1 << 20


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small one of each kind."""
    monkeypatch.setattr(scale_fill, "LOG_FILE", FILE)
    monkeypatch.setattr(scale_fill, "TIMED_MESSAGES", 50)
    folder = tmp_path / "store"
    given = ["--topics", "30", "--groups", "4", "--timers", "400", "--files", "6"]
    done = CliRunner().invoke(scale_fill.main, [str(folder), *given], catch_exceptions=False)
    assert set(json.loads(done.output)) == {
        f"{name}_seconds" for name in ("topics", "groups", "timers", "files")
    }
    return folder


def test_topics_and_a_long_log_are_there(store: Path) -> None:
    loop = Loop()
    opened = open_store(str(store), loop, mapped_file_size_commit_log=FILE)
    assert opened.was_clean and opened.max_physical_offset > 5 * FILE
    assert all(opened.max_offset(name, 0) == 1 for name in scale_fill.topic_names(30))
    assert opened.max_offset("bench-timed", 0) == scale_fill.TICK_EVERY
    loop.stop()
    opened.stop()
    files = sorted((store / "commitlog").iterdir())
    assert len(files) == 6 and all(file.stat().st_size == FILE for file in files)
    offsets = json.loads((store / "config" / "consumerOffset.json").read_text())["offsetTable"]
    assert len(offsets) == 4 * scale_fill.GROUP_TOPICS


def test_all_timers_wait(store: Path) -> None:
    loop = Loop()
    options = StoreOptions(store_path_root_dir=str(store), mapped_file_size_commit_log=FILE)
    opened = open_store(str(store), loop, mapped_file_size_commit_log=FILE)
    timers = Timers(opened, options, RealDisk(), SystemClock(), loop.worker())
    timers.load()
    assert timers.pending == 400 and timers.enqueue.behind == 0
    assert timers.metrics.counts() == {"bench-timed": 400}
    loop.stop()
    opened.stop()
    timers.close()
