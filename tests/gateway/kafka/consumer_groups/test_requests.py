"""Contents of heartbeats."""

from mqgateway.gateway.kafka.codec.messages.consumer_group_heartbeat_request import (
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)
from mqgateway.gateway.kafka.consumer_groups.member import ModernMember
from mqgateway.gateway.kafka.consumer_groups.requests import is_full, owned_partitions, updated
from mqgateway.gateway.kafka.coordinator.member import RequestSender

CLIENT = RequestSender("c", "h")
MEMBER = ModernMember(
    "m", CLIENT, rack_id="r", rebalance_timeout=5, topics=("t",), regex="x", assignor="range"
)


def test_fields_without_a_value_stay_as_they_are() -> None:
    assert updated(MEMBER, ConsumerGroupHeartbeatRequest("g", "m", 1), CLIENT).metadata == MEMBER.metadata


def test_fields_with_a_value_are_taken_over() -> None:
    request = ConsumerGroupHeartbeatRequest("g", "m", 1, None, "s", 7, ("v", "u", "v"), "", "uniform")
    changed = updated(MEMBER, request, RequestSender("d", "h"))
    assert changed.subscription == (("u", "v"), "")
    assert (changed.rack_id, changed.rebalance_timeout, changed.assignor) == ("s", 7, "uniform")
    assert changed.client.id == "d"


def test_owned_partitions_are_none_if_they_are_not_said() -> None:
    request = ConsumerGroupHeartbeatRequest("g", "m", 1)
    assert owned_partitions(request) is None and not is_full(request)
    request.topic_partitions = [TopicPartitions(b"t" * 16, (1, 2))]
    assert owned_partitions(request) == {(b"t" * 16, 1), (b"t" * 16, 2)}
    request.rebalance_timeout_ms = 5
    assert not is_full(request)
    request.subscribed_topic_regex = "x"
    assert is_full(request)
