"""Fetch by hand against the plans of its classes, in every version."""

import mmap
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.engine.record_batches.reader import Reader
from mqgateway.engine.steps import run
from mqgateway.gateway.kafka.codec import plans
from mqgateway.gateway.kafka.codec.fetch import (
    COPIED_MAX,
    Chunk,
    owned,
    read_request,
    write_response,
    writing,
)
from mqgateway.gateway.kafka.codec.messages.fetch_request import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
)
from mqgateway.gateway.kafka.codec.messages.fetch_response import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchResponse,
    LeaderIdAndEpoch,
    PartitionData,
)
from tests.support.gateway.kafka_codecs import assert_read_alike, damaged, written
from tests.support.gateway.kafka_messages import random_message

VERSIONS = plans.versions(FetchRequest)
ID = bytes(range(16))
BATCH = bytes(COPIED_MAX + 1)


def plain_request(version: int) -> FetchRequest:
    """Return a request as clients send it."""
    topics = (FetchTopic("Orders", ID, (FetchPartition(3, fetch_offset=1 << 40, partition_max_bytes=9),)),)
    forgotten = (ForgottenTopic("Old", ID, (1, 2)),) if version >= 7 else ()
    return FetchRequest(
        max_wait_ms=500,
        min_bytes=1,
        isolation_level=1,
        session_id=7,
        topics=topics,
        forgotten_topics_data=forgotten,
        rack_id="a",
    )


def response(records: Any, version: int, **more: Any) -> FetchResponse:
    """Return an answer with one partition of these records between two others."""
    aborted = (AbortedTransaction(5, 6),)
    partitions = (
        PartitionData(0, 1, records=None),
        PartitionData(1, 0, 9, 8, **{"aborted_transactions": aborted, "records": records, **more}),
        PartitionData(2, aborted_transactions=None, records=b"few"),
    )
    topic = FetchableTopicResponse("Orders", ID, partitions)
    return FetchResponse(3, 0, 5 if version >= 7 else 0, (topic,))


def joined(out: bytearray, message: FetchResponse, version: int) -> None:
    """Append an answer whose chunks are joined."""
    data = b"".join(write_response(out, message, version))
    out[:] = data


@pytest.mark.parametrize("version", VERSIONS)
def test_plain_request_is_read_as_by_the_plan(version: int) -> None:
    data = bytes(plans.encode(plain_request(version), version))
    assert_read_alike(read_request, FetchRequest, data, version)


@pytest.mark.parametrize("version", VERSIONS)
@settings(max_examples=20, deadline=None)
@given(random=st.randoms(use_true_random=False))
def test_random_and_damaged_requests_are_read_as_by_the_plan(version: int, random: Random) -> None:
    for message in (plain_request(version), random_message(FetchRequest, version, random)):
        data = bytes(plans.encode(message, version))
        for changed in damaged(data, random):
            assert_read_alike(read_request, FetchRequest, changed, version)


@pytest.mark.parametrize("version", VERSIONS)
def test_request_cut_short_at_any_byte_is_refused(version: int) -> None:
    data = bytes(plans.encode(plain_request(version), version))
    for size in range(len(data)):
        with pytest.raises(CodecError, match=f"FetchRequest v{version}"):
            read_request(Reader(data[:size]), version)


@pytest.mark.parametrize("version", VERSIONS)
@settings(max_examples=20, deadline=None)
@given(random=st.randoms(use_true_random=False))
def test_random_responses_are_written_as_by_the_plan(version: int, random: Random) -> None:
    message = random_message(FetchResponse, version, random)
    assert written(joined, message, version) == written(plans.encode_into, message, version)


@pytest.mark.parametrize("version", VERSIONS)
def test_batches_of_a_response_are_chunks_and_not_copied(version: int) -> None:
    expected = plans.encode(response(BATCH * 2 + b"small", version), version)
    batches = [memoryview(BATCH), b"small", BATCH]
    chunks = write_response(bytearray(b"head"), response(batches, version), version)
    assert sum(chunk is BATCH for chunk in chunks) == 1 and len(chunks) == 5
    assert len(b"".join(chunks)) == len(expected) + len(b"head")
    whole = write_response(bytearray(), response([BATCH, BATCH, b"small"], version), version)
    assert b"".join(whole) == expected and len(whole) == 4


@pytest.mark.parametrize("version", [4, 18])
def test_cooperative_task_copies_borrowed_batches_at_once(version: int) -> None:
    memory = mmap.mmap(-1, len(BATCH))
    steps = writing(bytearray(), response([memoryview(memory), BATCH], version), version)
    next(steps)
    memory[:1] = b"z"
    assert b"".join(run(steps)) == plans.encode(response(BATCH * 2, version), version)


def test_owned_chunk_is_a_copy_only_if_it_was_borrowed() -> None:
    memory = mmap.mmap(-1, 5)
    chunks: list[Chunk] = [
        b"bytes",
        bytearray(b"array"),
        memoryview(b"bytes"),
        memoryview(bytearray(b"array")),
    ]
    assert all(owned(chunk) is chunk for chunk in chunks)
    assert owned(memoryview(memory)[1:3]) == bytes(2) and type(owned(memoryview(memory))) is bytes


@pytest.mark.parametrize("version", [12, 18])
def test_response_with_tagged_fields_joins_its_batches(version: int) -> None:
    leader = LeaderIdAndEpoch(1, 2)
    expected = plans.encode(response(BATCH * 2, version, current_leader=leader), version)
    message = response([BATCH, BATCH], version, current_leader=leader)
    assert b"".join(write_response(bytearray(), message, version)) == expected


@pytest.mark.parametrize("version", VERSIONS)
def test_values_that_do_not_fit_are_refused_and_leave_nothing(version: int) -> None:
    for message in (
        response(b"", version, log_start_offset=1 << 63) if version >= 5 else FetchResponse(1 << 31),
        response(b"", version, preferred_read_replica=5),
        FetchResponse(0, 0, 1),
        FetchResponse(responses=(FetchableTopicResponse("Orders", b"short"),)),
    ):
        assert written(joined, message, version) == written(plans.encode_into, message, version)
