#!/usr/bin/env python3
"""Build the source distribution and the wheels, so that the same sources give the same bytes.

    scripts/wheels [--pure] [--check] [--with-dependencies] [FOLDER]

`--pure` leaves out the compiled wheel. `--check` builds everything a second time, from another folder, with
another hash seed, time zone and umask, and compares. `--with-dependencies` adds the wheels of the
dependencies, so that `pip install --no-index --find-links FOLDER mqgateway` needs no index. pip takes the
compiled wheel where it fits, the pure one elsewhere. Times are SOURCE_DATE_EPOCH, else the last commit's.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SHIPPED = (
    "mqgateway",
    "pyspark_rocketmq",
    "pyspark_rocketmq_store",
    "docs",
    "CHANGELOG.md",
    "LICENSE",
    "MANIFEST.in",
    "README.md",
    "pyproject.toml",
    "setup.cfg",
    "setup.py",
)
"""Files and folders of a distribution; links are followed."""
EARLIEST = 315_532_800
"""The first second of 1980, the earliest time that a zip file can have."""
BUILD = (
    "import sys; from setuptools import build_meta; getattr(build_meta, 'build_' + sys.argv[1])(sys.argv[2])"
)


def epoch() -> int:
    """Return the time of all files, in s."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given is None:
        command = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
        given = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    return max(EARLIEST, int(given or EARLIEST))


def copied(folder: Path) -> Path:
    """Return a copy of the shipped files, with the modes of a fresh clone whatever the umask."""
    ignored = shutil.ignore_patterns("__pycache__", "*.so")
    for name in SHIPPED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, folder / name)
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    return folder


def build(out: Path, time: int, *, compiled: bool, variables: dict[str, str] | None = None) -> None:
    """Build into a folder: a compiled wheel, or the pure wheel and the source distribution."""
    env = {**os.environ, "SOURCE_DATE_EPOCH": str(time), **(variables or {})}
    env["MQGATEWAY_COMPILE"] = "1" if compiled else "0"
    for kind in ("wheel",) if compiled else ("wheel", "sdist"):
        with tempfile.TemporaryDirectory() as folder:
            source = copied(Path(folder) / "mqgateway")
            command = [sys.executable, "-c", BUILD, kind, str(out.resolve())]
            done = subprocess.run(
                command,
                cwd=source,
                env=env,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                umask=0o022,
            )
            if done.returncode != 0:
                raise SystemExit(f"building failed:\n{done.stdout[-5000:]}")
    for archive in out.glob("mqgateway-*.tar.gz"):
        normalise(archive, time)


def normalise(archive: Path, time: int) -> None:
    """Pack a source distribution again: members in the order of their names, with one time and no owner."""
    with tarfile.open(archive) as packed:
        members = sorted(packed.getmembers(), key=lambda member: member.name)
        contents = [(member, packed.extractfile(member)) for member in members]
        with (
            archive.with_suffix(".new").open("wb") as raw,
            gzip.GzipFile("", "wb", 9, raw, time) as zipped,
            tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as made,
        ):
            for member, content in contents:
                member.mtime, member.uid, member.gid, member.uname, member.gname = time, 0, 0, "", ""
                member.mode = 0o755 if member.isdir() else 0o644
                member.pax_headers = {}
                made.addfile(member, content)
    archive.with_suffix(".new").replace(archive)


def hashes(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of our own distributions in a folder."""
    found = sorted(folder.glob("mqgateway-*"))
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


def build_otherwise(out: Path, time: int, *, compiled: bool) -> None:
    """Build with another hash seed, time zone and umask, which must not change the result."""
    before = os.umask(0o027)
    try:
        build(out, time, compiled=compiled, variables={"PYTHONHASHSEED": "42", "TZ": "Asia/Shanghai"})
    finally:
        os.umask(before)


def main(arguments: list[str]) -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(prog="scripts/wheels")
    parser.add_argument("folder", nargs="?", default=ROOT / "dist", type=Path)
    parser.add_argument("--pure", action="store_true", help="no compiled wheel")
    parser.add_argument("--check", action="store_true", help="build twice and compare")
    parser.add_argument("--with-dependencies", action="store_true", help="add wheels of what is needed")
    given = parser.parse_args(arguments)
    time, forms = epoch(), (False,) if given.pure else (False, True)
    given.folder.mkdir(parents=True, exist_ok=True)
    for old in given.folder.glob("mqgateway-*"):
        old.unlink()
    for compiled in forms:
        build(given.folder, time, compiled=compiled)
    made = hashes(given.folder)
    print("\n".join(f"{digest}  {name}" for name, digest in made.items()))
    if given.with_dependencies:
        wheel = next(given.folder.glob("mqgateway-*.whl"))
        # Not `pip download`: crcmod is published as source only, so its wheel is built.
        wheels = ["wheel", "-q", "--disable-pip-version-check", "--prefer-binary"]
        subprocess.run([sys.executable, "-m", "pip", *wheels, "-w", given.folder, wheel], check=True)
    if given.check:
        with tempfile.TemporaryDirectory() as folder:
            for compiled in forms:
                build_otherwise(Path(folder), time, compiled=compiled)
            again = hashes(Path(folder))
        differ = sorted(name for name in made.keys() | again.keys() if made.get(name) != again.get(name))
        print(f"built twice, different: {', '.join(differ)}" if differ else "built twice, equal")
        return int(bool(differ))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
