"""Requests to pull and their outcomes."""

from mqgateway.engine.store.results import GetStatus
from mqgateway.gateway.broker.consume.pull_request import (
    ForbiddenType,
    PullForbidden,
    PullOutcome,
    PullOutcomeStatus,
)
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.codec.codes import ResponseCode
from tests.support.gateway.broker.pulls import pull_request


def test_request_elsewhere_has_the_other_queue_and_the_same_messages() -> None:
    request = pull_request(offset=7, max_wait=5, commit_offset=6, lite_topic="a", is_lite=True)
    other = request.elsewhere(3, 1, 8, None, -1)
    assert (other.queue_id, other.offset, other.max_messages, other.max_wait, other.commit_offset) == (
        3,
        1,
        8,
        None,
        -1,
    )
    changed = {"queue_id", "offset", "max_messages", "max_wait", "commit_offset"}
    names = {
        name for name in dir(request) if not name.startswith("_") and not callable(getattr(request, name))
    }
    assert changed < names
    for name in names - changed:
        assert getattr(other, name) == getattr(request, name)


def test_a_forbidden_pull_says_what_forbids_it() -> None:
    error: OperationError = PullForbidden(ForbiddenType.GROUP_FORBIDDEN, "no")
    assert (error.reason, error.message) == (Reason.NO_PERMISSION, "no")
    assert [int(kind) for kind in ForbiddenType] == [1, 2, 3, 4, 5]


def test_outcome_says_where_to_continue() -> None:
    outcome = PullOutcome(PullOutcomeStatus.FOUND, GetStatus.FOUND, b"x", 1, 0, 9, 0, 0, 0)
    outcome.next_offset = 2
    assert outcome.offsets == (2, 0, 9)
    assert repr(outcome) == "PullOutcome(FOUND, 1 bytes, offsets (2, 0, 9))"


def test_statuses_are_called_as_the_codes_of_their_answers() -> None:
    names = {f"PULL_{status.name}" for status in PullOutcomeStatus if status is not PullOutcomeStatus.FOUND}
    assert names == {code.name for code in ResponseCode if code.name.startswith("PULL_")}
