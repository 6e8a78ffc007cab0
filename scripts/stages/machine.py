"""The programs that tests need, and the Debian packages that bring them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import NamedTuple

from scripts.stages.plan import BROWSER, COMPILER, LONG, PEERS, SERVERS, SHELLS


class Program(NamedTuple):
    """Files of which one must exist, names being looked up on the path, and the packages that bring it."""

    group: str
    places: tuple[str, ...]
    packages: tuple[str, ...]


HEADER = str(Path(sysconfig.get_path("include")) / "Python.h")
HEADLESS = "/usr/lib/chromium/chromium-headless-shell"
PROGRAMS = (
    Program(COMPILER, ("gcc",), ("gcc", "libc6-dev")),
    Program(COMPILER, (HEADER,), ("python3-dev",)),
    Program(SHELLS, ("git",), ("git",)),
    Program(SHELLS, ("zsh",), ("zsh",)),
    Program(SHELLS, ("fish",), ("fish",)),
    Program(PEERS, ("java",), ("openjdk-17-jdk-headless",)),
    Program(PEERS, ("javac",), ("openjdk-17-jdk-headless",)),
    Program(PEERS, ("mvn",), ("maven",)),
    Program(PEERS, ("go", "/usr/local/go/bin/go"), ("golang-go",)),
    Program(PEERS, ("dockerd",), ("docker.io",)),
    Program(PEERS, ("debootstrap",), ("debootstrap",)),
    Program(PEERS, ("node",), ("nodejs",)),
    Program(PEERS, ("npm",), ("npm",)),
    Program(PEERS, ("curl",), ("curl",)),
    Program(SERVERS, ("etcd",), ("etcd-server",)),
    Program(SERVERS, ("etcdctl",), ("etcd-client",)),
    Program(SERVERS, ("prometheus",), ("prometheus",)),
    Program(SERVERS, ("promtool",), ("prometheus",)),
    Program(LONG, ("kcat",), ("kcat",)),
    Program(LONG, ("gcc",), ("gcc", "libc6-dev")),
    Program(LONG, ("make",), ("make",)),
    Program(LONG, ("docker-compose",), ("docker-compose",)),
    Program(LONG, ("systemd-nspawn",), ("systemd-container",)),
    Program(
        BROWSER, ("chromium", "/usr/lib/chromium/chromium-headless-shell"), ("chromium", "fonts-noto-cjk")
    ),
)


class NotInstallable(RuntimeError):
    """Packages are missing, and this user cannot install them."""


def exists(place: str) -> bool:
    """Return True if a program is on the path, or a file where it is named."""
    return Path(place).exists() if place.startswith("/") else shutil.which(place) is not None


def missing_packages(groups: Collection[str], is_there: Callable[[str], bool] = exists) -> list[str]:
    """Return the Debian packages that these groups of programs lack."""
    packages: dict[str, None] = {}
    for program in PROGRAMS:
        if program.group in groups and not any(map(is_there, program.places)):
            packages.update(dict.fromkeys(program.packages))
    return list(packages)


def install(packages: Sequence[str]) -> None:
    """Install Debian packages, as root or with sudo.

    Raises:
        NotInstallable: There is no apt-get, or no right to use it.
    """
    if not packages:
        return
    prefix = [] if os.geteuid() == 0 else ["sudo"]
    if shutil.which("apt-get") is None or (prefix and shutil.which("sudo") is None):
        raise NotInstallable(f"missing: {' '.join(packages)}; install them, or use --no-peers")
    print(f"installing {' '.join(packages)}", flush=True)
    quiet = ["env", "DEBIAN_FRONTEND=noninteractive"]
    for command in (["update", "-q"], ["install", "-y", "-q", "--no-install-recommends", *packages]):
        if subprocess.run([*prefix, *quiet, "apt-get", *command], stdout=2).returncode != 0:
            raise NotInstallable(f"apt-get {command[0]} failed; install {' '.join(packages)} by hand")
