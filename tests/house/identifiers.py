"""Check the names that the code defines; `python -m tests.house.identifiers` prints the findings.

Checked are modules, classes, functions, parameters, attributes, constants and local variables of the product,
its tests, scripts and benchmarks. `tests/house/english.py` checks the prose.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.house.source import ROOT, tree

FOLDERS = ("engine", "gateway", "pipeline", "mqgateway", "tests", "bench", "scripts")
"""Folders whose names are checked. Those of `compat_tests` are part of the digests of recorded outcomes."""

WORDS = {
    r"told|tells?|telling": "notify, report, send",
    r"askers?": "principal, caller",
    r"who(?:so)?ever|somebody|nobody|everybody": "a named subject (client, broker, caller ...)",
    r"anew": "again",
    r"laggards?": "slow_consumer",
    r"doors?": "listener, front_end",
    r"(?:go|goes|went|going)_on": "resume, continue",
    r"in_good_order|in_vain": "cleanly, unsuccessfully",
    r"under_way|given_out": "in_flight, delivered",
    r"roads?|house": "path, code_base",
    r"(?<!heart_)beats?": "tick, heartbeat",
    r"let_in|stand_before": "authenticate, intercept",
    r"light_queues?": "lmq",
    r"liting|slowing|transacting": "lite, throttling, transactions",
    r"pieces?": "chunk, part, range, item",
    r"seal(?:s|ed|ing)?": "checksum, encrypt",
    r"faces?": "facade, API",
    r"nouns?": "resource",
    r"came": "received, arrived, result",
}
"""Private words as patterns, each with the term to write instead."""

ACCEPTED = {
    "NOBODY": "a role, as the console's API spells it",
    "max_escapes_under_way": "a setting, maxEscapesUnderWay",
    "max_queue_pieces": "a setting, maxQueuePieces",
}
"""Names with private words that are part of an interface, and of which."""

_ANY = re.compile(rf"(?:^|_)(?:{'|'.join(WORDS)})(?=_|$)")
_NAME = re.compile(r"[A-Za-z_]\w*")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def findings() -> Iterator[str]:
    """Yield the findings, each with its place and the term to write instead."""
    command = ["git", "ls-files", *(f"{folder}/*.py" for folder in FOLDERS)]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    for path in map(Path, names):
        # Most files contain no such word, and need not be parsed.
        words = {path.stem, *_NAME.findall((ROOT / path).read_text())}
        if any(map(term_for, words - ACCEPTED.keys())):
            yield from (f"{path}:{finding}" for finding in _in_module(path.stem, tree(path)))


def _in_module(stem: str, module: ast.Module) -> Iterator[str]:
    for line, name in [(1, stem), *defined_names(module)]:
        if name not in ACCEPTED and (instead := term_for(name)):
            yield f"{line}: {name}: write {instead!r}"


@cache
def term_for(name: str) -> str:
    """Return the term to write instead of the private word in a name; empty if there is none."""
    found = _ANY.search(_HUMP.sub("_", name).lower())
    if found is None:
        return ""
    return next(instead for word, instead in WORDS.items() if re.fullmatch(f"_?(?:{word})", found.group()))


def defined_names(module: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the names that a module defines, each with its line."""
    for node in ast.walk(module):
        match node:
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                yield node.lineno, node.name
            case ast.arg():
                yield node.lineno, node.arg
            case ast.Attribute(ctx=ast.Store()):
                yield node.lineno, node.attr
            case ast.Name(ctx=ast.Store()):
                yield node.lineno, node.id


if __name__ == "__main__":
    for finding in findings():
        print(finding)
