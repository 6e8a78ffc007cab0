"""Public methods without a docstring: `python -m tests.house.documented` prints them.

A method needs none if an interface of ours (a `Protocol`) or a base class documents the method of that name,
if its class derives from a class that is not ours, or if its name is one of Twisted's (`dataReceived`).
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache

from tests.house.source import nodes, source_files

GENERATED = (
    "gateway/kafka/codec/messages/",
    "gateway/client/aio_classes",
    "gateway/client/blocking_classes",
)
"""Places of classes that are made by a script."""

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_PLAIN = {
    "ABC",
    "Enum",
    "Exception",
    "Generic",
    "IntEnum",
    "NamedTuple",
    "Protocol",
    "StrEnum",
    "TypedDict",
    "object",
}
"""Bases that document no method of ours."""
_OF_TWISTED = re.compile(r"[a-z]+[A-Z]\w*")


class _Class:
    """One class: its bases, and its methods by name, True if documented."""

    def __init__(self, path: str, node: ast.ClassDef) -> None:
        self.path = path
        self.node = node
        self.bases = {ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases}
        self.methods = {
            one.name: ast.get_docstring(one) is not None for one in node.body if isinstance(one, _FUNCTIONS)
        }


@cache
def _classes() -> dict[str, list[_Class]]:
    """Return our classes by name."""
    found: dict[str, list[_Class]] = defaultdict(list)
    for path in source_files():
        for node in nodes(path, ast.ClassDef):
            found[node.name].append(_Class(str(path), node))
    return found


@cache
def _of_interfaces() -> set[str]:
    """Return the names of the methods that interfaces of ours document."""
    interfaces = (one for same in _classes().values() for one in same if "Protocol" in one.bases)
    return {name for one in interfaces for name, is_documented in one.methods.items() if is_documented}


def _is_inherited(one: _Class, name: str) -> bool:
    """Return True if a base class documents the method, or is not ours."""
    for base in one.bases - _PLAIN:
        ours = _classes().get(base)
        if ours is None or any(
            each.methods.get(name) or _is_inherited(each, name) for each in ours if each is not one
        ):
            return True
    return False


def undocumented() -> Iterator[str]:
    """Yield the public methods that lack a docstring, each with its place."""
    for name, same in sorted(_classes().items()):
        for one in same:
            if not name.startswith("_") and not one.path.startswith(GENERATED):
                yield from _undocumented_methods(one)


def _undocumented_methods(one: _Class) -> Iterator[str]:
    for method in one.node.body:
        if not isinstance(method, _FUNCTIONS) or method.name.startswith("_") or ast.get_docstring(method):
            continue
        if any(ast.unparse(each).endswith((".setter", "overload")) for each in method.decorator_list):
            continue
        if (
            _OF_TWISTED.fullmatch(method.name)
            or method.name in _of_interfaces()
            or _is_inherited(one, method.name)
        ):
            continue
        yield f"{one.path}:{method.lineno} {one.node.name}.{method.name}"


if __name__ == "__main__":
    for finding in undocumented():
        print(finding)
