"""Ranges of versions, and messages as values."""

import pytest

from mqgateway.gateway.kafka.codec.messages.heartbeat_request import HeartbeatRequest
from mqgateway.gateway.kafka.codec.messages.heartbeat_response import HeartbeatResponse
from mqgateway.gateway.kafka.codec.schema import covers


@pytest.mark.parametrize(
    ("versions", "covered"), [("", []), ("2", [2]), ("1-3", [1, 2, 3]), ("3+", [3, 4, 5]), ("0-0", [0])]
)
def test_range_covers_its_versions(versions: str, covered: list[int]) -> None:
    assert [version for version in range(6) if covers(versions, version)] == covered


def test_messages_are_equal_if_their_fields_are() -> None:
    request = HeartbeatRequest("group", 3, "member")
    assert request == HeartbeatRequest(group_id="group", generation_id=3, member_id="member")
    assert request != HeartbeatRequest("group", 4, "member")
    assert request != HeartbeatResponse()


def test_message_shows_its_fields() -> None:
    assert repr(HeartbeatResponse(error_code=25)) == "HeartbeatResponse(throttle_time_ms=0, error_code=25)"
