"""Outcomes: results that are available at once, or by a Deferred.

An operation that seldom waits returns `T | Deferred[T]`, so that most calls do without a Deferred. These
functions handle both cases. Only they test which one it is, besides a few hot paths (`tests/house`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from twisted.internet.defer import Deferred, gatherResults, succeed
from twisted.python.failure import Failure

from mqgateway.engine.steps import Steps

T = TypeVar("T")
R = TypeVar("R")


def then(
    outcome: T | Deferred[T],
    change: Callable[[T], R | Deferred[R]],
    recover: Callable[[Failure], R | Deferred[R] | Failure] | None = None,
) -> R | Deferred[R]:
    """Apply `change` to a result as soon as it is available, or `recover` to the failure of a Deferred."""
    if not isinstance(outcome, Deferred):
        return change(outcome)
    return outcome.addCallback(change) if recover is None else outcome.addCallbacks(change, recover)


def recovered(outcome: T | Deferred[T], recover: Callable[[Failure], T]) -> T | Deferred[T]:
    """Return the outcome, with `recover` applied to the failure of a Deferred."""
    return outcome.addErrback(recover) if isinstance(outcome, Deferred) else outcome


def then_in_steps(steps: Steps[T | Deferred[T]], change: Callable[[T], R]) -> Steps[R | Deferred[R]]:
    """Apply `change` to the result of a cooperative task."""
    outcome = yield from steps
    return then(outcome, change)


def pending(outcome: T | Deferred[T]) -> Deferred[T] | None:
    """Return the Deferred of an outcome; None if its result is available."""
    return outcome if isinstance(outcome, Deferred) else None


def is_pending_or(outcome: T | Deferred[T], test: Callable[[T], bool]) -> bool:
    """Return True for a Deferred, and for a result that passes the test."""
    return True if isinstance(outcome, Deferred) else test(outcome)


def as_deferred(outcome: T | Deferred[T]) -> Deferred[T]:
    """Return a Deferred of an outcome, which has fired if the result is available."""
    return outcome if isinstance(outcome, Deferred) else succeed(outcome)


def gathered(outcomes: Sequence[T | Deferred[T]]) -> list[T] | Deferred[list[T]]:
    """Return the results of several outcomes in their order; fails with the first failure."""
    results = [outcome for outcome in outcomes if not isinstance(outcome, Deferred)]
    return results if len(results) == len(outcomes) else gatherResults(map(as_deferred, outcomes))


def resolve(waiting: Deferred[T], outcome: T | Deferred[T]) -> None:
    """Fire `waiting` with an outcome as soon as it is available, unless it was cancelled by then."""

    def fire(result: T | Failure) -> None:
        if not waiting.called:
            waiting.callback(result)

    if isinstance(outcome, Deferred):
        outcome.addBoth(fire)
    else:
        fire(outcome)
