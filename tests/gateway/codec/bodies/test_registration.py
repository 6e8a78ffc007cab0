"""The body a broker registers with, plain and compressed, from 4.9 and from 5.x."""

import contextlib
import struct
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.gateway.codec.bodies import RegisterBrokerBody, TopicConfigAndMappingSerializeWrapper
from mqgateway.gateway.codec.codes import V4_9_8, V5_5_0
from mqgateway.gateway.codec.errors import BodyError


def topic(name: str, **members: Any) -> dict[str, Any]:
    return {
        "topicName": name,
        "readQueueNums": 8,
        "writeQueueNums": 4,
        "perm": 6,
        "topicFilterType": "SINGLE_TAG",
        "topicSysFlag": 0,
        "order": False,
        "attributes": {},
        **members,
    }


VERSION = {"counter": 5, "stateVersion": 0, "timestamp": 1700000000000}
MAPPING = {
    "bname": "b",
    "currIdMap": {0: 0, 1: 1},
    "dirty": False,
    "epoch": 1,
    "topic": "S",
    "totalQueues": 2,
}
BODY = RegisterBrokerBody(
    TopicConfigAndMappingSerializeWrapper(
        {"T": topic("T"), "U": topic("U", attributes={"message.type": "FIFO", "note": "a b"})},
        VERSION,
        {"S": MAPPING},
    ),
    ["filter:1"],
)


def part(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


def test_the_plain_form_of_java_is_read() -> None:
    body = RegisterBrokerBody.decode(
        b'{"filterServerList":[],"topicConfigSerializeWrapper":{"dataVersion":{"counter":5,"stateVersion":0,'
        b'"timestamp":1},"mappingDataVersion":{"counter":0,"stateVersion":0,"timestamp":1},"topicConfigTable":'
        b'{"T":{"attributes":{},"order":false,"perm":6,"readQueueNums":8,"topicFilterType":"SINGLE_TAG",'
        b'"topicName":"T","topicSysFlag":0,"writeQueueNums":4}},"topicQueueMappingDetailMap":{},'
        b'"topicQueueMappingInfoMap":{"S":{"currIdMap":{0:0}}}}}'
    )
    wrapper = body.topic_config_serialize_wrapper
    assert wrapper.topic_config_table == {"T": topic("T")}
    assert wrapper.data_version == {"counter": 5, "stateVersion": 0, "timestamp": 1}
    assert wrapper.topic_queue_mapping_info_map == {"S": {"currIdMap": {0: 0}}}


def test_the_plain_form_comes_back() -> None:
    assert RegisterBrokerBody.decode(BODY.encode()) == BODY


def test_the_compressed_form_comes_back() -> None:
    assert RegisterBrokerBody.decode_compressed(BODY.encode_compressed(), V5_5_0) == BODY


def test_the_compressed_form_byte_by_byte() -> None:
    data = zlib.compress(
        part(b'{"counter":5,"timestamp":1}')
        + struct.pack(">i", 1)
        + part(b"T 8 4 6 SINGLE_TAG")
        + part(b"[]")
    )
    body = RegisterBrokerBody.decode_compressed(data, V4_9_8)
    assert body.topic_config_serialize_wrapper.topic_config_table == {"T": topic("T")}
    assert body.topic_config_serialize_wrapper.data_version == {"counter": 5, "timestamp": 1}
    assert body.filter_server_list == []


@pytest.mark.parametrize(
    "parts",
    [
        b"",
        part(b"{}"),
        part(b"{}") + struct.pack(">i", 2) + part(b"T 8 4 6 SINGLE_TAG {}"),
        part(b"{}") + struct.pack(">i", 1) + part(b"T 8 4 6"),
        part(b"{}") + struct.pack(">i", 1) + part(b"T x 4 6 SINGLE_TAG {}") + part(b"[]"),
        part(b"{}") + struct.pack(">i", 1) + part(b"T 8 4 6 SINGLE_TAG []") + part(b"[]") + bytes(3),
        part(b"[1]") + bytes(4) + part(b"[]") + bytes(4),
        part(b"{}") + bytes(4) + part(b"{}") + bytes(4),
        part(b"{}") + bytes(4) + part(b"[]") + struct.pack(">i", 1) + part(b"[]"),
        struct.pack(">i", -1),
        struct.pack(">i", 2**31 - 1),
    ],
)
def test_broken_compressed_bodies_are_refused(parts: bytes) -> None:
    with pytest.raises(BodyError):
        RegisterBrokerBody.decode_compressed(zlib.compress(parts), V5_5_0)


def test_a_stream_that_is_cut_or_none_is_refused() -> None:
    with pytest.raises(BodyError):
        RegisterBrokerBody.decode_compressed(BODY.encode_compressed()[:-5], V5_5_0)
    with pytest.raises(BodyError):
        RegisterBrokerBody.decode_compressed(b"no zlib", V5_5_0)


def test_a_small_stream_may_not_become_a_huge_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mqgateway.gateway.codec.bodies.registration.INFLATED_LIMIT", 1000)
    with pytest.raises(BodyError, match="more than 1000 bytes"):
        RegisterBrokerBody.decode_compressed(zlib.compress(bytes(10_000)), V5_5_0)


@given(st.binary(max_size=100))
def test_any_parts_are_read_or_refused(data: bytes) -> None:
    """Random parts are hardly ever sound, but must never fail in another way."""
    with contextlib.suppress(BodyError):
        RegisterBrokerBody.decode_compressed(zlib.compress(data), V5_5_0)
