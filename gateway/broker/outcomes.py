"""Outcomes of operations that may not be there yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from twisted.internet.defer import Deferred

from mqgateway.engine.steps import Steps

T = TypeVar("T")
R = TypeVar("R")


def then(outcome: T | Deferred[T], change: Callable[[T], R]) -> R | Deferred[R]:
    """What `change` makes of an outcome, as soon as that is there."""
    return outcome.addCallback(change) if isinstance(outcome, Deferred) else change(outcome)


def then_in_steps(steps: Steps[T | Deferred[T]], change: Callable[[T], R]) -> Steps[R | Deferred[R]]:
    """The same of an outcome that comes in steps."""
    outcome = yield from steps
    return then(outcome, change)
