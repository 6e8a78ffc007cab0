"""An operation returns `T` or `Deferred[T]`; one module tests which of the two it is."""

import ast
from collections import Counter

from tests.house.source import nodes, source_files

OUTCOMES = "gateway/runtime/outcomes.py"
HOT_PATHS = {
    "gateway/broker/consume/requests.py": (1, "every pull"),
    "gateway/broker/operations/batches.py": (1, "every fetch"),
    "gateway/grpc/conversation.py": (1, "every unary call; a Deferred is kept, to be cancelled"),
    "gateway/kafka/api/fetch.py": (1, "every fetch; an answer is encoded in steps"),
    "gateway/kafka/api/produce.py": (2, "every partition of a send"),
    "gateway/kafka/connection.py": (1, "every request; a Deferred is kept, to be cancelled"),
    "gateway/kafka/dispatch.py": (3, "every request; an answer is encoded in steps"),
    "gateway/remoting/dispatch.py": (1, "every late answer; a Deferred marks its call as held"),
    "gateway/remoting/protocol.py": (2, "every request; a Deferred is kept, to be cancelled"),
}
"""Other modules that test for a Deferred: how often, and why. It only shrinks."""
MIXED = {
    "gateway/remoting/dispatch.py": "requests are served at once, later, or as cooperative tasks",
    "gateway/remoting/long_work.py": "an exception is the result of a cooperative task that raised it",
    OUTCOMES: "an errback may return the failure",
}
"""Modules with annotations that mix a Deferred with more than its own result."""


def is_deferred_test(node: ast.Call) -> bool:
    """Return True for a call of `isinstance` whose classes include Deferred."""
    return (
        isinstance(node.func, ast.Name)
        and node.func.id == "isinstance"
        and any(isinstance(part, ast.Name) and part.id == "Deferred" for part in ast.walk(node.args[1]))
    )


def members(union: ast.expr) -> list[ast.expr]:
    """Return the members of a union."""
    if isinstance(union, ast.BinOp) and isinstance(union.op, ast.BitOr):
        return [*members(union.left), *members(union.right)]
    return [union]


def chain(union: ast.expr) -> list[ast.expr]:
    """Return a union and the unions that are its left sides."""
    return [union, *chain(union.left)] if isinstance(union, ast.BinOp) else [union]


def is_deferred(member: ast.expr) -> bool:
    """Return True for `Deferred[...]`."""
    return (
        isinstance(member, ast.Subscript)
        and isinstance(member.value, ast.Name)
        and member.value.id == "Deferred"
    )


def is_mixed(union: ast.expr) -> bool:
    """Return True if a union has a Deferred, and several members that are not what this Deferred brings."""
    parts = members(union)
    deferreds = [part for part in parts if is_deferred(part)]
    if not deferreds or len(parts) == len(deferreds) == 1:
        return False
    [first, *others] = deferreds
    assert isinstance(first, ast.Subscript)
    brought = {ast.unparse(part) for part in members(first.slice)}
    results = {ast.unparse(part) for part in parts if not is_deferred(part)}
    is_optional = len(results) < 2
    return bool(others) or not (is_optional or results == brought or "Any" in brought)


def test_one_module_tests_for_a_deferred() -> None:
    """Besides hot paths, where a call for each request would cost too much."""
    found = Counter(
        path.as_posix() for path in source_files() for node in nodes(path, ast.Call) if is_deferred_test(node)
    )
    assert found.pop(OUTCOMES) > 0
    assert found == {path: count for path, (count, _) in HOT_PATHS.items()}


def test_a_deferred_is_mixed_with_its_own_result_only() -> None:
    found = set()
    for path in source_files():
        inner: set[ast.AST] = set()
        for node in nodes(path, ast.BinOp):
            if node in inner:
                continue
            inner.update(chain(node))
            if is_mixed(node):
                found.add(path.as_posix())
    assert found == MIXED.keys()
