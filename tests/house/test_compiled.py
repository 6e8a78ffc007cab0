"""Modules that can be compiled: those named in setup.py are there, no extension is older than its source."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from configparser import ConfigParser
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

from scripts.stages.plan import hot_modules
from tests.house.source import PACKAGES as OURS
from tests.house.source import imported_modules, module_name, nodes, python_files, source_files

ROOT = Path(__file__).parents[2]
PACKAGES = ("engine", "gateway")
COMES_WITH_OTHERS = {"pytest", "zope"}
"""Twisted brings the one; who loads the plugin has the other."""

CHANGEABLE = {
    "mqgateway/engine/meters.py": {"SETTLED_A_STEP"},
    "mqgateway/engine/store/flush.py": {"FILES_MANY", "PAGE"},
    "mqgateway/engine/store/read_windows.py": {"PARTS"},
    "mqgateway/engine/store/unit_queue.py": {"PAGE"},
    "mqgateway/gateway/access/signature.py": {"ORDERS_MAX"},
}
"""Constants that tests set."""


LISTED = hot_modules((ROOT / "setup.py").read_text())
"""The modules that setup.py names."""


def test_listed_modules_are_there() -> None:
    assert LISTED and not [path for path in LISTED if not (ROOT / path).is_file()]


def test_no_compiled_module_is_older_than_its_source() -> None:
    """An extension hides the source beside it: a change of the source would have no effect."""
    compiled = [path for package in PACKAGES for path in (ROOT / package).rglob("*.so")]
    stale = [
        str(path)
        for path in compiled
        if path.stat().st_mtime < max(source.stat().st_mtime for source in sources_of(path))
    ]
    assert not stale, "run scripts/compile again, or scripts/compile --undo"


def sources_of(extension: Path) -> list[Path]:
    """The files in C or the one of Python that an extension was made of."""
    name = extension.name.partition(".")[0]
    return sorted(extension.parent.glob(f"{name}*.[ch]")) or [extension.with_name(f"{name}.py")]


def test_compiling_needs_nothing_but_what_is_always_installed() -> None:
    """mypyc reads all modules that the listed ones lead to; what an extra brings need not be there then."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]["overrides"]
    may_be_missing = {name for one in settings if one.get("ignore_missing_imports") for name in one["module"]}
    described = ConfigParser()
    described.read(ROOT / "setup.cfg")
    required = described["options"]["install_requires"].split("\n")
    installed = {normal(one.partition(" ")[0]) for one in required if one}
    known = {*sys.stdlib_module_names, *OURS, *COMES_WITH_OTHERS, "mqgateway"}
    found = {name.partition(".")[0] for path in source_files() for name in imported_modules(path)} - known
    by = packages_distributions()
    extra = {name for name in found if not installed & set(map(normal, by.get(name, ())))}
    assert "pyspark" in extra and {f"{name}.*" for name in extra} <= may_be_missing


def test_constants_of_compiled_modules_are_final() -> None:
    """Others are looked up by name each time: a twentieth of what a send takes."""
    found = {path: constants_that_are_not_final(path) for path in LISTED}
    assert {path: names for path, names in found.items() if names} == CHANGEABLE


def constants_that_are_not_final(path: str) -> set[str]:
    """Return the names in capitals that a module binds without `Final`."""
    looked_up = set[str]()
    for statement in ast.parse((ROOT / path).read_text()).body:
        if isinstance(statement, ast.Assign):
            if not ast.unparse(statement.value).startswith(("TypeVar", "ParamSpec")):
                looked_up |= set(map(ast.unparse, statement.targets))
        elif isinstance(statement, ast.AnnAssign) and "Final" not in ast.unparse(statement.annotation):
            looked_up.add(ast.unparse(statement.target))
    return {name for name in looked_up if name.isupper()}


def test_interpreted_classes_have_no_compiled_base() -> None:
    """They cannot be made, unless the base is a protocol or says that it allows them."""
    compiled = {path.removeprefix("mqgateway/") for path in LISTED}
    closed = {
        (module_name(Path(path)), one.name)
        for path in compiled
        for one in classes(Path(path))
        if not any("allow_interpreted_subclasses" in ast.unparse(each) for each in one.decorator_list)
        and "Protocol" not in map(ast.unparse, one.bases)
    }
    names = "|".join(name for _, name in closed)
    derived = re.compile(rf"^ *class \w+\(.*\b({names})\b", re.MULTILINE)
    wrong = [
        f"{path}: {one.name}"
        for path in (*source_files(), *python_files("tests"))
        if str(path) not in compiled and derived.search((ROOT / path).read_text())
        for one in classes(path)
        if closed & {imported_from(path).get(ast.unparse(base), ("", "")) for base in one.bases}
    ]
    assert not wrong


def classes(path: Path) -> list[ast.ClassDef]:
    """Return the classes of a file, the inner ones too."""
    return list(nodes(path, ast.ClassDef))


@cache
def imported_from(path: Path) -> dict[str, tuple[str, str]]:
    """Return the module and name behind each name that a file imports from a module, without `mqgateway.`."""
    return {
        one.asname or one.name: (node.module.removeprefix("mqgateway."), one.name)
        for node in nodes(path, ast.ImportFrom)
        if node.module
        for one in node.names
    }


def normal(name: str) -> str:
    """The name of a distribution as an index knows it."""
    return re.sub("[-_.]+", "-", name).lower()
