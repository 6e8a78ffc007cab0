"""Outcomes that may be pending, changed, gathered and passed on."""

from collections.abc import Sequence

from twisted.internet.defer import Deferred, FirstError, fail, succeed
from twisted.python.failure import Failure

from mqgateway.gateway.runtime.outcomes import (
    as_deferred,
    gathered,
    is_pending_or,
    pending,
    recovered,
    resolve,
    then,
)


def seen(outcome: Deferred[object]) -> list[object]:
    """Return the list to which the result, or the type of the failure, is added."""
    results: list[object] = []
    outcome.addCallbacks(results.append, lambda failure: results.append(failure.type))
    return results


def test_outcome_is_changed_at_once_or_when_it_arrives() -> None:
    assert then(3, str) == "3"
    later: Deferred[int] = Deferred()
    changed = pending(then(later, str))
    assert changed is not None
    results = seen(changed)
    assert results == []
    later.callback(4)
    assert results == ["4"]


def test_failure_of_a_deferred_is_recovered_from() -> None:
    def recover(failure: Failure) -> str:
        return str(failure.value)

    broken: Deferred[int] = fail(ValueError("late"))
    assert seen(as_deferred(then(broken, str, recover))) == ["late"]
    assert then(3, str, recover) == "3"
    assert seen(as_deferred(recovered(fail(ValueError("late")), recover))) == ["late"]
    assert recovered("x", recover) == "x"


def test_pending_or_tested() -> None:
    later: Deferred[int] = Deferred()
    assert pending(later) is later and pending(1) is None
    assert is_pending_or(later, bool) and is_pending_or(1, bool) and not is_pending_or(0, bool)


def test_results_are_gathered_in_order() -> None:
    assert gathered([1, 2]) == [1, 2]
    later: Deferred[int] = Deferred()
    mixed: Sequence[int | Deferred[int]] = [1, later, succeed(3)]
    results = seen(as_deferred(gathered(mixed)))
    later.callback(2)
    assert results == [[1, 2, 3]]


def test_first_failure_fails_what_is_gathered() -> None:
    mixed: Sequence[int | Deferred[int]] = [1, fail(ValueError())]
    assert seen(as_deferred(gathered(mixed))) == [FirstError]


def test_outcome_fires_the_waiting_deferred() -> None:
    waiting = [Deferred[int]() for _ in range(3)]
    results = list(map(seen, waiting))
    later: Deferred[int] = Deferred()
    for deferred, outcome in zip(waiting, (1, later, fail(ValueError())), strict=True):
        resolve(deferred, outcome)
    assert results == [[1], [], [ValueError]]
    later.callback(2)
    assert results[1] == [2]


def test_outcome_for_a_cancelled_deferred_is_dropped() -> None:
    for outcome in (1, succeed(1)):
        waiting: Deferred[int] = Deferred()
        results = seen(waiting)
        waiting.cancel()
        resolve(waiting, outcome)
        assert len(results) == 1
