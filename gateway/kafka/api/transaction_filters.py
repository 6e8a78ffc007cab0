"""Patterns of transactional ids, which administrators list transactions by.

Apache Kafka has RE2, whose time grows with the length of the text. Python's expressions have no such limit:
groups and more than two repetitions are refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

REPETITIONS_MAX: Final = 2
_CLASS: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_REPETITION: Final = re.compile(r"[*+{]")


class InvalidPattern(Exception):
    """A pattern that is no expression, or that may take too long."""


def matcher(pattern: str | None) -> Callable[[str], bool]:
    """Return the test of whole ids by a pattern; None and the empty one match all. Raises
    `InvalidPattern`."""
    if not pattern:
        return lambda _: True
    plain = _CLASS.sub("x", pattern)
    if "(" in plain or len(_REPETITION.findall(plain)) > REPETITIONS_MAX:
        raise InvalidPattern(f"{pattern!r} has a group or more than {REPETITIONS_MAX} repetitions")
    try:
        compiled = re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise InvalidPattern(str(error)) from error
    return lambda text: compiled.fullmatch(text) is not None
