"""What a pull asks for and is answered, as other rooms and doors see it."""

from mqgateway.engine.store.results import GetStatus
from mqgateway.gateway.broker.consume.pull_request import (
    ForbiddenType,
    PullForbidden,
    PullOutcome,
    PullRequest,
    PullStatus,
)
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.codec.codes import ResponseCode
from tests.support.gateway.broker.helpers import pull_header
from tests.support.gateway.broker.pulls import wish


def test_the_header_of_a_remoting_request_is_a_pull_as_any_other() -> None:
    for request in (pull_header(offset=7), wish(queue_offset=7)):
        asked: PullRequest = request
        assert (asked.topic, asked.queue_offset, asked.lite_topic) == ("T", 7, None)


def test_a_forbidden_pull_says_what_forbids_it() -> None:
    error: OperationError = PullForbidden(ForbiddenType.GROUP_FORBIDDEN, "no")
    assert (error.reason, error.message) == (Reason.NO_PERMISSION, "no")
    assert [int(kind) for kind in ForbiddenType] == [1, 2, 3, 4, 5]


def test_an_outcome_says_where_to_go_on() -> None:
    outcome = PullOutcome(PullStatus.FOUND, GetStatus.FOUND, b"x", 1, 0, 9, 0, 0, 0)
    outcome.next_offset = 2
    assert outcome.offsets == (2, 0, 9)
    assert repr(outcome) == "PullOutcome(FOUND, 1 bytes, offsets (2, 0, 9))"


def test_statuses_are_called_as_the_codes_of_their_answers() -> None:
    names = {f"PULL_{status.name}" for status in PullStatus if status is not PullStatus.FOUND}
    assert names == {code.name for code in ResponseCode if code.name.startswith("PULL_")}
