"""Messages of a tier as JSON lines, and the reasons why there are none."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from mqgateway.gateway.cli.main import main
from tests.support.engine.tier.saving import fill
from tests.support.engine.upkeep.backups import Place


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["tier", *(str(each) for each in arguments)])


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A tier with the log of a store."""
    place = Place(tmp_path)
    bench = place.open()
    fill(bench, 40)
    bench.store.stop()
    found = f"file://{tmp_path}/tier"
    saved = run("save", place.root, "--to", found, "--broker-name", "broker-a")
    assert saved.exit_code == 0, saved.output
    return found


def lines(result: Result) -> list[dict[str, Any]]:
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_messages_are_printed_from_an_offset_on(url: str) -> None:
    found = lines(run("read", url, "orders", 1, 5, "--count", 3))
    assert [message["queueOffset"] for message in found] == [5, 6, 7]
    assert [message["body"].rstrip(".") for message in found] == ["body 11", "body 13", "body 15"]
    assert found[0]["topic"] == "orders" and found[0]["queueId"] == 1
    assert found[0]["properties"]["TAGS"] == "t2"
    assert len(lines(run("read", url, "orders", 1, 0))) == 20
    assert lines(run("read", url, "orders", 1, 20)) == []


def test_messages_that_are_gone_are_named(url: str, tmp_path: Path) -> None:
    segments = sorted((tmp_path / "tier").rglob("*.seg"))
    segments[0].unlink()
    first, *rest = lines(run("read", url, "orders", 1, 0))
    assert first == {"topic": "orders", "queueId": 1, "nextOffset": rest[0]["queueOffset"]}
    assert rest[-1]["queueOffset"] == 19


def test_reason_is_given_if_nothing_can_be_read(url: str, tmp_path: Path) -> None:
    missing = run("read", url, "other", 0, 0)
    assert (missing.exit_code, "no messages of queue 0 of topic other" in missing.stderr) == (2, True)
    nowhere = run("read", f"file://{tmp_path}/none", "orders", 0, 0)
    assert (nowhere.exit_code, "is not an object store" in nowhere.stderr) == (2, True)
    epoch = next((tmp_path / "tier").rglob("epochs/*"))
    epoch.write_bytes(b"{}")
    damaged = run("read", url, "orders", 0, 0)
    assert (damaged.exit_code, "epochs" in damaged.stderr) == (2, True)


def test_one_of_several_brokers_must_be_chosen(url: str, tmp_path: Path) -> None:
    again = run("save", Place(tmp_path).root, "--to", url, "--broker-name", "broker-b")
    assert again.exit_code == 0, again.output
    both = run("read", url, "orders", 0, 0)
    assert both.exit_code == 2
    assert "choose one by --broker-name" in both.stderr and "broker-b of DefaultCluster" in both.stderr
    assert len(lines(run("read", url, "orders", 0, 0, "--broker-name", "broker-b"))) == 20
