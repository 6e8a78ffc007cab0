"""Headers, the exception of ApiVersions among them."""

import pytest

from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.engine.record_batches.reader import Reader
from mqgateway.gateway.kafka.codec.headers import (
    RequestHeader,
    read_request_header,
    read_response_header,
    request_header_version,
    response_header_version,
    write_request_header,
    write_response_header,
)


@pytest.mark.parametrize(
    ("key", "version", "request_header", "response_header"),
    [(3, 8, 1, 0), (3, 9, 2, 1), (17, 1, 1, 0), (18, 2, 1, 0), (18, 3, 2, 0), (18, 9, 2, 0), (4, 0, 1, 0)],
)
def test_header_versions(key: int, version: int, request_header: int, response_header: int) -> None:
    assert request_header_version(key, version) == request_header
    assert response_header_version(key, version) == response_header


@pytest.mark.parametrize("version", [8, 9])
@pytest.mark.parametrize("client_id", [None, "", "rdkafka"])
def test_request_header_survives_a_round_trip(version: int, client_id: str | None) -> None:
    out = bytearray()
    write_request_header(out, RequestHeader(3, version, -7, client_id))
    reader = Reader(out)
    header = read_request_header(reader)
    assert (header.key, header.version, header.correlation_id, header.client_id) == (
        3,
        version,
        -7,
        client_id,
    )
    assert reader.left() == 0
    for size in range(len(out)):
        with pytest.raises(CodecError, match="RequestHeader"):
            read_request_header(Reader(out[:size]))


def test_client_id_of_a_flexible_header_has_a_length_of_two_bytes() -> None:
    data = bytes.fromhex("0012 0003 00000001 0007") + b"rdkafka" + b"\x01\x05\x02ab" + b"body"
    reader = Reader(data)
    assert read_request_header(reader).client_id == "rdkafka"
    assert bytes(reader.take(reader.left())) == b"body"


@pytest.mark.parametrize(
    ("key", "version", "data"), [(3, 8, "00000005"), (3, 9, "0000000500"), (18, 3, "00000005")]
)
def test_response_header_is_read_as_written(key: int, version: int, data: str) -> None:
    out = bytearray()
    write_response_header(out, key, version, 5)
    assert out.hex() == data
    assert read_response_header(Reader(out), key, version) == 5


def test_number_that_a_header_cannot_carry_is_refused() -> None:
    with pytest.raises(CodecError, match="RequestHeader"):
        write_request_header(bytearray(), RequestHeader(3, 1 << 15, 0, None))
