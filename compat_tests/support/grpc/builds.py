"""What drives the official gRPC clients, built once and kept in the cache folder.

Jar sets are resolved by Maven, the Python client is installed in an environment of its own, the Node client
by npm, the one in Go is compiled; which registries these ask is their own configuration.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from compat_tests.support.artifacts import CURRENT, cache_folder

PROGRAMS = Path(__file__).parent / "programs"

JAVA_CLIENT, PYTHON_CLIENT, NODE_CLIENT = "5.2.0", "5.1.2", "1.0.8"
"""The newest of each that is published; those of Python and Node stand in their own files, too, and Go's only
there."""

BUILD_SECONDS = 900


def jars(name: str, version: str) -> str:
    """The class path of one set: ``client``, ``proxy`` or ``official`` (``programs/java/<name>.pom.xml``)."""
    command = ["mvn", "-q", "-B", "-f", str(PROGRAMS / "java" / f"{name}.pom.xml")]
    command += [f"-Drocketmq.version={version}", "dependency:copy-dependencies", "-DincludeScope=runtime"]

    def fetch(aside: Path) -> None:
        run([*command, f"-DoutputDirectory={aside}"])

    return f"{made(Path('jars') / f'grpc-{name}-{version}', fetch)}/*"


def proxy_class_path() -> str:
    """Apache's proxy."""
    return jars("proxy", CURRENT)


def java_program(folder: str, class_path: str) -> str:
    """The class path of one of our programs (``programs/java/<folder>``), compiled against another."""
    sources = sorted((PROGRAMS / "java" / folder).rglob("*.java"))
    command = ["javac", "-nowarn", "-Xlint:-options", "--release", "8", "-encoding", "UTF-8"]

    def build(aside: Path) -> None:
        run([*command, "-d", str(aside), "-cp", class_path, *map(str, sources)])

    return f"{made(Path('classes') / f'grpc-{folder}-{digest(sources)}', build)}:{class_path}"


def java_driver() -> str:
    """The class path of the program that drives the Java client."""
    return java_program("driver", jars("client", JAVA_CLIENT))


def python_of_the_client() -> Path:
    """An interpreter that has the Python client."""
    wanted = PROGRAMS / "python" / "requirements.txt"

    def install(place: Path) -> None:
        run([sys.executable, "-m", "venv", str(place)])
        run([str(place / "bin" / "python"), "-m", "pip", "install", "-q", "-r", str(wanted)])

    # An environment cannot be moved: it is made where it stays, and counts once it is finished.
    place = cache_folder() / f"grpc-python-{digest([wanted])}"
    if not (place / "finished").exists():
        install(place)
        (place / "finished").touch()
    return place / "bin" / "python"


def node_driver() -> Path:
    """The program that drives the Node client, with the client beside it."""
    sources = sorted((PROGRAMS / "node").iterdir())

    def install(aside: Path) -> None:
        shutil.copytree(PROGRAMS / "node", aside)
        run(["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(aside)])

    return made(Path(f"grpc-node-{digest(sources)}"), install) / "driver.js"


def go_driver() -> Path:
    """The program that drives the Go client; that client needs Go 1.24, newer than Debian 12 has."""
    source = PROGRAMS / "go"

    def build(aside: Path) -> None:
        run(["go", "build", "-C", str(source), "-trimpath", "-buildvcs=false", "-o", str(aside), "."])

    return made(Path(f"grpc-go-{digest(sorted(source.iterdir()))}"), build)


def digest(sources: Iterable[Path]) -> str:
    """Twelve digits that tell one state of some files from another."""
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:12]


def made(name: Path, make: Callable[[Path], None]) -> Path:
    """A folder of the cache; made aside when it is missing. If another run is quicker, its work stands."""
    target = cache_folder() / name
    if not target.exists():
        target.parent.mkdir(exist_ok=True)
        aside = target.with_name(f"{target.name}.{os.getpid()}")
        make(aside)
        try:
            aside.rename(target)
        except OSError:
            shutil.rmtree(aside)
    return target


def run(command: list[str]) -> None:
    """Run one step of a build. Raises `RuntimeError` with the end of what it said."""
    result = subprocess.run(command, capture_output=True, text=True, timeout=BUILD_SECONDS, check=False)
    if result.returncode != 0:
        output = (result.stdout + result.stderr)[-4000:]
        raise RuntimeError(f"{command[0]} failed with exit code {result.returncode}:\n{output}")
