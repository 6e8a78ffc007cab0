"""A callback is a constructor argument or subscribes (`watch_...`); other objects do not set it."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.house.source import nodes, source_files

EXCEPTIONS = {
    "engine/store/administration.py": ({"on_synced"}, "metrics watch the syncs of a store that exists"),
    "engine/store/flush.py": ({"on_dirty_tail"}, "the log exists before what repairs its end"),
    "engine/store/message_store.py": (
        {"remove", "readable_end"},
        "pools, index and compacted parts exist before what removes files, and what reads",
    ),
    "gateway/access/control.py": ({"may_use"}, "attributes of one request, which hooks add to it"),
    "gateway/access/plain/control.py": ({"may_use"}, "attributes of one request, which hooks add to it"),
    "gateway/broker/acting/services.py": ({"elsewhere"}, "a slave's gate sends elsewhere only while it acts"),
    "gateway/broker/assembly.py": (
        {"leader_sends_log", "log_range"},
        "topics exist before the store, and replication before the member of a DLedger group",
    ),
    "gateway/broker/clients/table.py": ({"may_use"}, "the newest heartbeat decides"),
    "gateway/broker/cluster/state.py": ({"on_change"}, "topics exist before the registration"),
    "gateway/broker/operations/clients.py": (
        {"is_reserved"},
        "front ends start after the broker's parts exist",
    ),
    "gateway/broker/replication/master.py": (
        {"on_arrivals"},
        "slaves take part in arrivals only while one is connected",
    ),
    "gateway/grpc/front_end.py": ({"connections"}, "meters exist before front ends start"),
    "gateway/kafka/front_end.py": (
        {"connections", "quotas", "telemetry"},
        "meters exist before front ends start",
    ),
    "gateway/mqadmin/main.py": ({"confirm", "note", "remark"}, "only a terminal has them"),
    "gateway/runtime/http.py": (
        {"connectionLost"},
        "Twisted makes the protocol, and calls this method of it",
    ),
    "gateway/testing/faults.py": ({"interceptor"}, "only the test server intercepts requests"),
}
"""Modules that set callables of another object: the attributes, and why. It only shrinks."""

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


def set_on_others(path: Path) -> Iterator[str]:
    """Yield the names of attributes of other objects that a file sets to functions."""
    methods, inner = functions(path)
    for target, value in assignments(path):
        match target, value:
            case ast.Attribute(value=ast.Name(id="self" | "cls")), _:
                continue
            case ast.Attribute(), ast.Constant():
                continue
            case ast.Attribute(attr=name), _:
                if name in declared() or is_function(value, methods, inner):
                    yield name


def test_callables_are_not_set_from_outside() -> None:
    found = {path.as_posix(): set(set_on_others(path)) for path in source_files()}
    assert {path: names for path, names in found.items() if names} == {
        path: names for path, (names, _) in EXCEPTIONS.items()
    }
