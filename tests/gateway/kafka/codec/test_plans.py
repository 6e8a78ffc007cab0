"""Layouts: tagged fields, fields that a version lacks, errors that name the field, limits."""

import pytest

from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.gateway.kafka.codec.messages.api_versions_response import (
    ApiVersionsResponse,
    SupportedFeatureKey,
)
from mqgateway.gateway.kafka.codec.messages.find_coordinator_request import FindCoordinatorRequest
from mqgateway.gateway.kafka.codec.messages.heartbeat_request import HeartbeatRequest
from mqgateway.gateway.kafka.codec.messages.heartbeat_response import HeartbeatResponse
from mqgateway.gateway.kafka.codec.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from mqgateway.gateway.kafka.codec.messages.metadata_response import MetadataResponse
from mqgateway.gateway.kafka.codec.plans import decode, encode


def test_layout_is_that_of_the_protocol_guide() -> None:
    request = HeartbeatRequest("group", 7, "me", None)
    assert encode(request, 2).hex() == "000567726f7570" + "00000007" + "00026d65"
    assert encode(request, 3).hex() == "000567726f7570" + "00000007" + "00026d65" + "ffff"
    assert encode(request, 4).hex() == "0667726f7570" + "00000007" + "036d65" + "00" + "00"


def test_unknown_tags_are_skipped() -> None:
    known = encode(HeartbeatResponse(1, 2), 4)
    assert known[-1] == 0
    assert decode(
        HeartbeatResponse, known[:-1] + bytes.fromhex("02 00 01 aa 7f 02 bbcc"), 4
    ) == HeartbeatResponse(1, 2)


def test_tagged_fields_with_default_values_are_not_written() -> None:
    plain = encode(ApiVersionsResponse(supported_features=[]), 3)
    tagged = encode(ApiVersionsResponse(supported_features=[SupportedFeatureKey("group.version", 0, 1)]), 3)
    assert plain[-1] == 0
    assert tagged.startswith(plain[:-1])
    assert decode(ApiVersionsResponse, tagged, 3).supported_features[0].name == "group.version"


def test_tag_whose_size_is_wrong_is_refused() -> None:
    data = encode(ApiVersionsResponse(finalized_features_epoch=5), 3)
    assert data.endswith(bytes.fromhex("01 01 08 0000000000000005"))
    longer = data.replace(b"\x01\x01\x08", b"\x01\x01\x09") + b"\x00"
    with pytest.raises(CodecError, match=r"finalized_features_epoch.*1 bytes follow the value of tag 1"):
        decode(ApiVersionsResponse, longer, 3)
    shorter = data.replace(b"\x01\x01\x08", b"\x01\x01\x07")
    with pytest.raises(CodecError, match=r"finalized_features_epoch at byte .*: 8 bytes expected, 7 left"):
        decode(ApiVersionsResponse, shorter, 3)


def test_error_names_message_field_and_position() -> None:
    data = encode(MetadataRequest([MetadataRequestTopic(name="a"), MetadataRequestTopic(name="b")]), 1)
    with pytest.raises(CodecError) as caught:
        decode(MetadataRequest, data[:-2], 1)
    assert str(caught.value) == "MetadataRequest v1.topics[1].name at byte 7: 2 bytes expected, 1 left"


def test_set_field_that_the_version_lacks_is_refused_unless_ignorable() -> None:
    with pytest.raises(
        CodecError, match=r"FindCoordinatorRequest v3\.coordinator_keys: the version does not have"
    ):
        encode(FindCoordinatorRequest(coordinator_keys=["a"]), 3)
    assert encode(MetadataResponse(throttle_time_ms=9), 2) == encode(MetadataResponse(), 2)


@pytest.mark.parametrize("version", [-1, 14])
def test_version_that_does_not_exist_is_refused(version: int) -> None:
    with pytest.raises(CodecError, match=f"MetadataRequest has no version {version}, only 0-13"):
        decode(MetadataRequest, b"", version)
    with pytest.raises(CodecError):
        encode(MetadataRequest(), version)


def test_value_of_a_wrong_type_or_size_is_refused() -> None:
    with pytest.raises(CodecError, match=r"HeartbeatRequest v4\.generation_id"):
        encode(HeartbeatRequest("g", 1 << 31, "m"), 4)
    with pytest.raises(CodecError, match=r"MetadataRequest v1\.topics\[0\]: str where MetadataRequestTopic"):
        encode(MetadataRequest(["topic"]), 1)  # type: ignore[list-item]
    with pytest.raises(CodecError, match=r"MetadataRequest v12\.topics\[0\]\.topic_id"):
        encode(MetadataRequest([MetadataRequestTopic(b"short", "a")]), 12)


def test_message_with_too_many_elements_is_refused() -> None:
    data = encode(MetadataRequest([MetadataRequestTopic(name="a")] * 11), 1)
    assert len(decode(MetadataRequest, data, 1, elements=11).topics or ()) == 11
    with pytest.raises(CodecError, match="11 elements exceed the limit of a message"):
        decode(MetadataRequest, data, 1, elements=10)


def test_bytes_after_a_message_are_ignored() -> None:
    data = encode(HeartbeatResponse(1, 2), 4) + b"more"
    assert decode(HeartbeatResponse, b"front" + data, 4, position=5) == HeartbeatResponse(1, 2)
