"""The official peers as jar sets and Go modules, and our programs compiled against them.

Each set is one pom file in ``java/`` and a version; Maven resolves it once into the cache folder
(``MQGATEWAY_CACHE``, default ``~/.cache/mqgateway``). The repositories are those of Maven's and Go's own
configuration. Programs are compiled once for each set and each state of their source.

Scenarios run in threads and in several processes, so every entry of the cache has a lock: the first caller
builds it, the others wait for the result.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

JAVA = Path(__file__).parent / "java"
GO = Path(__file__).parent / "go"
SHARED = "common"

CURRENT = "5.5.0"
"""The reference version of RocketMQ: server, tools and newest client."""

CLIENT_VERSIONS = (CURRENT, "4.9.8")
"""Client versions of every scenario: the current version and the version of the installed base."""

OLD_SERVER = "4.9.7"
"""The newest server of the 4.9 line that is published as a jar."""

EXAMPLE_VERSIONS = (CURRENT,)
"""Versions of the official examples; of the 4.9 line none is published as a jar."""

OPENS = (
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
)
"""JVM options that RocketMQ's Java code needs on Java 17."""

SMALL_JVM = ("-XX:+UseSerialGC", "-Xmx256m", "-XX:TieredStopAtLevel=1", *OPENS)
"""Options of client JVMs: quick to start, small."""

BUILD_SECONDS = 900


def cache_folder() -> Path:
    """Return the folder of costly build results; create it if it is missing."""
    folder = Path(os.environ.get("MQGATEWAY_CACHE", Path.home() / ".cache" / "mqgateway"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def jars(name: str, version: str = CURRENT) -> Path:
    """Return the folder of all jars of one set (``client``, ``example``, ``tools`` or ``server``)."""
    return copied_jars(JAVA / f"{name}.pom.xml", version, cache_folder() / "jars" / f"{name}-{version}")


def copied_jars(pom: Path, version: str, target: Path) -> Path:
    """Return the folder of all jars that a pom file needs at run time.

    Maven runs are serialized: they write to one local repository, which has no locks.
    """
    command = ["mvn", "-q", "-B", "-f", str(pom), f"-Drocketmq.version={version}"]
    command += ["dependency:copy-dependencies", "-DincludeScope=runtime"]

    def copy(aside: Path) -> None:
        with locked(cache_folder() / "maven"):
            run([*command, f"-DoutputDirectory={aside}"])

    return made(target, copy)


def class_path(name: str, version: str = CURRENT) -> str:
    """Return the class path of one set."""
    return f"{jars(name, version)}/*"


def program(folder: str, name: str, version: str = CURRENT) -> str:
    """Return the class path of one of our Java programs, compiled against a jar set.

    The sources are ``java/<folder>`` and the shared folder.
    """
    sources = [path for place in (folder, SHARED) for path in sorted((JAVA / place).rglob("*.java"))]
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:12]
    needed = class_path(name, version)
    command = ["javac", "-nowarn", "-Xlint:-options", "--release", "8", "-encoding", "UTF-8", "-cp", needed]
    target = made(
        cache_folder() / "classes" / f"{Path(folder).name}-{name}-{version}-{digest}",
        lambda aside: run([*command, "-d", str(aside), *map(str, sources)]),
    )
    return f"{target}:{needed}"


def go_program(folder: str) -> Path:
    """Return one of our Go programs (``go/<folder>``), linked so that it runs on any Linux.

    ``go.mod`` sets the version of the client.
    """
    source = GO / folder
    files = sorted(path for path in source.iterdir() if path.suffix in (".go", ".mod", ".sum"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12]
    command = [_go(), "build", "-trimpath", "-buildvcs=false"]
    env = {"HOME": str(Path.home()), **os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local"}
    return made(
        cache_folder() / "go" / f"{Path(folder).name}-{digest}",
        lambda aside: run([*command, "-o", str(aside), "."], source, env),
    )


def _go() -> str:
    """Return the compiler on the path, else the location of the official package."""
    return shutil.which("go") or "/usr/local/go/bin/go"


def made(target: Path, make: Callable[[Path], None]) -> Path:
    """Return a file or folder of the cache; build it first if it is missing.

    ``make`` builds it at the path it is given, in a folder of its own. A failed build leaves nothing behind,
    and the next caller tries again.
    """
    if target.exists():
        return target
    with locked(target):
        if not target.exists():
            with tempfile.TemporaryDirectory(prefix="making-", dir=target.parent) as folder:
                aside = Path(folder) / target.name
                make(aside)
                aside.rename(target)
    return target


@contextmanager
def locked(target: Path) -> Iterator[None]:
    """Hold the lock of an entry of the cache, against threads and processes."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.with_name(f".{target.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def run(command: list[str], folder: Path | None = None, env: Mapping[str, str] | None = None) -> None:
    """Run one step of a build. Raises `RuntimeError` with the end of its output."""
    result = subprocess.run(
        command, capture_output=True, text=True, timeout=BUILD_SECONDS, check=False, cwd=folder, env=env
    )
    if result.returncode != 0:
        output = (result.stdout + result.stderr)[-4000:]
        raise RuntimeError(f"{command[0]} failed with exit code {result.returncode}:\n{output}")
