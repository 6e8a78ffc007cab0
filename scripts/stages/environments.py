"""The tox environments, made before the stages: two runs of tox cannot build the package at once."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

DESCRIBED_BY = ("tox.ini", "setup.cfg", "setup.py", "pyproject.toml")
TOX = (sys.executable, "-m", "tox", "run")
STAMP = ".tox/prepared"


class NotPrepared(RuntimeError):
    """tox failed to make an environment."""


def digest(root: Path) -> str:
    """Return the digest of everything that says what an environment contains."""
    found = hashlib.sha256(sys.version.encode())
    for name in DESCRIBED_BY:
        found.update((root / name).read_bytes())
    return found.hexdigest()[:16]


def unprepared(root: Path, names: Iterable[str]) -> list[str]:
    """Return those environments that are missing, or were made from another description."""
    stamp = root / STAMP
    known = dict(line.split() for line in stamp.read_text().splitlines()) if stamp.exists() else {}
    today = digest(root)
    return [
        name
        for name in dict.fromkeys(names)
        if known.get(name) != today or not (root / ".tox" / name / "pyvenv.cfg").exists()
    ]


def prepare(root: Path, names: Iterable[str], log: Path) -> list[str]:
    """Make the environments that are missing or outdated; return their names.

    Raises:
        NotPrepared: tox failed; its output is in the log.
    """
    wanted = unprepared(root, names)
    if not wanted:
        return []
    # uv has certificates of its own, unless it is asked to accept those of the machine, as pip does.
    env = {"UV_SYSTEM_CERTS": "1", "UV_NATIVE_TLS": "1", **os.environ}
    with log.open("wb") as output:
        command = [*TOX, "--notest", "-e", ",".join(wanted)]
        done = subprocess.run(
            command, cwd=root, stdout=output, stderr=subprocess.STDOUT, env=env, check=False
        )
    if done.returncode != 0:
        raise NotPrepared(f"tox cannot make {', '.join(wanted)}:\n{log.read_text(errors='replace')}")
    stamp = root / STAMP
    known = dict(line.split() for line in stamp.read_text().splitlines()) if stamp.exists() else {}
    known |= dict.fromkeys(wanted, digest(root))
    stamp.write_text("".join(f"{name} {value}\n" for name, value in sorted(known.items())))
    return wanted
