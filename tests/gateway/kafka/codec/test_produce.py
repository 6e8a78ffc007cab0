"""Produce by hand against the plans of its classes, in every version."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.engine.record_batches.reader import Reader
from mqgateway.gateway.kafka.codec import plans
from mqgateway.gateway.kafka.codec.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from mqgateway.gateway.kafka.codec.messages.produce_response import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from mqgateway.gateway.kafka.codec.produce import read_request, write_response
from tests.support.gateway.kafka_codecs import assert_read_alike, damaged, written
from tests.support.gateway.kafka_messages import random_message

VERSIONS = plans.versions(ProduceRequest)
ID = bytes(range(16))


def plain_request() -> ProduceRequest:
    """Return a request as clients send it."""
    partitions = (PartitionProduceData(0, b"batch" * 9), PartitionProduceData(7, None))
    topics = (TopicProduceData("Orders", ID, partitions), TopicProduceData("Empty", ID, ()))
    return ProduceRequest(None, -1, 30_000, topics)


@pytest.mark.parametrize("version", VERSIONS)
def test_plain_request_is_read_as_by_the_plan(version: int) -> None:
    data = bytes(plans.encode(plain_request(), version))
    assert_read_alike(read_request, ProduceRequest, data, version)
    assert isinstance(read_request(Reader(data), version).topic_data[0].partition_data[0].records, memoryview)


@pytest.mark.parametrize("version", VERSIONS)
@settings(max_examples=20, deadline=None)
@given(random=st.randoms(use_true_random=False))
def test_random_and_damaged_requests_are_read_as_by_the_plan(version: int, random: Random) -> None:
    for message in (plain_request(), random_message(ProduceRequest, version, random)):
        data = bytes(plans.encode(message, version))
        for changed in damaged(data, random):
            assert_read_alike(read_request, ProduceRequest, changed, version)


@pytest.mark.parametrize("version", VERSIONS)
def test_request_cut_short_at_any_byte_is_refused(version: int) -> None:
    data = bytes(plans.encode(plain_request(), version))
    for size in range(len(data)):
        with pytest.raises(CodecError, match=f"ProduceRequest v{version}"):
            read_request(Reader(data[:size]), version)


@pytest.mark.parametrize("version", VERSIONS)
def test_plain_response_is_written_as_by_the_plan(version: int) -> None:
    partitions = (
        PartitionProduceResponse(0, 0, 1 << 40, -1, 5),
        PartitionProduceResponse(1, 87, -1, -1, -1, (), "bad" if version >= 8 else None),
    )
    message = ProduceResponse((TopicProduceResponse("Orders", ID, partitions),), 9)
    assert written(write_response, message, version) == written(plans.encode_into, message, version)


@pytest.mark.parametrize("version", VERSIONS)
@settings(max_examples=20, deadline=None)
@given(random=st.randoms(use_true_random=False))
def test_random_responses_are_written_as_by_the_plan(version: int, random: Random) -> None:
    message = random_message(ProduceResponse, version, random)
    assert written(write_response, message, version) == written(plans.encode_into, message, version)


@pytest.mark.parametrize("version", [3, 9, 13])
def test_values_that_do_not_fit_are_refused_and_leave_nothing(version: int) -> None:
    bad = PartitionProduceResponse(1 << 31)
    message = ProduceResponse((TopicProduceResponse("Orders", ID, (PartitionProduceResponse(), bad)),))
    assert written(write_response, message, version) == written(plans.encode_into, message, version)
    for topic_id, name in ((b"short", "Orders"), (ID, "x" * 40_000)):
        message = ProduceResponse((TopicProduceResponse(name, topic_id, ()),))
        assert written(write_response, message, version) == written(plans.encode_into, message, version)
