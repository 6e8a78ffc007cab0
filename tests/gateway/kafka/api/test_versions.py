"""ApiVersions as Kafka clients of any age ask for it."""

from __future__ import annotations

import pytest

from mqgateway.gateway.kafka.codec.apis import API_VERSIONS, APIS
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.api_versions_request import ApiVersionsRequest
from mqgateway.gateway.kafka.codec.messages.describe_cluster_request import DescribeClusterRequest
from mqgateway.gateway.kafka.codec.messages.metadata_request import MetadataRequest
from tests.support.gateway.kafka.client import kafka_scene

NAMED = ApiVersionsRequest("tests", "1.0")


def test_answer_has_every_api_with_a_function() -> None:
    with kafka_scene() as scene:
        answer = scene.client().ask(NAMED)
        announced = {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}
        assert answer.error_code == 0 and announced[3] == (0, 13) and announced[18] == (0, 5)
        supported = [(one.name, one.min_version, one.max_version) for one in answer.supported_features]
        assert supported == [
            ("group.version", 0, 1),
            ("metadata.version", 7, 33),
            ("share.version", 0, 2),
            ("transaction.version", 0, 2),
        ]
        finalized = [(one.name, one.max_version_level) for one in answer.finalized_features]
        assert finalized == [
            ("group.version", 1),
            ("metadata.version", 33),
            ("share.version", 2),
            ("transaction.version", 2),
        ]
        for key, (_, latest) in announced.items():
            assert latest == APIS[key].latest


@pytest.mark.parametrize("version", range(6))
def test_every_version_is_answered(version: int) -> None:
    with kafka_scene() as scene:
        answer = scene.client().ask(NAMED, version)
        assert answer.error_code == 0 and answer.api_keys


def test_lowest_level_of_a_feature_is_1_for_clients_that_do_not_know_0() -> None:
    with kafka_scene() as scene:
        features = scene.client().ask(NAMED, 3).supported_features
        assert [one.min_version for one in features] == [1, 7, 1, 1]


def test_a_newer_version_is_answered_in_version_0_with_the_supported_ones() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        frame = bytearray(client.frame(NAMED, 5))
        frame[6:8] = (9).to_bytes(2, "big")
        client.write(bytes(frame))
        answer = client.decoded(NAMED, client.frames()[0], 0)
        assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
        [own] = answer.api_keys
        assert (own.api_key, own.min_version, own.max_version) == (API_VERSIONS, 0, 5)
        assert client.ask(NAMED, 5).error_code == 0


@pytest.mark.parametrize("name", ["", "-tests", "te sts", "tests."])
def test_a_software_name_with_other_characters_is_an_invalid_request(name: str) -> None:
    with kafka_scene() as scene:
        answer = scene.client().ask(ApiVersionsRequest(name, "1.0"))
        assert answer.error_code == ErrorCode.INVALID_REQUEST
        assert scene.client().ask(ApiVersionsRequest(name, "1.0"), 2).error_code == 0


def test_client_that_expects_another_cluster_is_asked_to_bootstrap() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        own = client.ask(MetadataRequest(topics=[])).cluster_id

        def error(cluster: str | None, node: int) -> int:
            code: int = client.ask(ApiVersionsRequest("tests", "1.0", cluster, node)).error_code
            return code

        assert error(own, 1) == 0
        assert error(own, 2) == error("other", 1) == ErrorCode.REBOOTSTRAP_REQUIRED
        assert error(own, -1) == error(None, 1) == ErrorCode.INVALID_REQUEST


def test_the_cluster_is_described() -> None:
    with kafka_scene() as scene:
        answer = scene.client().ask(DescribeClusterRequest(True))
        [broker] = answer.brokers
        assert (broker.broker_id, broker.host, broker.port) == (1, "10.0.0.1", scene.port)
        assert answer.cluster_authorized_operations > 0
        controllers = scene.client().ask(DescribeClusterRequest(endpoint_type=2))
        assert controllers.error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE
        assert scene.client().ask(DescribeClusterRequest(endpoint_type=3)).error_code == (
            ErrorCode.UNSUPPORTED_ENDPOINT_TYPE
        )
