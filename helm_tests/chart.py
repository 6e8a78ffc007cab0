"""The chart as Helm renders it.

    python -m helm_tests.chart        # writes tests/packaging/rendered anew

What is rendered of each of the chart's examples lies in `tests/packaging/rendered`, where tests that have no
Helm look at it; files of the project that the chart takes along are only named there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
CHART = ROOT / "packaging" / "helm"
EXAMPLES = sorted((CHART / "examples").glob("*.yaml"))
RENDERED = ROOT / "tests" / "packaging" / "rendered"
HELM = "helm.sh/helm/v3/cmd/helm@v3.22.0"
RELEASE, NAMESPACE = "rocketmq", "messaging"
KUBERNETES = ("--kube-version", "1.37.0")
"""Helm built without its makefile takes another one, of long ago."""


def helm() -> str:
    """The program: that of this machine, or one built by Go, which takes minutes once."""
    if found := os.environ.get("HELM") or shutil.which("helm"):
        return found
    folder = Path.home() / ".cache" / "mqgateway" / HELM.replace("/", "_")
    if not (folder / "helm").exists():
        go = shutil.which("go") or "/usr/local/go/bin/go"
        subprocess.run(
            [go, "install", "-trimpath", HELM], env={**os.environ, "GOBIN": str(folder)}, check=True
        )
    return str(folder / "helm")


def call(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """What Helm says to these arguments."""
    return subprocess.run([helm(), *map(str, words)], capture_output=True, text=True, check=False)


def template(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """What `helm template` makes of the chart."""
    return call("template", RELEASE, CHART, "--namespace", NAMESPACE, *KUBERNETES, *words)


def rendered(example: Path) -> str:
    """The objects of an example, as text."""
    done = template("--values", example)
    assert done.returncode == 0, done.stderr
    return done.stdout


def without_files(text: str) -> str:
    """The same, with names in place of the project's dashboards and alerts."""
    for path in sorted((ROOT / "dashboards").iterdir()):
        for indent in (" " * 2, " " * 4):
            inside = "\n".join(indent + line for line in path.read_text().rstrip("\n").split("\n"))
            text = text.replace(inside, f"{indent}(dashboards/{path.name})")
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


if __name__ == "__main__":
    RENDERED.mkdir(exist_ok=True)
    for each in EXAMPLES:
        (RENDERED / each.name).write_text(without_files(rendered(each)))
