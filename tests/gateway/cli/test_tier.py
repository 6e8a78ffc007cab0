"""The commands of the tier: save, status and check, as text and as JSON, and their exit codes."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from mqgateway.engine.clock import SystemClock
from mqgateway.engine.tier.removal import ORPHAN_GRACE_MILLIS
from mqgateway.gateway.cli.main import main
from tests.support.engine.tier.saving import fill
from tests.support.engine.upkeep.backups import Place


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["tier", *(str(each) for each in arguments)])


def as_json(*arguments: object) -> dict[str, Any]:
    found = json.loads(run(*arguments, "--json").stdout)
    assert isinstance(found, dict)
    return found


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    bench = place.open()
    fill(bench, 40)
    bench.store.stop()
    return place


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"file://{tmp_path}/tier"


def save(place: Place, url: str, *more: object) -> tuple[object, ...]:
    return "save", place.root, "--to", url, "--broker-name", "broker-a", *more


@pytest.mark.parametrize("command", ["save", "status", "check"])
def test_help_has_examples(command: str) -> None:
    shown = run(command, "--help")
    assert shown.exit_code == 0
    assert f"mqgateway tier {command} " in shown.output
    assert f"  {command}" in run("--help").output


def test_log_is_saved_shown_and_checked(place: Place, url: str) -> None:
    saved = run(*save(place, url))
    assert saved.exit_code == 0
    assert "50 records in 3 ranges" in saved.stdout
    assert "10 records of the broker itself were left out" in saved.stdout
    again = run(*save(place, url))
    assert again.stdout.startswith("broker-a of DefaultCluster: nothing new, the log is saved up to ")
    status = run("status", url)
    assert status.exit_code == 0
    assert "ranges 3, epochs 1, segments 3 with " in status.stdout
    assert "kept up to 3 days" in status.stdout
    checked = run("check", url)
    assert checked.exit_code == 0
    assert checked.stdout.endswith("broker-a of DefaultCluster: intact\n")


def test_reports_for_programs(place: Place, url: str) -> None:
    saved = as_json(*save(place, url, "--cluster", "blue"))
    assert (saved["cluster"], saved["broker"], saved["epoch"], saved["ranges"]) == ("blue", "broker-a", 1, 3)
    [status] = as_json("status", url)["brokers"]
    assert (status["savedFrom"], status["savedTo"], status["segments"]) == (0, saved["savedTo"], 3)
    assert as_json(*save(place, url, "--cluster", "blue"))["epoch"] is None
    [checked] = as_json("check", url, "--indexes-only")["brokers"]
    assert (checked["sound"], checked["records"], checked["unused"]) == (True, 50, [])


def test_names_come_from_the_brokers_file(place: Place, url: str, tmp_path: Path) -> None:
    config = tmp_path / "broker.conf"
    config.write_text("brokerName=broker-z\nbrokerClusterName=green\n")
    saved = as_json("save", place.root, "--to", url, "-c", config)
    assert (saved["cluster"], saved["broker"]) == ("green", "broker-z")


def test_damage_is_exit_code_1(place: Place, url: str, tmp_path: Path) -> None:
    run(*save(place, url))
    next((tmp_path / "tier").rglob("*.seg")).unlink()
    checked = run("check", url)
    assert checked.exit_code == 1
    assert "the segment is missing" in checked.stdout
    assert as_json("check", url)["brokers"][0]["sound"] is False


def test_brokers_are_chosen_by_name(place: Place, url: str) -> None:
    run(*save(place, url))
    assert run("status", url, "--broker-name", "broker-a").exit_code == 0
    other = run("status", url, "--broker-name", "broker-b")
    assert other.exit_code == 2
    assert "there is broker-a of DefaultCluster" in other.stderr


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("status", "ftp://x"), "no object store has the URL"),
        (("status", "file:///nonexistent-folder"), "is not an object store"),
        (("save", "/nonexistent-folder", "--to", "file:///tmp/x"), "has no store"),
    ],
)
def test_failures_are_exit_code_2(arguments: tuple[str, ...], problem: str) -> None:
    failed = run(*arguments)
    assert failed.exit_code == 2
    assert problem in failed.stderr
    assert problem in json.loads(run(*arguments, "--json").stderr)["error"]


def test_gap_is_accepted_by_a_flag(place: Place, url: str) -> None:
    run(*save(place, url))
    bench = place.open()
    fill(bench, 60)
    bench.store.stop()
    for name in sorted((place.root / "commitlog").iterdir())[:4]:
        name.unlink()
    refused = run(*save(place, url))
    assert refused.exit_code == 2
    assert "were deleted before they were saved" in refused.stderr
    saved = as_json(*save(place, url, "--accept-gap"))
    assert saved["skippedBytes"] > 0
    assert len(as_json("check", url)["brokers"][0]["gaps"]) == 1


def test_orphans_are_shown_and_deleted_a_day_later(
    place: Place, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(*save(place, url))
    bench = place.open()
    fill(bench, 40)
    bench.store.stop()
    run(*save(place, url))
    folder = tmp_path / "tier/DefaultCluster/broker-a/data/0000000001"
    orphan = folder / f"{9 << 40:020d}-3-0000-{1:016x}.seg"
    orphan.write_bytes(b"of a killed writer")
    assert "1 orphans with " in run("status", url).stdout
    [status] = as_json("status", url)["brokers"]
    assert (status["orphans"], status["orphanBytes"], status["expiredSegments"]) == (1, 18, 0)
    assert as_json("check", url, "--repair")["brokers"][0]["deletedOrphans"] == 0
    assert orphan.exists()
    now = SystemClock().millis() + ORPHAN_GRACE_MILLIS
    monkeypatch.setattr(SystemClock, "millis", lambda _: now)
    assert as_json("check", url)["brokers"][0]["deletedOrphans"] == 0
    assert "1 orphans with 18 B were deleted" in run("check", url, "--repair").stdout
    assert not orphan.exists()
    assert as_json("status", url)["brokers"][0]["orphans"] == 0


def test_expired_segments_are_shown(place: Place, url: str, tmp_path: Path) -> None:
    run(*save(place, url))
    segment = next((tmp_path / "tier").rglob("*.seg"))
    index = tmp_path / "tier/DefaultCluster/broker-a/ranges/0000000001"
    (index / f"{segment.name[:20]}-0000-{1:013d}.gone").write_bytes(b"expired")
    assert "1 segments with " in run("status", url).stdout
    [checked] = as_json("check", url)["brokers"]
    assert (checked["sound"], checked["expiredSegments"]) == (True, 1)
    assert checked["expiredBytes"] == segment.stat().st_size
    segment.unlink()
    [checked] = as_json("check", url)["brokers"]
    assert (checked["sound"], checked["expiredSegments"], checked["expiredBytes"]) == (True, 1, 0)
    assert "1 segments have expired, 0 B are not deleted yet" in run("check", url).stdout
