"""Dashboards and alerts ask for metrics and labels that are served, and the files are what is declared."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from mqgateway.engine.ha.role import RoleKind
from mqgateway.gateway.front_ends import FRONT_ENDS
from mqgateway.gateway.metrics.broker_metrics import BROKER_METRICS
from mqgateway.gateway.metrics.dashboards import BOARDS, COLUMNS, EXPORTED, NATIVE, as_json, main
from mqgateway.gateway.metrics.exporter_metrics import EXPORTER_METRICS
from mqgateway.gateway.metrics.metric import MetricKind
from mqgateway.gateway.metrics.name_server_metrics import NAME_SERVER_METRICS
from mqgateway.gateway.metrics.own_metrics import (
    OPENING_METRICS,
    OWN_BROKER_METRICS,
    SERVER_METRICS,
    connection_metrics,
)
from tests.house.source import ROOT

FOLDER = ROOT / "dashboards"
OURS = (
    *(*OPENING_METRICS, *OWN_BROKER_METRICS, *connection_metrics(FRONT_ENDS)),
    *(*NAME_SERVER_METRICS, *SERVER_METRICS),
)
NATIVE_METRICS = (*BROKER_METRICS, *OURS)
NODE = {"cluster", "node_id", "node_type", "instance", "job", "le"}


def served(metrics: object) -> dict[str, set[str]]:
    """The labels of each series that is scraped, by its name."""
    found: dict[str, set[str]] = {"up": set()}
    for metric in metrics:  # type: ignore[attr-defined]
        names = [metric.suffixed_name]
        if metric.kind is MetricKind.HISTOGRAM:
            names = [f"{metric.suffixed_name}_{part}" for part in ("bucket", "count", "sum")]
        found |= {name: set(metric.labels) for name in names}
    return found


SETS = {"native": served(NATIVE_METRICS), "exporter": served(EXPORTER_METRICS)}


def asked(query: str) -> Iterator[tuple[str, set[str]]]:
    """The names of metrics in a query, and the labels by which each is chosen."""
    for name, _, labels in re.findall(r"\b((?:rocketmq|mqgateway)_\w+|up)\b(\{([^}]*)\})?", query):
        yield name, set(re.findall(r"(\w+)=~?\"", labels))


def queries_of_rules(path: Path) -> list[str]:
    text = path.read_text()
    found = re.findall(r"expr: (?:>-\n)?(.*?)\n        (?:for|labels):", text, re.DOTALL)
    assert len(found) == text.count("- alert:")
    return found


@pytest.mark.parametrize(("board", "names"), [(NATIVE, "native"), (EXPORTED, "exporter")])
def test_panels_ask_for_what_is_served(board: object, names: str) -> None:
    known = SETS[names]
    queries = [
        query
        for _, row in board.rows
        for panel in row
        for query, _ in panel.queries  # type: ignore[attr-defined]
    ]
    for query in queries:
        found = list(asked(query))
        assert found, query
        for name, labels in found:
            assert name in known, query
            assert labels <= known[name] | NODE, query
    for label, metric in board.variables:  # type: ignore[attr-defined]
        assert label in known[metric] | NODE


@pytest.mark.parametrize(("file", "names"), [("rules.yml", "native"), ("rules-exporter.yml", "exporter")])
def test_alerts_ask_for_what_is_served(file: str, names: str) -> None:
    for query in queries_of_rules(FOLDER / file):
        for name, labels in asked(query):
            assert name in SETS[names], query
            assert labels <= SETS[names][name] | NODE, query


def test_the_role_that_takes_messages_is_called_so() -> None:
    assert f'role="{RoleKind.MASTER.value}"' in (FOLDER / "rules.yml").read_text()


def test_the_files_are_what_is_declared(tmp_path: Path) -> None:
    main([str(tmp_path)])
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in FOLDER.glob("*.json")}
    for path in tmp_path.iterdir():
        again = "python -m mqgateway.gateway.metrics.dashboards dashboards"
        assert (FOLDER / path.name).read_text() == path.read_text(), again


@pytest.mark.parametrize("board", BOARDS)
def test_panels_lie_beside_one_another(board: object) -> None:
    taken: set[tuple[int, int]] = set()
    panels = as_json(board)["panels"]  # type: ignore[arg-type]
    assert len({panel["id"] for panel in panels}) == len(panels)
    for panel in panels:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken and max(x for x, _ in cells) < COLUMNS
        taken |= cells
    assert json.dumps(panels)
