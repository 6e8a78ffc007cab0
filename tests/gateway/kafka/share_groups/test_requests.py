"""Checks of heartbeats; `test_heartbeats` has the errors that need a group."""

import pytest

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode as E
from mqgateway.gateway.kafka.codec.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from mqgateway.gateway.kafka.coordinator.member import RequestSender
from mqgateway.gateway.kafka.coordinator.refusal import Refused
from mqgateway.gateway.kafka.share_groups.member import ShareMember
from mqgateway.gateway.kafka.share_groups.requests import check, updated

Request = ShareGroupHeartbeatRequest


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (Request("g", "", 1), "Invalid member id in the request."),
        (Request("g", "m" * 37, 1), "Invalid member id in the request."),
        (Request("g", " ", 1), "MemberId can't be empty."),
        (Request("", "m", 1), "GroupId can't be empty."),
        (Request("g", "m", 1, ""), "RackId can't be empty."),
        (Request("g", "m", 0), "SubscribedTopicNames must be set in first request."),
        (Request("g", "m", 0, None, ()), "SubscribedTopicNames must be set in first request."),
        (Request("g", "m", -2), "MemberEpoch is invalid."),
        (Request("g", "m", 1, None, ("a", "b", "c")), "At most 2 topics are allowed."),
    ],
)
def test_wrong_heartbeats_are_refused(request_: Request, message: str) -> None:
    with pytest.raises(Refused) as refused:
        check(request_, 2)
    assert (refused.value.code, str(refused.value)) == (E.INVALID_REQUEST, message)


def test_names_are_sorted_and_unique() -> None:
    client = RequestSender("c", "/h")
    check(Request("g", "m" * 36, 0, "r", ("b", "a")), 2)
    member = updated(ShareMember("m", client), Request("g", "m", 0, "r", ("b", "a", "b")), client)
    assert (member.topics, member.rack_id) == (("a", "b"), "r")
    assert updated(member, Request("g", "m", 1), client).topics == ("a", "b")
