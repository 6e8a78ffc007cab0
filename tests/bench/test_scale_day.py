"""Slopes that tell growth from noise, and files that are made to look old."""

import os
import time
from pathlib import Path
from random import Random

import pytest

from bench.scale_container import model
from bench.scale_day import AGED_HOURS, Slope, age_files, slope
from bench.scale_part import Finding

TIMES = [5.0 * number for number in range(40)]


def test_a_straight_line_has_its_slope_and_no_error() -> None:
    found = slope(TIMES, [100 + at / 60 * 7 for at in TIMES])
    assert found.per_minute == pytest.approx(7) and found.error == pytest.approx(0, abs=1e-9)
    assert not found.is_flat


def test_noise_is_flat_and_what_grows_through_it_is_not() -> None:
    noise = Random(1)
    values = [100 + noise.gauss(0, 5) for _ in TIMES]
    assert slope(TIMES, values).is_flat
    assert not slope(TIMES, [value + at for at, value in zip(TIMES, values, strict=True)]).is_flat


def test_small_slope_is_flat_however_certain() -> None:
    assert Slope(per_minute=0.5, error=0.001, mean=100, minutes=4).is_flat
    assert not Slope(per_minute=2.0, error=0.001, mean=100, minutes=4).is_flat


def test_files_that_rest_look_old(tmp_path: Path) -> None:
    resting, busy, old = (tmp_path / name for name in ("resting", "busy", "old"))
    now = time.time()
    for file, age in ((resting, 60), (busy, 1), (old, 10 * AGED_HOURS * 3600)):
        file.touch()
        os.utime(file, (now - age, now - age))
    assert age_files(tmp_path) == 3
    ages = [now - file.stat().st_mtime for file in (resting, busy, old)]
    assert (
        ages[0] > AGED_HOURS * 3600
        and ages[1] < 60
        and ages[2] == pytest.approx(10 * AGED_HOURS * 3600, abs=1)
    )


def test_more_brokers_cost_what_each_further_one_did() -> None:
    figures = {"start_seconds": 1.0, "start_cpu_seconds": 1.0, "cpu_percent": 1.0}
    figures |= {"resident_mb": 100.0, "proportional_mb": 50.0}
    more = {name: value * 2 for name, value in figures.items()}
    findings = [
        Finding("container", "ours", "1 broker", figures),
        Finding("container", "ours", "2 brokers", more),
    ]
    assert model(findings[:1]) == []
    lines = model(findings)
    assert "costs 50 MB (resident 100), 1.00 s" in lines[0]
    assert lines[-1] == "| 64 | 64 | 2.0 | 3,200 | 64.0 |"
