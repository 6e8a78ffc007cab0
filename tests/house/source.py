"""The source tree as the structural tests see it: files, their parsed form and their imports."""

import ast
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("engine", "gateway", "pipeline")
INSTALLED = "mqgateway."
"""Prefix of our packages where they are imported; the rules on imports leave it out."""


def source_files() -> list[Path]:
    """Every Python file of the product, relative to the root."""
    return [path for package in (*PACKAGES, "mqgateway") for path in python_files(package)]


def python_files(folder: str) -> list[Path]:
    """Every Python file below a folder, relative to the root."""
    return sorted(path.relative_to(ROOT) for path in (ROOT / folder).rglob("*.py"))


@cache
def tree(path: Path) -> ast.Module:
    """The parsed file."""
    return ast.parse((ROOT / path).read_text(), str(path))


Node = TypeVar("Node", bound=ast.AST)


@cache
def _nodes_by_kind(path: Path) -> Mapping[type, list[ast.AST]]:
    """Walking takes most of the time of these tests, so each file is walked once."""
    found: dict[type, list[ast.AST]] = defaultdict(list)
    for node in ast.walk(tree(path)):
        found[type(node)].append(node)
    return dict(found)


def nodes(path: Path, *kinds: type[Node]) -> Iterator[Node]:
    """Yield the nodes of a file that are of these kinds: kind by kind, each from the outside in."""
    for kind in kinds:
        yield from _nodes_by_kind(path).get(kind, ())  # type: ignore[misc]


def module_name(path: Path) -> str:
    """`engine/store/record.py` as `engine.store.record`; a package's `__init__` as the package."""
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def imported_modules(path: Path) -> frozenset[str]:
    """The modules a file imports, anywhere in it, ours without `mqgateway.` in front.

    `from package import name` gives both readings.
    """
    found = set()
    for name in imports_as_written(path):
        ours = name.removeprefix(INSTALLED)
        found.add(ours if ours.partition(".")[0] in PACKAGES else name)
    return frozenset(found)


@cache
def import_graph(below: str = "") -> dict[str, set[str]]:
    """For each of our modules below a place, those of them that it imports, for types only too.

    `from package import module` is an import of the module, not of its package.
    """
    modules = {module_name(path): path for path in source_files()}
    chosen = {name: path for name, path in modules.items() if f"{name}.".startswith(below)}
    graph = {}
    for name, path in chosen.items():
        imported = set()
        for plain in nodes(path, ast.Import):
            imported.update(one.name for one in plain.names)
        for node in nodes(path, ast.ImportFrom):
            if node.module is not None:
                found = {f"{node.module}.{one.name}" for one in node.names}
                below_it = {one for one in found if one.removeprefix(INSTALLED) in modules}
                imported |= below_it if below_it == found else below_it | {node.module}
        graph[name] = {one.removeprefix(INSTALLED) for one in imported} & chosen.keys() - {name}
    return graph


def circles(graph: Mapping[str, Collection[str]]) -> list[list[str]]:
    """The groups of names that reach one another."""
    reached: dict[str, set[str]] = {}
    for name in graph:
        seen: set[str] = set()
        ahead = list(graph[name])
        while ahead:
            one = ahead.pop()
            if one not in seen:
                seen.add(one)
                ahead.extend(graph[one])
        reached[name] = seen
    groups = {
        tuple(sorted({name, *(one for one in reached[name] if name in reached[one])}))
        for name in graph
        if name in reached[name]
    }
    return [list(group) for group in sorted(groups)]


@cache
def imports_as_written(path: Path) -> frozenset[str]:
    """Return the modules a file imports, with the names as written, `mqgateway.` included."""
    found = {name.name for node in nodes(path, ast.Import) for name in node.names}
    for node in nodes(path, ast.ImportFrom):
        assert node.level == 0, f"{path}:{node.lineno}: imports are absolute"
        assert node.module is not None
        found.add(node.module)
        folder = ROOT / node.module.replace(".", "/")
        found |= {
            f"{node.module}.{name.name}" for name in node.names if (folder / f"{name.name}.py").exists()
        }
    return frozenset(found)
