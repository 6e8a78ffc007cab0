"""Outputs of Kafka's perf programs are read, and pairs make tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from bench.kafka import KafkaPair, load_pairs, main, save_pairs, section
from bench.kafka_runs import ROWS, Run, consumed, produced, waited

PRODUCED = """\
40000 records sent, 8000.0 records/sec (0.8 MB/sec), 200.1 ms avg latency, 350.0 ms max latency.
100000 records sent, 13981.2 records/sec (1.3 MB/sec), 240.0 ms avg latency, 3500.0 ms max latency, \
277 ms 50th, 330 ms 95th, 342 ms 99th, 350 ms 99.9th.
"""
CONSUMED = "2026-11-28 14:00:00:000, 2026-11-28 14:00:01:000, 95.3, 95.3, 1000000, 897000.5, 300, 700, 1, 2\n"
LATENCY = "0\t2.5\nAvg latency: 2.5 ms\nPercentiles: 50th = 1, 99th = 18, 99.9th = 30\n"
ROW = next(row for row in ROWS if row.name == "produce-100")


def test_result_of_the_producer_is_the_last_line() -> None:
    assert produced(PRODUCED) == (100_000, 13981.2, 277, 342)


def test_result_of_the_consumer_is_read_by_column() -> None:
    assert consumed(f"WARN something, else\n{CONSUMED}") == (1_000_000, 897000.5)


def test_percentiles_of_the_latency_are_read() -> None:
    assert waited(LATENCY) == (1, 18)


@pytest.mark.parametrize("read", [produced, consumed, waited])
def test_output_without_a_result_is_an_error(read: object) -> None:
    assert callable(read)
    with pytest.raises(RuntimeError, match="printed no result:\nno broker"):
        read("no broker")


def test_figures_are_medians_and_ratios() -> None:
    pair = KafkaPair(ROW)
    pair.runs["ours"] = [Run(90, rate, 0.5) for rate in (10, 30, 20)]
    pair.runs["apache"] = [Run(900, 40, 1.0)]
    assert pair.cell("per_second", "{:.0f}") == "20 / 40 = 0.50"
    assert pair.cell("start_seconds", "{:.0f}") == "-"
    assert pair.misses() == ["records/s 0.50, aimed at 1.0 or more"]


def test_pairs_survive_a_file_and_are_reported_by_form(tmp_path: Path) -> None:
    path = tmp_path / "it.json"
    runs = {"ours": [Run(90, 20, 0.5)], "apache": [Run(900, 40, 1.0)]}
    plain = KafkaPair(ROW, runs, "2026-01-02", "abc", False, (1.0, 2.5))
    compiled = replace(plain, is_compiled=True)
    save_pairs(path, {(ROW.name, False): plain, (ROW.name, True): compiled})
    pairs = load_pairs(path)
    assert list(pairs.values()) == [compiled, plain]
    lines = section(list(pairs.values()))
    assert lines.index("### Kafka, compiled form") < lines.index("### Kafka, plain python")
    assert any(line.endswith("| 1 | 1.0 to 2.5 | 2026-01-02 abc |") for line in lines)


def test_unknown_row_is_refused() -> None:
    result = CliRunner().invoke(main, ["--row", "sync-64", "--no-run"])
    assert result.exit_code == 2
    assert "'sync-64' is not one of" in result.output
