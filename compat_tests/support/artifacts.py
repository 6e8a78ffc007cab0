"""The official peers as jar sets and Go modules, and our programs compiled against them.

Each set is one pom file in ``java/`` and a version; Maven resolves it once into the cache folder
(``MQGATEWAY_CACHE``, default ``~/.cache/mqgateway``). Which repositories Maven and Go ask is their own
configuration. Programs are compiled once for each set and each state of their source.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

JAVA = Path(__file__).parent / "java"
GO = Path(__file__).parent / "go"
SHARED = "common"

CURRENT = "5.5.0"
"""The version of the standard that is the judge: server, tools and newest client."""

CLIENT_VERSIONS = (CURRENT, "4.9.8")
"""Client versions that every scenario runs with: today's, and the installed base's."""

OLD_SERVER = "4.9.7"
"""The newest server of the 4.9 line that is published as a jar."""

EXAMPLE_VERSIONS = (CURRENT,)
"""Versions of the official examples; of the 4.9 line none is published as a jar."""

OPENS = (
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
)
"""What the standard's Java code needs opened on Java 17."""

SMALL_JVM = ("-XX:+UseSerialGC", "-Xmx256m", "-XX:TieredStopAtLevel=1", *OPENS)
"""Options of client JVMs: quick to start, small."""


def cache_folder() -> Path:
    """The folder that keeps what is costly to make; created when missing."""
    folder = Path(os.environ.get("MQGATEWAY_CACHE", Path.home() / ".cache" / "mqgateway"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def jars(name: str, version: str = CURRENT) -> Path:
    """The folder of all jars of one set (``client``, ``example``, ``tools`` or ``server``)."""
    target = cache_folder() / "jars" / f"{name}-{version}"
    if not target.exists():
        aside = target.with_name(f"{target.name}.{os.getpid()}")
        command = ["mvn", "-q", "-B", "-f", str(JAVA / f"{name}.pom.xml"), f"-Drocketmq.version={version}"]
        command += ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={aside}"]
        _run(command)
        _move_into_place(aside, target)
    return target


def class_path(name: str, version: str = CURRENT) -> str:
    """The class path of one set."""
    return f"{jars(name, version)}/*"


def program(folder: str, name: str, version: str = CURRENT) -> str:
    """The class path of one of our Java programs (``java/<folder>`` with what all share), compiled against a
    jar set."""
    sources = [path for place in (folder, SHARED) for path in sorted((JAVA / place).rglob("*.java"))]
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:12]
    target = cache_folder() / "classes" / f"{folder}-{name}-{version}-{digest}"
    if not target.exists():
        aside = target.with_name(f"{target.name}.{os.getpid()}")
        command = ["javac", "-nowarn", "-Xlint:-options", "--release", "8", "-encoding", "UTF-8"]
        command += ["-d", str(aside), "-cp", class_path(name, version), *map(str, sources)]
        _run(command)
        _move_into_place(aside, target)
    return f"{target}:{class_path(name, version)}"


def go_program(folder: str) -> Path:
    """One of our Go programs (``go/<folder>``), linked so that it runs on any Linux.

    Which version of the client it is built with, ``go.mod`` says.
    """
    source = GO / folder
    files = sorted(path for path in source.iterdir() if path.suffix in (".go", ".mod", ".sum"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12]
    target = cache_folder() / "go" / f"{folder}-{digest}"
    if not target.exists():
        target.parent.mkdir(exist_ok=True)
        aside = target.with_name(f"{target.name}.{os.getpid()}")
        command = [_go(), "build", "-trimpath", "-buildvcs=false", "-o", str(aside), "."]
        env = {"HOME": str(Path.home()), **os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local"}
        _run(command, source, env)
        aside.rename(target)
    return target


def _go() -> str:
    """The compiler on the path, or where its makers' own package puts it."""
    return shutil.which("go") or "/usr/local/go/bin/go"


def _run(command: list[str], folder: Path | None = None, env: Mapping[str, str] | None = None) -> None:
    result = subprocess.run(
        command, capture_output=True, text=True, timeout=900, check=False, cwd=folder, env=env
    )
    if result.returncode != 0:
        output = (result.stdout + result.stderr)[-4000:]
        raise RuntimeError(f"{command[0]} failed with exit code {result.returncode}:\n{output}")


def _move_into_place(aside: Path, target: Path) -> None:
    """Another run may have made the same thing meanwhile: then its work stands."""
    try:
        aside.rename(target)
    except OSError:
        shutil.rmtree(aside)
