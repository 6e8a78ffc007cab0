"""The body a broker registers with, plain and compressed, from 4.9 and from 5.x."""

import contextlib
import json
import struct
import zlib
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.steps import run
from mqgateway.gateway.codec.bodies import (
    RegisterBrokerBody,
    TopicConfigAndMappingSerializeWrapper,
    registration,
)
from mqgateway.gateway.codec.bodies.registration import PART_MAX, TOPIC_TEXT_MAX
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


LIMIT = 1 << 20


def read(data: bytes) -> RegisterBrokerBody:
    """A plain body with its topics."""
    topics: dict[str, dict[str, Any]] = {}
    body = run(RegisterBrokerBody.read(data, topics.__setitem__))
    assert body.topic_config_serialize_wrapper.topic_config_table == {}
    body.topic_config_serialize_wrapper.topic_config_table = topics
    return body


def read_compressed(data: bytes, version: int = V5_5_0, limit: int = LIMIT) -> RegisterBrokerBody:
    """A compressed body with its topics."""
    topics: dict[str, dict[str, Any]] = {}
    body = run(RegisterBrokerBody.read_compressed(data, version, limit, topics.__setitem__))
    body.topic_config_serialize_wrapper.topic_config_table = topics
    return body


def part(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


def test_the_plain_form_of_java_is_read() -> None:
    body = read(
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
    assert read(BODY.encode()) == BODY


def test_the_compressed_form_comes_back() -> None:
    assert read_compressed(BODY.encode_compressed()) == BODY


def test_the_compressed_form_byte_by_byte() -> None:
    data = zlib.compress(
        part(b'{"counter":5,"timestamp":1}')
        + struct.pack(">i", 1)
        + part(b"T 8 4 6 SINGLE_TAG")
        + part(b"[]")
    )
    body = read_compressed(data, V4_9_8)
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
        read_compressed(zlib.compress(parts))


def test_a_stream_that_is_cut_or_none_is_refused() -> None:
    with pytest.raises(BodyError):
        read_compressed(BODY.encode_compressed()[:-5])
    with pytest.raises(BodyError):
        read_compressed(b"no zlib")


def test_a_small_stream_may_not_become_a_huge_one() -> None:
    topics = b"".join(part(f"T{number} 8 4 6 SINGLE_TAG".encode()) for number in range(1000))
    data = zlib.compress(part(b"{}") + struct.pack(">i", 1000) + topics + part(b"[]") + bytes(4))
    assert len(read_compressed(data).topic_config_serialize_wrapper.topic_config_table) == 1000
    with pytest.raises(BodyError, match="more than 1000 bytes"):
        read_compressed(data, limit=1000)
    after = zlib.compress(part(b"{}") + bytes(4) + part(b"[]") + bytes(4) + bytes(10_000_000))
    with pytest.raises(BodyError, match="more than 1048576 bytes"):
        read_compressed(after)


@pytest.mark.parametrize("size", [TOPIC_TEXT_MAX + 1, PART_MAX + 1])
def test_a_part_has_an_end(size: int) -> None:
    text = b"T 8 4 6 SINGLE_TAG ".ljust(size)
    data = zlib.compress(part(b"{}") + struct.pack(">i", 1) + part(text) + part(b"[]") + bytes(4))
    with pytest.raises(BodyError, match="16384 are allowed"):
        read_compressed(data, limit=4 * PART_MAX)


def test_topics_are_given_one_by_one_and_others_have_their_turn_in_between() -> None:
    """A hundred thousand topics in either form: more than a thousand steps, none of many topics."""
    table = {f"Topic{number}": topic(f"Topic{number}") for number in range(20_000)}
    whole = RegisterBrokerBody(TopicConfigAndMappingSerializeWrapper(table, VERSION))
    seen: dict[str, Any] = {}
    for steps in (
        RegisterBrokerBody.read(whole.encode(), seen.__setitem__),
        RegisterBrokerBody.read_compressed(whole.encode_compressed(), V5_5_0, 1 << 26, seen.__setitem__),
    ):
        seen.clear()
        most = before = 0
        for _ in steps:
            most, before = max(most, len(seen) - before), len(seen)
        assert seen == table
        assert most <= 300


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b"7",
        b"{",
        b'{"topicConfigSerializeWrapper":[]}',
        b'{"topicConfigSerializeWrapper":{"topicConfigTable":[]}}',
        b'{"topicConfigSerializeWrapper":{"topicConfigTable":{"T":7}}}',
        b'{"topicConfigSerializeWrapper":{"dataVersion":[]}}',
        b'{"filterServerList":7}',
        b'{"topicConfigSerializeWrapper":{"topicConfigTable":{"T":[' + b"1," * 100_000 + b"1]}}}",
    ],
)
def test_broken_plain_bodies_are_refused(body: bytes) -> None:
    with pytest.raises(BodyError):
        read(body)


def members(values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(st.sampled_from(["T", "S", "counter"]), values, max_size=2)


LEAVES = st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["", "T", "1"])
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=2) | members(inner), max_leaves=6)


def with_some_of(*names: str, values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=dict.fromkeys(names, values))


TABLES = ("topicConfigTable", "dataVersion", "topicQueueMappingInfoMap", "mappingDataVersion")
WRAPPERS = with_some_of(*TABLES, values=members(VALUES) | VALUES)


@given(
    st.fixed_dictionaries(
        {}, optional={"topicConfigSerializeWrapper": WRAPPERS | VALUES, "filterServerList": VALUES}
    ),
    st.sampled_from(["", " ", "{0:1}", "}"]),
)
def test_a_short_body_is_read_as_a_long_one_is(value: dict[str, Any], more: str) -> None:
    data = json.dumps(value).encode() + more.encode()
    found: list[object] = []
    for short in (registration.SHORT_BODY, 0):
        with patch.object(registration, "SHORT_BODY", short):
            try:
                found.append(read(data))
            except BodyError as error:
                found.append(error.remark)
    assert found[0] == found[1]


@given(st.binary(max_size=100))
def test_any_parts_are_read_or_refused(data: bytes) -> None:
    """Random parts are hardly ever sound, but must never fail in another way."""
    with contextlib.suppress(BodyError):
        read_compressed(zlib.compress(data))
