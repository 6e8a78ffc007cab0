"""Drivers of the official gRPC clients, built once and kept in the cache folder.

Maven resolves the jar sets. The Python client is installed in an environment of its own, the Node client by
npm. The Go client is compiled. The registries are those of each tool's own configuration.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from compat_tests.support.artifacts import CURRENT, cache_folder, copied_jars, locked, made, run

PROGRAMS = Path(__file__).parent / "programs"

JAVA_CLIENT, PYTHON_CLIENT, NODE_CLIENT = "5.2.0", "5.1.2", "1.0.8"
"""The newest published versions; those of Python and Node are in their own files, too, Go's only there."""


def jars(name: str, version: str) -> str:
    """The class path of one set: ``client``, ``proxy`` or ``official`` (``programs/java/<name>.pom.xml``)."""
    pom = PROGRAMS / "java" / f"{name}.pom.xml"
    return f"{copied_jars(pom, version, cache_folder() / 'jars' / f'grpc-{name}-{version}')}/*"


def proxy_class_path() -> str:
    """Return the class path of Apache's proxy."""
    return jars("proxy", CURRENT)


def java_program(folder: str, class_path: str) -> str:
    """The class path of one of our programs (``programs/java/<folder>``), compiled against another."""
    sources = sorted((PROGRAMS / "java" / folder).rglob("*.java"))
    command = ["javac", "-nowarn", "-Xlint:-options", "--release", "8", "-encoding", "UTF-8"]

    def build(aside: Path) -> None:
        run([*command, "-d", str(aside), "-cp", class_path, *map(str, sources)])

    target = cache_folder() / "classes" / f"grpc-{folder}-{digest(sources)}"
    return f"{made(target, build)}:{class_path}"


def java_driver() -> str:
    """The class path of the program that drives the Java client."""
    return java_program("driver", jars("client", JAVA_CLIENT))


def python_of_the_client() -> Path:
    """Return an interpreter that has the Python client."""
    wanted = PROGRAMS / "python" / "requirements.txt"

    def install(place: Path) -> None:
        run([sys.executable, "-m", "venv", str(place)])
        run([str(place / "bin" / "python"), "-m", "pip", "install", "-q", "-r", str(wanted)])

    # An environment cannot be moved: it is made in its final folder, and is valid once it is finished.
    place = cache_folder() / f"grpc-python-{digest([wanted])}"
    if not (place / "finished").exists():
        with locked(place):
            if not (place / "finished").exists():
                install(place)
                (place / "finished").touch()
    return place / "bin" / "python"


def node_driver() -> Path:
    """Return the program that drives the Node client, with the client in the same folder."""
    sources = sorted((PROGRAMS / "node").iterdir())

    def install(aside: Path) -> None:
        shutil.copytree(PROGRAMS / "node", aside)
        run(["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(aside)])

    return made(cache_folder() / f"grpc-node-{digest(sources)}", install) / "driver.js"


def go_driver() -> Path:
    """Return the program that drives the Go client, which needs Go 1.24; Debian 12 has an older version."""
    source = PROGRAMS / "go"

    def build(aside: Path) -> None:
        run(["go", "build", "-C", str(source), "-trimpath", "-buildvcs=false", "-o", str(aside), "."])

    return made(cache_folder() / f"grpc-go-{digest(sorted(source.iterdir()))}", build)


def digest(sources: Iterable[Path]) -> str:
    """Return twelve digits that identify the content of some files."""
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:12]
