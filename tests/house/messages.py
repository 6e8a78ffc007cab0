"""Texts of raised errors and of log lines, read from the source without importing it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.house.source import nodes, python_files

_PACKAGES = ("engine", "gateway", "pipeline", "pyspark_rocketmq", "pyspark_rocketmq_store")
_LEVELS = {"debug", "info", "warning", "error", "exception", "critical"}
_SPEAKS = re.compile(r"[a-z]+ [a-z]+")


def message_texts() -> Iterator[tuple[str, str]]:
    """Yield the place and text of every error that is raised and every line that is logged."""
    for package in _PACKAGES:
        for path in python_files(package):
            for node in nodes(path, ast.Raise, ast.Call):
                if _is_message(node):
                    yield from (
                        (f"{path}:{line}", text) for line, text in _texts(node) if _SPEAKS.search(text)
                    )


def _is_message(node: ast.Raise | ast.Call) -> bool:
    if isinstance(node, ast.Raise):
        return True
    if isinstance(node.func, ast.Name):
        return node.func.id.endswith(("Error", "Refused", "Argument", "Unavailable", "Illegal"))
    is_method = isinstance(node.func, ast.Attribute)
    return is_method and node.func.attr in _LEVELS and ast.unparse(node.func.value).endswith("log")


def _texts(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield each text inside `node`; the values of an f-string are written as braces."""
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            yield node.lineno, node.value
    elif isinstance(node, ast.JoinedStr):
        parts = (part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
        yield node.lineno, "".join(str(part) for part in parts)
    else:
        for child in ast.iter_child_nodes(node):
            yield from _texts(child)
