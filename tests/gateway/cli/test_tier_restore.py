"""The command that restores a store from its tier: report, JSON, refusals and exit codes."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from mqgateway.engine.real_disk import RealDisk
from mqgateway.engine.tier.restoring import TierRestoreReport
from mqgateway.gateway.broker.older_messages import is_noted
from mqgateway.gateway.cli.main import main
from mqgateway.gateway.cli.tier_restore import restored_as_json, restored_as_text
from tests.support.engine.tier.saving import fill
from tests.support.engine.upkeep.backups import Place


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["tier", *(str(each) for each in arguments)])


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    place.table("topics.json", '{"topicConfigTable":{"orders":{},"pay":{}}}')
    place.table("consumerOffset.json", '{"offsetTable":{"orders@readers":{0:7,1:900}}}')
    bench = place.open()
    fill(bench, 40)
    bench.store.stop()
    return place


@pytest.fixture
def url(place: Place, tmp_path: Path) -> str:
    found = f"file://{tmp_path}/tier"
    saved = run("save", place.root, "--to", found, "--broker-name", "broker-a")
    assert f"the tables of {place.root} were saved" in saved.stdout
    return found


def restored(url: str, place: Place, *more: object) -> Any:
    return json.loads(run("restore", url, place.restored, "--take-over", "--json", *more).stdout)


def test_help_has_examples() -> None:
    shown = run("restore", "--help")
    assert shown.exit_code == 0
    assert "mqgateway tier restore " in shown.output
    assert "  restore" in run("--help").output


def test_store_is_restored_and_reported(place: Place, url: str) -> None:
    done = run("restore", url, place.restored, "--take-over")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith(f"{place.restored}: 50 records of DefaultCluster/broker-a, ")
    assert "not restored: messages that were stored later, if there were any" in done.stdout
    assert "not restored: 10 records of the broker itself, LMQ queues and compacted topics" in done.stdout
    assert "topics, groups, offsets and settings are those of " in done.stdout
    assert "1 consumer offsets were moved back" in done.stdout
    assert done.stdout.splitlines()[-1] == "sound"
    assert place.bodies(place.restored) == place.bodies(place.root)


def test_report_for_programs(place: Place, url: str) -> None:
    found = restored(url, place)
    assert (found["records"], found["notSaved"], found["queues"], found["sound"]) == (50, 10, 3, True)
    assert found["lazy"] is False
    assert (found["epoch"], found["movedBack"], found["damaged"], found["gaps"]) == (2, 1, [], [])
    assert found["logEnd"] > found["logStart"] == 0
    assert found["tablesTimestamp"] > 0


def test_lazy_store_keeps_messages_in_the_tier(place: Place, url: str) -> None:
    done = run("restore", url, place.restored, "--take-over", "--lazy")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith(f"{place.restored}: 50 records stay in DefaultCluster/broker-a, ")
    assert "start the broker with tieredStorePath. Apache's broker does not have them" in done.stdout
    assert "Kafka" not in done.stdout
    assert done.stdout.splitlines()[-1] == "sound"
    assert place.bodies(place.restored) == []
    assert is_noted(RealDisk(), str(place.restored), url)
    assert len(list((place.restored / "commitlog").iterdir())) == 1


def test_lazy_form_is_in_the_report_for_programs(place: Place, url: str) -> None:
    found = restored(url, place, "--lazy")
    assert (found["lazy"], found["records"], found["logStart"] > 0) == (True, 50, True)
    other = json.loads(run("status", url, "--json").stdout)["brokers"][0]
    assert other["savedTo"] == found["logEnd"]


def test_saving_again_saves_what_is_new_only(place: Place, url: str) -> None:
    end = restored(url, place, "--no-check")["logEnd"]
    again = run("save", place.restored, "--to", url, "--broker-name", "broker-a")
    assert again.stdout.startswith(f"broker-a of DefaultCluster: nothing new, the log is saved up to {end}")
    checked = run("check", url)
    assert checked.exit_code == 0, checked.output


def test_broker_that_may_run_is_exit_code_2(place: Place, url: str) -> None:
    refused = run("restore", url, place.restored)
    assert refused.exit_code == 2
    assert "may be running: stop it" in refused.stderr
    assert "may be running" in json.loads(run("restore", url, place.restored, "--json").stderr)["error"]
    assert not place.restored.exists()


def test_folder_that_is_not_empty_is_exit_code_2(place: Place, url: str) -> None:
    refused = run("restore", url, place.root, "--take-over")
    assert refused.exit_code == 2
    assert f"{place.root} is not empty" in refused.stderr


def test_one_of_several_brokers_is_to_be_chosen(place: Place, url: str) -> None:
    run("save", place.root, "--to", url, "--broker-name", "broker-b")
    refused = run("restore", url, place.restored, "--take-over")
    assert refused.exit_code == 2
    assert "choose one by --broker-name and --cluster" in refused.stderr
    assert restored(url, place, "--broker-name", "broker-b")["tier"] == "DefaultCluster/broker-b"


@pytest.mark.parametrize("number", range(3))
def test_missing_segment_is_exit_code_1(place: Place, url: str, tmp_path: Path, number: int) -> None:
    """Queues begin after it."""
    segments = sorted((tmp_path / "tier").rglob("*.seg"))
    assert len(segments) == 3
    segments[number].unlink()
    done = run("restore", url, place.restored, "--take-over")
    assert done.exit_code == 1
    [error] = [line for line in done.stdout.splitlines() if line.startswith("error  ")]
    assert error.endswith(f"{segments[number].name} does not exist")
    assert done.stdout.splitlines()[-1] == "sound"
    assert "blocks that are lost, or whose queues lack later messages" in done.stdout


def test_damaged_block_between_others_is_exit_code_1(place: Place, url: str, tmp_path: Path) -> None:
    damaged = sorted((tmp_path / "tier").rglob("*.seg"))[1]
    content = bytearray(damaged.read_bytes())
    content[-3] ^= 1
    damaged.write_bytes(content)
    done = run("restore", url, place.restored, "--take-over")
    assert done.exit_code == 1
    assert damaged.name in done.stdout
    assert done.stdout.splitlines()[-1] == "sound"
    left = place.bodies(place.restored)
    assert left == place.bodies(place.root)[-len(left) :]


def test_lazy_report_names_missing_state_of_kafka_clients() -> None:
    lines = restored_as_text(TierRestoreReport("/store", "c/b", lazy=True, has_batches=True), None)
    assert any(line.startswith("not restored: sequences of Kafka producers, so batches") for line in lines)
    whole = restored_as_text(TierRestoreReport("/store", "c/b", has_batches=True), None)
    assert not any("Kafka" in line or "tieredStorePath" in line for line in whole)


def test_all_that_is_missing_is_named() -> None:
    report = TierRestoreReport("/store", "c/b", expired=3, gaps=[(5, 9)], damaged=["x is damaged"])
    lines = restored_as_text(report, None)
    assert "not restored: 3 blocks of messages that have expired" in lines
    assert "not restored: the log from 5 to 9, never saved" in lines
    assert "not restored: topics' settings, groups and offsets, of which nothing was saved" in lines
    assert "error  x is damaged" in lines
    shown = restored_as_json(report, None)
    assert (shown["tablesTimestamp"], shown["sound"], shown["expiredBlocks"]) == (None, None, 3)
