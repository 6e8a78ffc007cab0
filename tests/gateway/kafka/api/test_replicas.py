"""Elections, which change nothing: a partition has one replica."""

from __future__ import annotations

import pytest

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from tests.gateway.kafka.api.test_metadata import ACCESS, create
from tests.support.gateway.kafka.client import KafkaClient, kafka_scene

PREFERRED, UNCLEAN = 0, 1
NEEDED = ErrorCode.ELECTION_NOT_NEEDED
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def elected(client: KafkaClient, request: ElectLeadersRequest) -> dict[str, dict[int, int]]:
    """Return the errors by topic and partition."""
    answer = client.ask(request)
    assert answer.error_code == ErrorCode.NONE
    return {
        topic.topic: {one.partition_id: one.error_code for one in topic.partition_result}
        for topic in answer.replica_election_results
    }


@pytest.mark.parametrize("election_type", (PREFERRED, UNCLEAN))
def test_named_partitions_need_no_election(election_type: int) -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "a", 2)
        wanted = [TopicPartitions("a", [0, 1, 2]), TopicPartitions("none", [0])]
        assert elected(client, ElectLeadersRequest(election_type, wanted)) == {
            "a": {0: NEEDED, 1: NEEDED, 2: UNKNOWN},
            "none": {0: UNKNOWN},
        }


def test_election_of_all_partitions_reports_no_partition() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "a", 2)
        assert elected(client, ElectLeadersRequest(PREFERRED, None)) == {"a": {}}


def test_unknown_election_type_is_refused() -> None:
    with kafka_scene() as scene:
        answer = scene.client().ask(ElectLeadersRequest(2, [TopicPartitions("a", [0])]))
        [topic] = answer.replica_election_results
        codes = {one.error_code for one in topic.partition_result}
        assert answer.error_code == ErrorCode.INVALID_REQUEST and codes == {ErrorCode.INVALID_REQUEST}


@pytest.mark.parametrize("version", range(3))
def test_every_version_is_answered(version: int) -> None:
    with kafka_scene() as scene:
        answer = scene.client().ask(ElectLeadersRequest(0, [TopicPartitions("a", [0])]), version)
        [topic] = answer.replica_election_results
        assert [one.error_code for one in topic.partition_result] == [UNKNOWN]


def test_with_access_control_nothing_is_elected() -> None:
    denied = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    with kafka_scene(**ACCESS) as scene:
        answer = scene.client().ask(ElectLeadersRequest(0, [TopicPartitions("a", [0])]))
        [topic] = answer.replica_election_results
        assert answer.error_code == denied and [one.error_code for one in topic.partition_result] == [denied]
