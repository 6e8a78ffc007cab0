"""The package as its users have it: a wheel of this checkout, in a virtual environment of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from compat_tests.support.servers import ROOT

SHIPPED = (
    "mqgateway",
    "pyspark_rocketmq",
    "pyspark_rocketmq_store",
    "docs",
    "CHANGELOG.md",
    "LICENSE",
    "MANIFEST.in",
    "README.md",
    "pyproject.toml",
    "setup.cfg",
    "setup.py",
)
"""Files and folders of which a distribution is built."""


@dataclass(frozen=True)
class Installed:
    """An environment that has the wheel, pytest, and nothing of this checkout."""

    source: Path
    """A copy of the wheel's sources."""
    wheel: Path
    environment: Path

    @property
    def python(self) -> Path:
        """The environment's interpreter."""
        return self.environment / "bin" / "python"

    def command(self, name: str) -> str:
        """Return the path of a command that the package installed."""
        return str(self.environment / "bin" / name)

    def variables(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the variables for programs of the environment: this checkout is not on their path."""
        left = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTHON", "VIRTUAL_ENV"))
        }
        path = os.pathsep.join((str(self.environment / "bin"), left["PATH"]))
        return {**left, "PATH": path, **(more or {})}

    def run(self, *command: str | Path, cwd: Path, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        """Run a program to its end; return its outputs."""
        return subprocess.run(
            command, cwd=cwd, env=self.variables(), capture_output=True, text=True, timeout=timeout
        )


def install(folder: Path) -> Installed:
    """Build the wheel from a copy, so that the checkout stays unchanged, and install it."""
    source, environment = folder / "source", folder / "environment"
    source.mkdir(parents=True)
    for name in SHIPPED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
        else:
            shutil.copy(ROOT / name, source / name)
    pip: list[str | Path] = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, source]
    subprocess.run(pip, check=True, env={**os.environ, "MQGATEWAY_COMPILE": "0"})
    (wheel,) = folder.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    installed = Installed(source, wheel, environment)
    # Without PYTHONPATH: pip takes a checkout on it for an installed package, and installs nothing.
    pip = [installed.python, "-m", "pip", "install", "-q", wheel, "pytest"]
    subprocess.run(pip, check=True, env=installed.variables())
    return installed
