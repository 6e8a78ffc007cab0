"""Work measured in this process: its time and the Python instructions that it executes."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any


@dataclass
class Step:
    """Microseconds and Python instructions for one message, or one request."""

    name: str
    microseconds: float
    instructions: float


@dataclass
class Work:
    """Work to measure: `do` processes `count` messages, after `prepare` has set up their input."""

    name: str
    count: int
    do: Callable[[], object]
    prepare: Callable[[], object] = lambda: None


def measured(work: Work, repeats: int) -> Step:
    """Return the least time of all repeats, and the instructions of one more run."""
    best = float("inf")
    for _ in range(repeats):
        work.prepare()
        began = time.perf_counter()
        work.do()
        best = min(best, time.perf_counter() - began)
    work.prepare()
    return Step(work.name, best / work.count * 1e6, instructions(work.do) / work.count)


def instructions(do: Callable[[], object]) -> int:
    """Return the number of instructions that Python's interpreter executes in a call."""
    count = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        do()
    finally:
        sys.settrace(before)
    return count
