"""The backup commands: output as text and as JSON, and exit codes."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from mqgateway.gateway.cli.main import main
from tests.support.engine.store.stores import message
from tests.support.engine.upkeep.backups import Place


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["store", *(str(each) for each in arguments)])


def as_json(*arguments: object) -> dict[str, Any]:
    found = json.loads(run(*arguments, "--json").stdout)
    assert isinstance(found, dict)
    return found


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    place.table("topics.json", '{"topicConfigTable":{"orders":{}}}')
    bench = place.open()
    for number in range(20):
        bench.put(message("orders", 0, b"%d" % number + b"x" * 400))
        place.clock.advance(1000)
    bench.store.stop()
    return place


@pytest.mark.parametrize("command", ["backup", "restore", "backups", "verify"])
def test_help_has_examples(command: str) -> None:
    shown = run(command, "--help")
    assert shown.exit_code == 0
    assert f"mqgateway store {command} " in shown.output
    assert f"  {command}" in run("--help").output


def test_a_store_is_kept_listed_verified_and_restored(place: Place) -> None:
    made = run("backup", place.root, place.target)
    assert made.exit_code == 0
    assert "linked        8.0 KiB in 2 files, linked to the store" in made.stdout
    name = next(place.target.iterdir()).name
    assert run("backups", place.target).stdout.startswith(f"{name}  log 0 to 1")
    assert run("verify", place.target).stdout == f"{place.target}/{name}: intact\n"
    restored = run("restore", place.target, place.restored)
    assert restored.stdout.endswith("sound\n")
    assert restored.exit_code == 0
    assert len(place.bodies(place.restored)) == 20


def test_the_same_for_programs(place: Place) -> None:
    began = place.clock.millis() - 20_000
    made = as_json("backup", place.root, place.target, "--copy")
    assert made["copied"]["files"] == 4
    assert made["linked"] == {"files": 0, "bytes": 0}
    assert as_json("backups", place.target)["backups"][0]["logEnd"] == made["logEnd"]
    assert as_json("verify", made["backup"])["damaged"] == []
    found = as_json("restore", made["backup"], place.restored, "--until-time", began + 4_000)
    assert (found["records"], found["sound"], found["lastTimestamp"]) == (5, True, began + 4_000)


def test_wrong_arguments_are_reported_and_leave_no_files(place: Place, tmp_path: Path) -> None:
    nothing = run("restore", tmp_path / "none", place.restored)
    assert (nothing.exit_code, "is not a backup" in nothing.stderr) == (2, True)
    run("backup", place.root, place.target)
    both = run("restore", place.target, place.restored, "--until-time", "1", "--until-offset", "1")
    assert (both.exit_code, "exclude each other" in both.stderr) == (2, True)
    early = run("restore", place.target, place.restored, "--until-time", "1999-01-01T00:00:00Z")
    assert (early.exit_code, "first message" in early.stderr) == (2, True)
    wrong = run("restore", place.target, place.restored, "--until-time", "yesterday")
    assert (wrong.exit_code, "is not a time" in wrong.stderr) == (2, True)
    assert not place.restored.exists()
    assert run("backup", tmp_path / "none", place.target).exit_code == 2


def test_a_changed_backup_ends_with_1(place: Place) -> None:
    run("backup", place.root, place.target, "--copy")
    kept = next(place.target.iterdir()) / "store" / "commitlog" / f"{0:020d}"
    data = kept.read_bytes()
    kept.write_bytes(data[:200] + b"?" + data[201:])
    result = run("verify", place.target)
    assert (result.exit_code, "was changed" in result.stdout) == (1, True)
