"""Kafka's jar sets and the client programs, built once and kept in the cache folder.

Maven resolves the jar sets, pip installs the Python clients and npm the one for Node, Go and Cargo compile
theirs. Which registries these ask is their own configuration.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from compat_tests.support.artifacts import cache_folder, locked, made, run

PROGRAMS = Path(__file__).parents[1] / "programs"
JAVA = PROGRAMS / "java"

KAFKA = "4.4.0"
"""The version of Apache Kafka that is the judge: server, commands and newest client."""

CLIENT_VERSIONS = (KAFKA, "3.9.1", "2.8.2")
"""Versions of the Java client; those of other languages are in the files of their package managers."""


def class_path(name: str, version: str = KAFKA) -> str:
    """Return the class path of a jar set: `client` or `server` (`java/<name>.pom.xml`)."""
    command = ["mvn", "-q", "-B", "-f", str(JAVA / f"{name}.pom.xml"), f"-Dkafka.version={version}"]
    command += ["dependency:copy-dependencies", "-DincludeScope=runtime"]

    def copy(aside: Path) -> None:
        with locked(cache_folder() / "maven"):
            run([*command, f"-DoutputDirectory={aside}"])

    return f"{made(cache_folder() / 'jars' / f'kafka-{name}-{version}', copy)}/*"


def java_program(folder: Path, name: str, version: str = KAFKA) -> str:
    """Return the class path of a program, compiled against a jar set, with the loop of requests that programs
    share (`java/requests`)."""
    sources = sorted(source for place in (JAVA / "requests", folder) for source in place.rglob("*.java"))
    needed = class_path(name, version)
    command = ["javac", "-nowarn", "-Xlint:-options", "--release", "11", "-encoding", "UTF-8", "-cp", needed]
    target = cache_folder() / "classes" / f"kafka-{name}-{version}-{digest(sources)}"
    return f"{made(target, lambda aside: run([*command, '-d', str(aside), *map(str, sources)]))}:{needed}"


def python_of_the_clients() -> Path:
    """Return an interpreter that has the Python clients."""
    wanted = PROGRAMS / "python" / "requirements.txt"
    # An environment cannot be moved: it is made where it stays, and counts once it is finished.
    place = cache_folder() / f"kafka-python-{digest([wanted])}"
    finished = place / "finished"
    if not finished.exists():
        with locked(place):
            if not finished.exists():
                run([sys.executable, "-m", "venv", str(place)])
                run([str(place / "bin" / "python"), "-m", "pip", "install", "-q", "-r", str(wanted)])
                finished.touch()
    return place / "bin" / "python"


def go_driver() -> Path:
    """Return the program that drives both Go clients, linked so that it runs on any Linux."""
    source = PROGRAMS / "go"
    env = {"HOME": str(Path.home()), **os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local"}
    command = [shutil.which("go") or "/usr/local/go/bin/go", "build", "-trimpath", "-buildvcs=false"]
    target = cache_folder() / f"kafka-go-{digest(sorted(source.iterdir()))}"
    return made(target, lambda aside: run([*command, "-o", str(aside), "."], source, env))


def node_driver() -> Path:
    """Return the program that drives the Node client, with the client beside it."""
    sources = sorted((PROGRAMS / "node").iterdir())

    def install(aside: Path) -> None:
        shutil.copytree(PROGRAMS / "node", aside)
        run(["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(aside)])

    return made(cache_folder() / f"kafka-node-{digest(sources)}", install) / "driver.js"


def rust_driver() -> Path:
    """Return the program that drives the Rust client. Its librdkafka is compiled with it, which takes minutes
    and needs make and a compiler for C."""
    source = PROGRAMS / "rust"
    objects = cache_folder() / "kafka-rust-objects"
    command = ["cargo", "build", "-q", "--locked", "--manifest-path", str(source / "Cargo.toml")]

    def build(aside: Path) -> None:
        run([*command, "--target-dir", str(objects)])
        shutil.copy(objects / "debug" / "driver", aside)

    sources = sorted(path for path in source.rglob("*") if path.is_file())
    return made(cache_folder() / f"kafka-rust-{digest(sources)}", build)


def digest(sources: Iterable[Path]) -> str:
    """Return twelve digits that tell one state of some files from another."""
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:12]
