"""The process that saves a log: messages in, reports out, until the broker is gone."""

import json
from pathlib import Path

import pytest

from mqgateway.gateway.cli.settings import BrokerSettings
from mqgateway.gateway.cli.tier_saver import first_line, serve
from mqgateway.gateway.container.children import line_of
from tests.support.engine.tier.saving import fill
from tests.support.engine.upkeep.backups import Place

RULES = {
    "saves": True,
    "confirmed": 1 << 62,
    "range_millis": 1000,
    "may_lose": False,
    "reserved_millis": 72 * 3_600_000,
    "now": 0,
}


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
    waiting = [*reads, b""]
    written: list[bytes] = []
    serve(lambda: waiting.pop(0), written.append, lambda: False)
    return [json.loads(line) for line in written]


def test_log_is_saved_and_reported(place: Place, tmp_path: Path) -> None:
    begin = line_of(first(place, f"file://{tmp_path}/tier"))
    states = answers(begin, line_of(RULES))
    assert [state["ranges"] for state in states] == [1, 2, 3, 3]
    assert (states[-1]["failure"], states[-1]["oldest"]) == ("", 0)
    assert list((tmp_path / "tier").rglob("*.idx"))


def test_last_of_several_messages_counts(place: Place, tmp_path: Path) -> None:
    begin = line_of(first(place, f"file://{tmp_path}/tier"))
    lines = line_of({**RULES, "confirmed": 0}) + line_of({**RULES, "confirmed": 4096})
    assert [state["saved_to"] for state in answers(begin + lines)] == [4096, 4096]


def test_new_message_interrupts_the_saving(place: Place, tmp_path: Path) -> None:
    waiting = [line_of(first(place, f"file://{tmp_path}/tier")), line_of(RULES), line_of(RULES), b""]
    written: list[bytes] = []
    serve(lambda: waiting.pop(0), written.append, lambda: len(waiting) > 1)
    assert [json.loads(line)["ranges"] for line in written] == [1, 2, 3, 3]
    assert waiting == []


def test_failure_is_reported(place: Place, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    [state] = answers(line_of(first(place, f"file://{tmp_path}/file")), line_of(RULES))
    assert state["saved_to"] == -1
    assert "cannot be used" in str(state["failure"])


def test_process_ends_with_its_input() -> None:
    assert answers() == []
