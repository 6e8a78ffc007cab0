"""The extension keeps to its memory, and gives back what it takes, whatever it is called with.

`tox -e sanitizers` runs these with AddressSanitizer and UndefinedBehaviorSanitizer, `tox -e leaks` with the
interpreter's own allocator, whose blocks are counted.
"""

from __future__ import annotations

import gc
import sys
from itertools import chain
from typing import Any

import psutil
import pytest

from mqgateway.engine import extension
from tests.support.engine.native_calls import Call, damaged, good_calls

native = extension.native
ROUNDS = 200
"""How often each call is repeated while what it keeps is counted."""
SETTLED = 5
"""Rounds before that, after which caches are filled."""
CALLS_MAX = 80
"""Of the damaged calls of a function so many are repeated, evenly spread."""
RESIDENT_MAX = 8 << 20
"""Bytes by which the process may grow in all rounds of one function."""


def calls_of(function: str) -> list[Call]:
    """The good calls of a function, and damaged ones."""
    good = [call for call in good_calls() if call.function == function]
    bad = list(chain.from_iterable(map(damaged, good)))
    return good + bad[:: max(1, len(bad) // CALLS_MAX)]


FUNCTIONS = sorted(name for name in vars(extension.Native) if not name.startswith("_"))


def test_every_function_is_called() -> None:
    assert {call.function for call in good_calls()} == set(FUNCTIONS)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_good_calls_are_answered(function: str) -> None:
    for call in good_calls():
        if call.function == function:
            answer = getattr(native, function)(*call.arguments, **call.named)
            assert answer is not None


@pytest.mark.parametrize("function", FUNCTIONS)
def test_damaged_calls_end_in_an_answer_or_an_exception(function: str) -> None:
    for call in good_calls():
        if call.function == function:
            for bad in damaged(call):
                bad.on(native)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_no_memory_and_no_reference_is_kept(function: str) -> None:
    calls = calls_of(function)
    shared = references_of(calls)
    for _ in range(SETTLED):
        repeat(calls)
    gc.collect()
    process = psutil.Process()
    blocks, resident = sys.getallocatedblocks(), process.memory_info().rss
    before = list(map(sys.getrefcount, shared))
    for _ in range(ROUNDS):
        repeat(calls)
    gc.collect()
    after = list(map(sys.getrefcount, shared))
    assert sys.getallocatedblocks() - blocks < ROUNDS
    kept = [one for one, now, then in zip(shared, after, before, strict=True) if now - then >= ROUNDS]
    assert not kept, "references to these are kept"
    assert process.memory_info().rss - resident < RESIDENT_MAX


def repeat(calls: list[Call]) -> None:
    """Make each call once."""
    for call in calls:
        call.on(native)


def references_of(calls: list[Call]) -> list[Any]:
    """What all calls are given, what lies in it, and what functions give in place of an answer.

    But for plain numbers: the counts themselves are such.
    """
    given = [one for call in calls for one in (*call.arguments, *call.named.values())]
    inside = [each for one in given if isinstance(one, (list, tuple)) for each in one]
    distinct = {id(one): one for one in (*given, *inside, None, True, False) if type(one) is not int}
    return list(distinct.values())
