"""Outcomes of scenarios by the digest of their sources, so that a proven scenario need not run again.

Apache's server does not change, so a scenario that passed on it once passes again as long as its own code,
its helpers and its client programs are the same. The record beside the suite has a digest of those for each
scenario that was run, with the date and the result; a scenario with another digest, or none, is run. Comments
and docstrings are not in the digest, so that rewording them makes no entry stale.

Only scenarios about Apache's server alone are taken from that record. Every other scenario depends on this
project too: its digest (`our_digest_of`) covers the product and the installed packages as well, and its
record is kept in the cache of this machine.
"""

from __future__ import annotations

import ast
import hashlib
import io
import json
import os
import sys
import tokenize
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.metadata import distributions
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parents[1]
RECORD = FOLDER / "apache.json"
PASSED, FAILED = "passed", "failed"

EVERYWHERE = ("conftest",)
"""Modules that every scenario depends on."""
BOOKKEEPING = ("support.record", "support.selection", "support.workers", "official")
"""Modules that only `conftest` needs, to select and report scenarios.

No scenario uses them: Apache's own tests are not about Apache's server here.
"""
PROGRAMS = {
    "support.artifacts": ("support/java",),
    "support.golang": ("support/go",),
    "support.signing": ("support/signing_java", "support/signing_go"),
    "support.grpc.builds": ("support/grpc/programs",),
    "support.grpc.rust": ("support/grpc/rust_driver",),
    "kafka.support.builds": ("kafka/programs",),
    "kafka.support.transactional": ("kafka/transactional",),
    "kafka.support.secured": ("kafka/secured",),
    "kafka.support.shares": ("kafka/sharing",),
    "kafka.support.frameworks": ("kafka/frameworks",),
}
"""Folders of client programs, by the helper that builds them."""
NOT_PROGRAMS = ("bench", "official", "tests", "tests.pom.xml", "__pycache__")
"""Parts of the folders of client programs that no scenario uses, and files that Python writes in a run."""
OUR_PARTS = frozenset({"client", "mqadmin", "pipeline", "testing"})
"""Packages of the product used beside a server; the others are imported for names and layouts only."""
PRODUCT = frozenset({"engine", "gateway", "pipeline", "mqgateway"})
SERVED = ("engine", "gateway", "mqgateway")
"""Folders of the product that every scenario depends on: servers import much of them by name, at run time."""


class Outcome(NamedTuple):
    """Outcome of a scenario: the digest it ran with, the day, and `passed` or `failed`."""

    digest: str
    date: str
    result: str


class Record:
    """The scenarios of one version of Apache's server, by their node ids."""

    def __init__(self, version: str, outcomes: Mapping[str, Outcome] | None = None) -> None:
        self.version = version
        self.outcomes = dict(outcomes or {})

    @classmethod
    def load(cls, version: str, path: Path = RECORD) -> Record:
        """Load the record; it is empty if the file is missing or about another version."""
        document = json.loads(path.read_text()) if path.exists() else {}
        if document.get("version") != version:
            return cls(version)
        return cls(version, {name: Outcome(**one) for name, one in document["scenarios"].items()})

    def save(self, path: Path = RECORD) -> None:
        """Write the record, one line per scenario. Readers see the old or the new file, never a part."""
        lines = [
            f"  {json.dumps(name)}: {json.dumps(one._asdict())}"
            for name, one in sorted(self.outcomes.items())
        ]
        text = f'{{"version": {json.dumps(self.version)}, "scenarios": {{\n' + ",\n".join(lines) + "\n}}\n"
        aside = path.with_name(f"{path.name}.{os.getpid()}")
        aside.write_text(text)
        aside.replace(path)

    def has_passed(self, name: str, digest: str) -> bool:
        """Return True if a scenario has passed with this digest."""
        one = self.outcomes.get(name)
        return one is not None and (one.digest, one.result) == (digest, PASSED)

    def merge(self, results: Mapping[str, Outcome], digests: Mapping[str, str]) -> None:
        """Add the outcomes of a run, which may cover only some scenarios, and drop stale ones.

        An outcome is kept as long as its file still has the digest it ran with; `digests` has those of all
        files.
        """
        self.outcomes |= results
        for name, one in list(self.outcomes.items()):
            if digests.get(file_of(name)) != one.digest:
                del self.outcomes[name]

    def dates(self, names: Iterable[str]) -> tuple[str, str]:
        """Return the first and the last day on which these scenarios ran."""
        days = [self.outcomes[name].date for name in names]
        return min(days), max(days)


def file_of(name: str) -> str:
    """Return the module of a node id, as the suite imports it: `test_send`, `kafka.test_records`."""
    return ".".join(Path(name.partition("::")[0]).with_suffix("").parts[1:])


def digest_of(stem: str, folder: Path = FOLDER) -> str:
    """Return the digest of the code, helpers and programs that scenarios of a file use beside the product."""
    found = hashlib.sha256()
    modules = sorted(helpers(stem, folder))
    for module in modules:
        found.update(_text(_path(module, folder)))
    for helper, programs in sorted(PROGRAMS.items()):
        if helper in modules:
            for path in sorted(path for each in programs for path in _programs(folder / each)):
                found.update(str(path.relative_to(folder)).encode() + b"\0" + _text(path))
    return found.hexdigest()[:16]


def our_digest_of(stem: str, folder: Path = FOLDER) -> str:
    """Return the digest of `digest_of`, the product, Python and the installed packages."""
    uses_pipeline = any(
        "pipeline" in (package, *rest.split("."))
        for module in helpers(stem, folder)
        for package, rest in imports(_path(module, folder))
    )
    product = product_digest(folder.parent, (*SERVED, "pipeline") if uses_pipeline else SERVED)
    parts = (digest_of(stem, folder), product, installed_digest())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


@cache
def product_digest(root: Path, folders: tuple[str, ...] = SERVED) -> str:
    """Return the digest of all files of these folders, except those that Python and compilers write."""
    found = hashlib.sha256()
    for path in sorted(path for name in folders for path in (root / name).rglob("*") if path.is_file()):
        if "__pycache__" not in path.parts and path.suffix != ".so":
            found.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return found.hexdigest()


@cache
def installed_digest() -> str:
    """Return the digest of the versions of Python and of all installed packages."""
    packages = sorted(f"{one.metadata['Name']} {one.version}" for one in distributions())
    return hashlib.sha256("\n".join([sys.version, *packages]).encode()).hexdigest()


def helpers(stem: str, folder: Path = FOLDER) -> set[str]:
    """Return the modules of the suite that a file imports, directly or not, including itself."""
    known: set[str] = set()
    packages = stem.split(".")[:-1]
    waiting = [stem, *EVERYWHERE, *(".".join([*packages, one]) for one in EVERYWHERE)]
    while waiting:
        module = waiting.pop()
        is_met = not any(f"{module}.".startswith(f"{one}.") for one in BOOKKEEPING)
        if is_met and module not in known and _path(module, folder).exists():
            known.add(module)
            waiting += [name for package, name in imports(_path(module, folder)) if package == folder.name]
    return known


def has_our_part(stem: str, folder: Path = FOLDER) -> bool:
    """Return True if a part of this project is used beside the server."""
    for module in helpers(stem, folder):
        for package, rest in imports(_path(module, folder)):
            is_public = package == "mqgateway" and rest.partition(".")[0] not in PRODUCT
            if is_public or (package in PRODUCT and OUR_PARTS & {package, *rest.split(".")}):
                return True
    return False


@cache
def imports(path: Path) -> frozenset[tuple[str, str]]:
    """Return package and module of every import of a file. A name from a package may be a module too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {node.module, *(f"{node.module}.{one.name}" for one in node.names)}
    return frozenset((name.partition(".")[0], name.partition(".")[2]) for name in found)


def _path(module: str, folder: Path) -> Path:
    place = folder.joinpath(*module.split("."))
    return place / "__init__.py" if place.is_dir() else place.with_suffix(".py")


def _programs(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        if path.is_file() and not set(path.relative_to(folder).parts) & set(NOT_PROGRAMS):
            yield path


@cache
def _text(path: Path) -> bytes:
    return code_of(path.read_text()).encode() if path.suffix == ".py" else path.read_bytes()


def code_of(source: str) -> str:
    """Return the text of a module without comments, docstrings and empty lines.

    It is cut by position, not printed from the tree: every version of Python makes the same text.
    """
    lines = source.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str):
            last = node.end_lineno or node.lineno
            lines[node.lineno - 1 : last] = [""] * (last - node.lineno + 1)
    return "".join(f"{line.rstrip()}\n" for line in lines if line.strip())
