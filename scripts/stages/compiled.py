"""Prepares the tree that `tox -e compiled` tests in: the repository without the product, which is installed.

    python scripts/stages/compiled.py FOLDER

The wheel with the compiled modules is built and installed by the Python that runs this, unless the last one
was built from the same sources. The tree has no package `mqgateway`, so that tests import the installed one.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("engine", "gateway", "pipeline", "mqgateway", "pyspark_rocketmq", "pyspark_rocketmq_store")
BUILT_WITH = ("setup.py", "setup.cfg", "pyproject.toml", "MANIFEST.in")
STAMP = "built-from"
PROOF = "import mqgateway.engine.native, mqgateway.gateway.remoting.protocol as it; print(it.__file__)"


def digest(root: Path) -> str:
    """Return the digest of all that a wheel is built from, and of the Python that builds it."""
    found = hashlib.sha256(sys.version.encode())
    below = (path for name in SOURCES for path in (root / name).rglob("*"))
    for path in sorted([root / name for name in BUILT_WITH] + [path for path in below if path.is_file()]):
        if "__pycache__" not in path.parts and path.suffix != ".so":
            found.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return found.hexdigest()


def copy(root: Path, target: Path, left_out: str = "") -> None:
    """Copy the repository, without hidden files, extensions and the top folder that is named."""
    usual = shutil.ignore_patterns(".*", "*.so", "*.egg-info", "__pycache__", "build")

    def ignored(folder: str, names: list[str]) -> set[str]:
        return usual(folder, names) | ({left_out} if Path(folder) == root else set())

    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(root, target, ignore=ignored)


def build(root: Path, folder: Path) -> None:
    """Build the wheel with compiled modules in a copy of the repository, and install it."""
    source, wheels = folder / "source", folder / "wheel"
    copy(root, source)
    shutil.rmtree(wheels, ignore_errors=True)
    pip = [sys.executable, "-m", "pip"]
    quiet = ["-q", "--disable-pip-version-check", "--no-deps"]
    environment = {"MQGATEWAY_OPT_LEVEL": "0"} | os.environ | {"MQGATEWAY_COMPILE": "1"}
    command = [*pip, "wheel", *quiet, "--no-build-isolation", "-w", str(wheels), str(source)]
    subprocess.run(command, env=environment, check=True)
    (wheel,) = wheels.glob("mqgateway-*.whl")
    subprocess.run([*pip, "install", *quiet, "--force-reinstall", "--no-index", str(wheel)], check=True)
    shutil.rmtree(source)


def installed_file(folder: Path) -> str:
    """Return the file of a module that is to be compiled, as this Python imports it; empty without one."""
    command = [sys.executable, "-c", PROOF]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout.strip()


def main(folder: Path) -> None:
    """Build where sources or the environment changed, and copy the tests and what they read.

    Raises:
        SystemExit: The modules in use are not compiled.
    """
    folder.mkdir(parents=True, exist_ok=True)
    stamp, today = folder / STAMP, digest(ROOT)
    is_built = stamp.exists() and stamp.read_text() == today and installed_file(folder).endswith(".so")
    if not is_built:
        stamp.unlink(missing_ok=True)
        build(ROOT, folder)
        stamp.write_text(today)
    copy(ROOT, folder / "tree", "mqgateway")
    if not installed_file(folder).endswith(".so"):
        raise SystemExit("the modules are not compiled")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
