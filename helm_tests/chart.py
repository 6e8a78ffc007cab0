"""The chart as Helm renders it.

    python -m helm_tests.chart        # updates tests/packaging/rendered

The rendered objects of each example of the chart are in `tests/packaging/rendered`, for tests that have no
Helm. Files of the project that the chart includes are only named there.
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
"""Helm built without its makefile assumes a very old version."""


def helm() -> str:
    """Return the path of this machine's Helm, or of one built by Go, which takes minutes once."""
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
    """Run Helm with these arguments."""
    return subprocess.run([helm(), *map(str, words)], capture_output=True, text=True, check=False)


def template(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run `helm template` on the chart."""
    return call("template", RELEASE, CHART, "--namespace", NAMESPACE, *KUBERNETES, *words)


def rendered(example: Path) -> str:
    """Return the objects of an example, as text."""
    done = template("--values", example)
    assert done.returncode == 0, done.stderr
    return done.stdout


def without_files(text: str) -> str:
    """Return the text with names in place of the project's dashboards and alerts."""
    for path in sorted((ROOT / "dashboards").iterdir()):
        for indent in (" " * 2, " " * 4):
            inside = "\n".join(indent + line for line in path.read_text().rstrip("\n").split("\n"))
            text = text.replace(inside, f"{indent}(dashboards/{path.name})")
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


if __name__ == "__main__":
    RENDERED.mkdir(exist_ok=True)
    for each in EXAMPLES:
        (RENDERED / each.name).write_text(without_files(rendered(each)))
