"""Log files: the file of each logger, rolling, and the state after a full disk or a kill."""

import gzip
import logging
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import pytest

from mqgateway.gateway.cli import log_files
from mqgateway.gateway.cli.log_files import (
    BROKER_FILES,
    FILES,
    REST,
    LogFile,
    LogFolder,
    RolledFile,
    files_of,
    pack,
)
from tests.house.source import ROOT, source_files

SMALL = LogFile("broker", (REST,), 2, 100)


class AtOnce(Executor):
    """An executor that runs work immediately."""

    def submit(self, work: Any, /, *given: Any, **named: Any) -> Future[Any]:
        work(*given, **named)
        return Future()


class Never(Executor):
    """An executor that never runs its work, like a process that is killed first."""

    def submit(self, work: Any, /, *given: Any, **named: Any) -> Future[Any]:
        return Future()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[LogFolder]:
    made = LogFolder(str(tmp_path), files_of(["broker", "namesrv"]), logging.Formatter)
    yield made
    made.close()


def record(logger: str, text: str, level: int = logging.INFO) -> logging.LogRecord:
    return logging.LogRecord(logger, level, __file__, 1, text, None, None)


def lines(folder: Path) -> dict[str, list[str]]:
    return {
        path.name: [line.rpartition(" - ")[2] for line in path.read_text().splitlines()]
        for path in folder.glob("*.log")
    }


def test_each_line_goes_to_the_file_of_its_logger(folder: LogFolder, tmp_path: Path) -> None:
    for logger in (
        "mqgateway.gateway.broker.service",
        "mqgateway.gateway.broker.transactions.ends",
        "mqgateway.engine.store.flush",
        "mqgateway.gateway.namesrv.routes",
        "mqgateway.audit",
        "mqgateway.audit.administration",
        "mqgateway.stats",
        "mqgateway.statsother",
        "twisted",
    ):
        folder.handle(record(logger, logger))
    folder.handle(record("mqgateway.engine.store.flush", "lost", logging.ERROR))
    assert lines(tmp_path) == {
        "broker.log": ["mqgateway.gateway.broker.service"],
        "transaction.log": ["mqgateway.gateway.broker.transactions.ends"],
        "store.log": ["mqgateway.engine.store.flush", "lost"],
        "storeerror.log": ["lost"],
        "namesrv.log": ["mqgateway.gateway.namesrv.routes"],
        "auth_audit.log": ["mqgateway.audit", "mqgateway.audit.administration"],
        "stats.log": ["mqgateway.stats"],
        "broker_default.log": ["mqgateway.statsother", "twisted"],
    }


def test_lines_have_the_format_of_rocketmq(folder: LogFolder, tmp_path: Path) -> None:
    from mqgateway.gateway.cli.log_files import BARE, SECONDS, WITH_LEVEL, WITH_LOGGER

    said = [
        logging.Formatter(text, SECONDS).format(record("a.b", "it is"))
        for text in (WITH_LOGGER, WITH_LEVEL, BARE)
    ]
    assert [line[19:] for line in said] == [" INFO a.b - it is", " INFO - it is", " - it is"]
    assert all(line[4] == "-" and line[10] == " " and line[16] == ":" for line in said)


def test_every_logger_that_has_a_file_is_there() -> None:
    """A renamed module would leave a file that no logger writes to."""
    modules = {"mqgateway." + ".".join(path.with_suffix("").parts) for path in source_files()}
    own = {"mqgateway.audit", "mqgateway.metrics", "mqgateway.stats"}
    for file in (file for table in FILES.values() for file in table):
        for name in file.loggers:
            below = [module for module in modules if f"{module}.".startswith(f"{name}.")]
            assert (
                name in own
                or name == REST
                or any(
                    "log = logging.getLogger("
                    in (ROOT / (module.removeprefix("mqgateway.").replace(".", "/") + ".py")).read_text()
                    for module in below
                    if not (ROOT / module.removeprefix("mqgateway.").replace(".", "/")).is_dir()
                )
            ), (file.name, name)


def test_one_file_has_the_rest() -> None:
    for servers in (["broker"], ["namesrv"], ["controller"], ["broker", "namesrv", "controller"]):
        files = files_of(servers)
        assert [file.name for file in files if REST in file.loggers] == [f"{servers[0]}_default"]
        assert len({file.name for file in files}) == len(files)
    assert BROKER_FILES[0].loggers == (REST,)


def test_a_full_file_is_compressed_and_the_oldest_dropped(tmp_path: Path) -> None:
    file = RolledFile(str(tmp_path), SMALL, AtOnce())
    for number in range(9):
        file.handle(record("x", f"{number} " + "x" * 70))
    file.close()
    assert (tmp_path / "broker.log").read_text().startswith("8 ")
    old = {path.name: gzip.decompress(path.read_bytes())[:2] for path in (tmp_path / "otherdays").iterdir()}
    assert old == {"broker.1.log.gz": b"7 ", "broker.2.log.gz": b"6 "}


def test_next_process_compresses_files_left_by_a_kill(tmp_path: Path) -> None:
    killed = RolledFile(str(tmp_path), SMALL, Never())
    for number in range(3):
        killed.handle(record("x", f"{number} " + "x" * 70))
    killed.close()
    assert len(list((tmp_path / "otherdays").glob("*.rolling"))) == 2
    RolledFile(str(tmp_path), SMALL, AtOnce()).finish_earlier()
    old = {path.name: gzip.decompress(path.read_bytes())[:2] for path in (tmp_path / "otherdays").iterdir()}
    assert old == {"broker.1.log.gz": b"1 ", "broker.2.log.gz": b"0 "}


def test_a_disk_that_takes_nothing_loses_no_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    full = tmp_path / "broker.1.0.rolling"
    full.write_text("kept")

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(log_files.shutil, "copyfileobj", refuse)
    pack(str(full), str(tmp_path / "broker"), 2)
    assert [path.name for path in tmp_path.iterdir()] == ["broker.1.0.rolling"]
    assert "cannot be compressed: [Errno 28]" in caplog.text


def test_full_file_that_cannot_be_moved_is_appended_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "otherdays").write_text("no folder")
    file = RolledFile(str(tmp_path), SMALL, AtOnce())
    for number in range(3):
        file.handle(record("x", f"{number} " + "x" * 70))
    file.close()
    assert len((tmp_path / "broker.log").read_text().splitlines()) == 3


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        LogFolder(str(tmp_path / "file" / "logs"), files_of(["broker"]), logging.Formatter)
