"""Callbacks and collaborators are constructor arguments or subscribe; no object sets those of another."""

import ast
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from tests.house.source import nodes, source_files

EXCEPTIONS = {
    "gateway/access/control.py": ({"may_use"}, "attributes of one request, which hooks add to it"),
    "gateway/access/plain/control.py": ({"may_use"}, "attributes of one request, which hooks add to it"),
    "gateway/broker/clients/table.py": ({"may_use"}, "the newest heartbeat decides"),
    "gateway/runtime/http.py": (
        {"connectionLost"},
        "Twisted makes the protocol, and calls this method of it",
    ),
}
"""Modules that set callables of another object: the attributes, and why. It only shrinks."""

COLLABORATORS = {
    "engine/overlay.py": (
        {"content", "file"},
        "held content moves between files of one name",
    ),
    "engine/upkeep/check.py": ({"ledger", "tables"}, "numbers of a report, by names of collaborators"),
    "gateway/broker/acting/services.py": (
        {"gate"},
        "the gate of the log follows the role, and a new master's opens once its services are ready",
    ),
    "gateway/broker/clients/members.py": ({"subscribed"}, "a value, by the name of a collaborator"),
    "gateway/broker/clients/table.py": ({"subscribed"}, "a value, by the name of a collaborator"),
    "gateway/broker/operations/batches.py": ({"spans"}, "a value, by the name of a collaborator"),
    "gateway/grpc/service/renewals.py": ({"times"}, "a value, by the name of a collaborator"),
    "gateway/kafka/api/cluster.py": ({"nodes"}, "a value, by the name of a collaborator"),
}
"""Modules that set another object's collaborators, which may be None; as `EXCEPTIONS`."""

DATA = ("NamedTuple", "Enum", "StrEnum", "IntEnum", "Exception")
"""Bases of classes whose objects are values."""

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@cache
def declared() -> set[str]:
    """Return the names of attributes that are declared as callables."""
    return {
        node.target.attr
        for path in source_files()
        for node in nodes(path, ast.AnnAssign)
        if isinstance(node.target, ast.Attribute) and ast.unparse(node.annotation).startswith("Callable[")
    }


@cache
def collaborators() -> set[str]:
    """Return the names of attributes that are declared as an object of ours with methods, or None."""
    kinds = {
        node.name
        for path in source_files()
        for node in nodes(path, ast.ClassDef)
        if not node.decorator_list
        and not any(ast.unparse(base).rpartition(".")[2] in DATA for base in node.bases)
        and any(isinstance(one, DEFINITIONS) and not one.name.startswith("_") for one in node.body)
    }
    optional = re.compile(r"'?(\w+) \| None'?")
    return {
        node.target.attr if isinstance(node.target, ast.Attribute) else ast.unparse(node.target)
        for path in source_files()
        for node in nodes(path, ast.AnnAssign)
        if (found := optional.fullmatch(ast.unparse(node.annotation))) and found[1] in kinds
    }


def assignments(path: Path) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield each target of an assignment in a file, with its value."""
    for node in nodes(path, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                yield from zip(target.elts, node.value.elts, strict=True)
            else:
                yield target, node.value


def functions(path: Path) -> tuple[set[str], set[str]]:
    """Return the names of a file's methods, besides properties, and of its functions within functions."""
    methods, inner = set[str](), set[str]()
    for node in nodes(path, ast.ClassDef, *DEFINITIONS):
        names = methods if isinstance(node, ast.ClassDef) else inner
        names |= {
            one.name
            for one in node.body
            if isinstance(one, DEFINITIONS)
            and not any("property" in ast.unparse(each) for each in one.decorator_list)
        }
    own = {target.attr for target, _ in assignments(path) if isinstance(target, ast.Attribute)}
    return methods - own, inner


def is_function(value: ast.expr, methods: set[str], inner: set[str]) -> bool:
    """Return True if a value is a function by its form: a lambda, a partial one, an own method."""
    match value:
        case ast.Lambda():
            return True
        case ast.Call(func=ast.Name(id="partial")):
            return True
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return name in methods
        case ast.Name(id=name):
            return name in inner
    return False


def set_on_others(path: Path) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names of attributes of other objects that a file sets, with their values."""
    for target, value in assignments(path):
        match target, value:
            case ast.Attribute(value=ast.Name(id="self" | "cls")), _:
                continue
            case ast.Attribute(), ast.Constant():
                continue
            case ast.Attribute(attr=name), _:
                yield name, value


def callables(path: Path) -> set[str]:
    """Return the names of attributes of other objects that a file sets to functions."""
    methods, inner = functions(path)
    return {
        name
        for name, value in set_on_others(path)
        if name in declared() or is_function(value, methods, inner)
    }


def by_file(names_of: Callable[[Path], set[str]]) -> dict[str, set[str]]:
    """Return the names that were found, by file."""
    found = {path.as_posix(): names_of(path) for path in source_files()}
    return {path: names for path, names in found.items() if names}


def test_callables_are_not_set_from_outside() -> None:
    assert by_file(callables) == {path: names for path, (names, _) in EXCEPTIONS.items()}


def test_collaborators_are_not_set_from_outside() -> None:
    found = by_file(lambda path: {name for name, _ in set_on_others(path) if name in collaborators()})
    assert found == {path: names for path, (names, _) in COLLABORATORS.items()}
