"""Results of operations that may be pending."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from twisted.internet.defer import Deferred

from mqgateway.engine.steps import Steps

T = TypeVar("T")
R = TypeVar("R")


def then(outcome: T | Deferred[T], change: Callable[[T], R]) -> R | Deferred[R]:
    """Apply `change` to a result, as soon as it is available."""
    return outcome.addCallback(change) if isinstance(outcome, Deferred) else change(outcome)


def then_in_steps(steps: Steps[T | Deferred[T]], change: Callable[[T], R]) -> Steps[R | Deferred[R]]:
    """Apply `change` to the result of a cooperative task."""
    outcome = yield from steps
    return then(outcome, change)
