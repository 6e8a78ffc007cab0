"""Faults of the test server for Kafka requests."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.kafka.codec.apis import APIS, FETCH, PRODUCE
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.headers import RequestHeader
from mqgateway.gateway.kafka.codec.messages import fetch_request, produce_request
from mqgateway.gateway.kafka.codec.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from mqgateway.gateway.kafka.codec.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from mqgateway.gateway.kafka.faults import LIKE, KafkaFaults, names_in
from mqgateway.gateway.kafka.topics import Topics
from mqgateway.gateway.testing.faults import Faults
from tests.gateway.kafka.api.test_metadata import create
from tests.support.gateway.kafka.client import kafka_scene

ROUTE = RequestCode.GET_ROUTEINFO_BY_TOPIC
WANTED = MetadataRequest([MetadataRequestTopic(name="a.b")])


def test_every_api_that_is_struck_exists() -> None:
    assert LIKE.keys() <= APIS.keys()


def test_a_lost_request_has_no_answer_and_a_cut_one_no_connection() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        scene.server.drop(ROUTE)
        client.write(client.frame(WANTED))
        assert client.frames(1, 1.0) == [] and not client.lost
        scene.server.cut(ROUTE)
        client = scene.client()
        client.write(client.frame(WANTED))
        assert client.frames(1, 1.0) == [] and client.lost


def test_a_lost_answer_is_that_of_a_request_that_was_carried_out() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        scene.server.drop_answer(RequestCode.UPDATE_AND_CREATE_TOPIC)
        client.write(client.frame(CreateTopicsRequest([CreatableTopic("a.b", 1, 1)])))
        assert client.frames(1, 1.0) == []
        assert scene.server.broker.tables.topics.get("a|b") is not None


def test_a_delayed_request_is_answered_late() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        scene.server.delay(ROUTE, seconds=2)
        client.write(client.frame(WANTED))
        assert client.frames(1, 1.0) == [] and len(client.frames(1, 3.0)) == 1


def test_a_topic_of_a_request_is_found_by_name_and_by_id() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        topic_id = create(client, "a.b")
        topics = Topics(scene.operations)
        assert names_in(WANTED, topics) == ("a|b",)
        by_id = produce_request.ProduceRequest(None, 1, 0, [produce_request.TopicProduceData("", topic_id)])
        assert names_in(by_id, topics) == ("a|b",)


@pytest.mark.parametrize("key", [PRODUCE, FETCH])
def test_a_refusal_is_an_error_code_for_each_partition(key: int) -> None:
    partition = produce_request.PartitionProduceData(3)
    produced = produce_request.ProduceRequest(
        None, 1, 0, [produce_request.TopicProduceData("a", partition_data=[partition])]
    )
    fetched = fetch_request.FetchRequest(
        topics=[fetch_request.FetchTopic("a", partitions=[fetch_request.FetchPartition(3)])]
    )
    with kafka_scene() as scene:
        faults: Any = Faults(lambda seconds: None, lambda: None)  # type: ignore[arg-type,return-value]
        faults.order("refuse", LIKE[key], 1, code=ResponseCode.SYSTEM_BUSY)

        def served(call: object, request: object) -> Any:
            return "served"

        handler: Any = KafkaFaults(faults).before({key: served}, Topics(scene.operations))[key]

        class Call:
            header = RequestHeader(key, 12, 1, None)

        request: Any = produced if key == PRODUCE else fetched
        answer = handler(Call(), request)
        [topic] = answer.responses
        [refused] = topic.partition_responses if key == PRODUCE else topic.partitions
        assert refused.error_code == ErrorCode.REQUEST_TIMED_OUT
        assert handler(Call(), request) == "served"
