"""Commands of Apache's servers: they start from an archive of their classes, except in benchmarks."""

from __future__ import annotations

from pathlib import Path

import pytest

from compat_tests.support import servers
from compat_tests.support.artifacts import CURRENT, OLD_SERVER
from compat_tests.support.servers import HOST, Part, apache_broker, apache_namesrv, class_data


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Return the list of archives made, in a cache of their own. Java is replaced."""
    archives: list[Path] = []

    def write(folder: Path, archive: Path) -> None:
        (folder / "left over").touch()
        archive.touch()
        archives.append(archive)

    monkeypatch.setattr(servers, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(servers, "class_path", lambda name, version: f"{name}-{version}/*")
    monkeypatch.setattr(servers, "_java", lambda: "17")
    monkeypatch.setattr(servers, "_write_class_data", write)
    return archives


def command(part: Part) -> list[str]:
    return part._command


def test_the_archive_is_made_once(made: list[Path]) -> None:
    option = class_data()
    assert class_data() == option
    [archive] = made
    assert option == (f"-XX:SharedArchiveFile={archive}",)
    assert [one.name for one in archive.parent.iterdir()] == [archive.name], "nothing is left over"


def test_only_unmeasured_servers_of_today_have_it(made: list[Path], tmp_path: Path) -> None:
    namesrv = f"{HOST}:9876"
    with_it = [
        apache_namesrv(tmp_path / "n", 9876),
        apache_broker(tmp_path / "b", 10911, namesrv, {}, version=CURRENT),
    ]
    without = [
        apache_namesrv(tmp_path / "pn", 9876, production=True),
        apache_broker(tmp_path / "pb", 10911, namesrv, {}, production=True),
        apache_broker(tmp_path / "ob", 10911, namesrv, {}, version=OLD_SERVER),
    ]
    assert all(class_data()[0] in command(part) for part in with_it)
    assert not any("SharedArchiveFile" in word for part in without for word in command(part))
