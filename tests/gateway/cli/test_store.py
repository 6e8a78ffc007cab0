"""The commands over a store: what they print, as text and as JSON, and how they end."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from mqgateway.engine.raft.files.file_log import FileLog
from mqgateway.engine.real_disk import RealDisk
from mqgateway.gateway.cli.main import main
from mqgateway.gateway.cli.store import options_of, progress_shown
from tests.support.engine.raft.ledgers import into_ledger, onto_real_disk
from tests.support.engine.store.kafka_batches import kafka_batch, put_kafka
from tests.support.engine.store.stores import Bench, message
from tests.support.engine.upkeep.damage import filled


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["store", *(str(each) for each in arguments)])


def as_json(*arguments: object) -> dict[str, Any]:
    result = run(*arguments, "--json")
    found = json.loads(result.stdout)
    assert isinstance(found, dict)
    return found


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A small store on the real disk."""
    root = tmp_path / "store"
    bench = Bench(
        disk=RealDisk(),  # type: ignore[arg-type]
        store_path_root_dir=str(root),
        mapped_file_size_commit_log=1 << 20,
        mapped_file_size_consume_queue=2000,
        max_hash_slot_num=100,
        max_index_num=400,
    )
    for number in range(10):
        bench.put(message("orders", number % 2, b"body %d" % number, {"UNIQ_KEY": f"id{number}"}))
    bench.store.stop()
    return root


def queue_file(place: Path) -> Path:
    return place / "consumequeue" / "orders" / "0" / f"{0:020d}"


def spoil(path: Path, at: int, data: bytes) -> None:
    content = bytearray(path.read_bytes())
    content[at : at + len(data)] = data
    path.write_bytes(content)


@pytest.mark.parametrize("command", ["check", "rebuild", "stats"])
def test_help_has_examples_and_wrong_folders_an_advice(command: str, tmp_path: Path) -> None:
    shown = run(command, "--help")
    assert shown.exit_code == 0
    assert f"mqgateway store {command} ~/store" in shown.output
    result = run(command, tmp_path)
    assert result.exit_code == 2
    assert "--config" in result.stderr
    assert "error" in json.loads(run(command, tmp_path, "--json").stderr)


def test_a_sound_store(place: Path) -> None:
    result = run("check", place)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1] == "sound"
    assert "10 records" in result.stdout
    found = as_json("check", place)
    assert (found["sound"], found["records"], found["units"], found["queues"]) == (True, 10, 10, 2)
    assert found["findings"] == []


def test_a_damaged_store_says_where_and_what_to_do(place: Path) -> None:
    spoil(queue_file(place), 20, b"\xff")
    result = run("check", place)
    assert result.exit_code == 1
    assert f"error  {queue_file(place)} at byte 20: unit 1 is" in result.stdout
    assert "-> mqgateway store rebuild" in result.stdout
    assert result.stdout.splitlines()[-1] == "1 error found"
    found = as_json("check", place)
    assert found["errors"] == 1
    assert (found["findings"][0]["path"], found["findings"][0]["offset"]) == (str(queue_file(place)), 20)


def test_findings_beyond_the_limit_are_announced(place: Path) -> None:
    spoil(queue_file(place), 0, b"\xff" * 60)
    result = run("check", place, "--limit", 1)
    assert "more findings; see them with a higher --limit" in result.stdout


def test_the_folder_of_all_data_will_do(place: Path) -> None:
    assert run("check", place.parent).exit_code == 0


def test_a_check_leaves_the_files_alone(place: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in place.rglob("*")}
    run("check", place)
    run("stats", place)
    assert {path: path.stat().st_mtime_ns for path in place.rglob("*")} == before


def test_a_rebuild_mends_and_keeps_the_old(place: Path) -> None:
    spoil(queue_file(place), 20, b"\xff")
    result = run("rebuild", place)
    assert result.exit_code == 0
    assert f"kept   {place}/consumequeue.replaced" in result.stdout
    assert run("check", place).exit_code == 0
    found = as_json("rebuild", place, "--discard")
    assert found["replaced"] == []
    assert (found["records"], found["queues"]) == (10, 2)


def test_a_rebuild_over_a_damaged_log_says_so(place: Path) -> None:
    log = place / "commitlog" / f"{0:020d}"
    spoil(log, log.read_bytes().index(b"body 4"), b"X")
    result = run("rebuild", place)
    assert result.exit_code == 1
    assert "does not match its CRC" in result.stdout


def test_the_figures(place: Path) -> None:
    result = run("stats", place)
    assert result.exit_code == 0
    assert "orders" in result.stdout
    assert "10 messages" in result.stdout
    found = as_json("stats", place)
    assert found["topics"] == [{"topic": "orders", "queues": 2, "messages": 10, "bytes": found["bytes"]}]
    assert found["sizes"] == {"128": 10}
    assert {part["name"] for part in found["disk"]} == {"commitlog", "consumequeue", "index", "(others)"}


def test_more_topics_than_are_shown_are_announced(place: Path) -> None:
    assert "1 more; see them with a higher --top" in run("stats", place, "--top", 0).stdout


def test_settings_come_from_the_brokers_file(place: Path, tmp_path: Path) -> None:
    file = tmp_path / "broker.conf"
    file.write_text(f"storePathCommitLog={tmp_path}/log\nmaxIndexNum=77\n")
    (place / "commitlog").rename(tmp_path / "log")
    assert run("check", place).exit_code == 2
    assert run("check", place, "-c", file).exit_code == 0
    assert options_of(str(place), str(file)).max_index_num == 77
    file.write_text("maxIndexNum=many\n")
    result = run("check", place, "-c", file)
    assert result.exit_code == 2
    assert "maxIndexNum=many" in result.stderr


def test_nothing_is_shown_on_the_way_where_no_terminal_is(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_shown(quiet=False) as advance:
        advance("checking", 1, 2)
    assert capsys.readouterr().err == ""


def test_a_terminal_shows_a_bar(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with progress_shown(quiet=False) as advance:
        advance("checking", 1, 2)
        advance("checking", 2, 2)
    assert "checking" in capsys.readouterr().err


@pytest.fixture
def member(tmp_path: Path) -> Path:
    """The store of a member of a DLedger group on the real disk."""
    onto_real_disk(into_ledger(filled(80), 1), tmp_path)
    return tmp_path / "store"


def test_a_members_store_is_checked_and_counted(member: Path, config: Path) -> None:
    result = run("check", member, "-c", config)
    assert result.exit_code == 0, result.output
    assert "a DLedger member with entries 0 to " in result.stdout
    found = as_json("check", member, "-c", config)
    assert found["sound"]
    assert (
        found["dledger"]["committedIndex"] == found["dledger"]["lastIndex"] == found["dledger"]["entries"] - 1
    )
    assert found["dledger"]["firstIndex"] == 0
    assert as_json("stats", member, "-c", config)["messages"] == found["records"]


def test_a_members_store_becomes_an_ordinary_one(member: Path, config: Path, tmp_path: Path) -> None:
    target = tmp_path / "made"
    result = run("convert", member, target, "-c", config)
    assert result.exit_code == 0, result.output
    assert "every message was compared" in result.stdout
    assert run("check", target, "-c", config).exit_code == 0
    output = as_json("convert", member.parent, tmp_path / "again", "-c", config)
    assert (output["member"], output["notTakenOver"], output["errors"]) == ("dledger-n0", [], 0)
    assert output["records"] > output["entries"] == output["lastIndex"] + 1
    again = run("convert", member, target, "-c", config)
    assert (again.exit_code, again.stderr) == (2, f"mqgateway: error: {target} is there already\n")
    kept = run("convert", target, tmp_path / "other", "-c", config, "--keep-batches")
    assert (kept.exit_code, "is an ordinary store" in kept.stderr) == (2, True)


def test_convert_reports_damaged_batches_and_ends_with_one(tmp_path: Path) -> None:
    bench = Bench(disk=RealDisk(), store_path_root_dir=str(tmp_path / "store"))  # type: ignore[arg-type]
    put_kafka(bench.store, kafka_batch(b"a", b"b"))
    broken = bytearray(kafka_batch(b"c"))
    broken[61] = 0xFF
    put_kafka(bench.store, bytes(broken))
    bench.store.stop()
    result = run("convert", tmp_path / "store", tmp_path / "made")
    assert result.exit_code == 1, result.output
    assert "2 messages made of 2 batches of Kafka\n" in result.stdout
    assert (
        "1 offsets without a message that can be made have an empty one; damaged batches: 1" in result.stdout
    )
    assert "batch of batched queue 0 from offset 2 on: " in result.stdout
    output = as_json("convert", tmp_path / "store", tmp_path / "again")
    assert [output[name] for name in ("batches", "messages", "lost", "damaged", "errors")] == [2, 2, 1, 1, 1]


def test_an_empty_member(tmp_path: Path) -> None:
    FileLog(RealDisk(), str(tmp_path / "dledger-n1"), 4096).reset(0, 0)
    assert "a DLedger member without entries" in run("check", tmp_path).stdout
    assert as_json("check", tmp_path)["dledger"]["lastIndex"] is None
    result = run("convert", tmp_path, tmp_path.parent / "made-of-nothing")
    assert result.exit_code == 0, result.output


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """The settings of the members' brokers."""
    path = tmp_path / "broker.conf"
    path.write_text("enableDLegerCommitLog=true\nmaxHashSlotNum=16\nmaxIndexNum=64\n")
    return path
