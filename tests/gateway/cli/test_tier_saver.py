"""The process that saves a log: messages in, reports out, until the broker is gone."""

import json
from pathlib import Path

import pytest

from mqgateway.gateway.cli.settings import BrokerSettings
from mqgateway.gateway.cli.tier_saver import first_line, serve
from mqgateway.gateway.container.children import line_of
from tests.support.engine.tier.saving import fill
from tests.support.engine.upkeep.backups import Place

RULES = {"saves": True, "confirmed": 1 << 62, "range_millis": 1000, "may_lose": False}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    bench = place.open()
    fill(bench, 40)
    bench.store.stop()
    return place


def first(place: Place, url: str) -> dict[str, object]:
    settings = BrokerSettings()
    settings.store.store_path_root_dir = str(place.root)
    settings.store.tiered_store_path = url
    settings.broker.broker_name = "broker-a"
    return dict(first_line(settings))


def answers(*reads: bytes) -> list[dict[str, object]]:
    """Return what the process answers to these reads of its input."""
    waiting, written = [*reads, b""], []
    serve(lambda: waiting.pop(0), written.append)
    return [json.loads(line) for line in written]


def test_log_is_saved_and_reported(place: Place, tmp_path: Path) -> None:
    begin = line_of(first(place, f"file://{tmp_path}/tier"))
    [state] = answers(begin, line_of(RULES))
    assert (state["failure"], state["ranges"], state["oldest"]) == ("", 3, 0)
    assert list((tmp_path / "tier").rglob("*.idx"))


def test_last_of_several_messages_counts(place: Place, tmp_path: Path) -> None:
    begin = line_of(first(place, f"file://{tmp_path}/tier"))
    lines = line_of({**RULES, "confirmed": 0}) + line_of({**RULES, "confirmed": 4096})
    [state] = answers(begin + lines)
    assert state["saved_to"] == 4096


def test_failure_is_reported(place: Place, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    [state] = answers(line_of(first(place, f"file://{tmp_path}/file")), line_of(RULES))
    assert state["saved_to"] == -1
    assert "cannot be used" in str(state["failure"])


def test_process_ends_with_its_input() -> None:
    assert answers() == []
