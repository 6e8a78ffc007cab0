"""Prometheus' own tool reads the alerts of `dashboards/`, and they fire on series as they are recorded.

`promtool` is Debian's, of the package `prometheus`, which is fetched and unpacked where it is not installed.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "dashboards"


@pytest.fixture(scope="session")
def promtool(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The tool: what is installed, or what the package has."""
    installed = shutil.which("promtool")
    if installed:
        return installed
    if not (shutil.which("apt-get") and shutil.which("dpkg")):
        pytest.skip("there is no promtool, and no apt-get to fetch Debian's package prometheus with")
    folder = tmp_path_factory.mktemp("prometheus")
    fetched = subprocess.run(
        ["apt-get", "download", "prometheus"], cwd=folder, capture_output=True, text=True
    )
    packages = list(folder.glob("prometheus_*.deb"))
    if not packages:
        pytest.skip(f"Debian's package prometheus cannot be fetched: {fetched.stderr.strip()}")
    subprocess.run(["dpkg", "-x", str(packages[0]), str(folder)], check=True)
    return str(folder / "usr" / "bin" / "promtool")


def said(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_the_rules_are_read(promtool: str) -> None:
    output = said(promtool, "check", "rules", str(FOLDER / "rules.yml"), str(FOLDER / "rules-exporter.yml"))
    assert output.count("SUCCESS") == 2


def test_the_rules_fire_for_a_stopped_group_and_a_full_disk(promtool: str) -> None:
    assert "SUCCESS" in said(promtool, "test", "rules", str(FOLDER / "rules_test.yml"))
