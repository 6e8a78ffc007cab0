"""Header blocks of answers, read by another decoder."""

from __future__ import annotations

from urllib.parse import unquote

import pytest
from hpack import Decoder

from mqgateway.gateway.grpc.call import Status
from mqgateway.gateway.grpc.header_blocks import HEAD, REASON_MAX, refusal_of, trailers


def decoded(block: bytes) -> dict[str, str]:
    """Return the fields of a block by name."""
    return {str(name): str(value) for name, value in Decoder().decode(block)}


def test_answer_begins_with_status_and_content_type() -> None:
    fields = decoded(HEAD)
    assert (fields[":status"], fields["content-type"]) == ("200", "application/grpc")
    assert fields["grpc-accept-encoding"] == "identity,gzip"


@pytest.mark.parametrize("size", [1, 126, 127, 128, 254, 255, 300, REASON_MAX])
def test_trailers_have_status_and_text(size: int) -> None:
    assert decoded(trailers(Status.INTERNAL, "x" * size)) == {"grpc-status": "13", "grpc-message": "x" * size}


def test_text_of_a_status_is_limited_and_may_be_empty() -> None:
    assert len(decoded(trailers(Status.INTERNAL, "x" * 9000))["grpc-message"]) == REASON_MAX
    assert decoded(trailers(Status.CANCELLED, "")) == {"grpc-status": "1"}
    assert decoded(trailers(Status.OK, "ignored")) == {"grpc-status": "0"}
    assert unquote(decoded(trailers(Status.INTERNAL, "ü"))["grpc-message"]) == "ü"


@pytest.mark.parametrize(
    ("method", "path", "content_type", "status"),
    [
        ("GET", "/a/b", "application/grpc", "405"),
        ("POST", "a/b", "application/grpc", "405"),
        ("POST", "/a/b", "text/html", "415"),
        ("POST", "/a/b", "application/grpcx", "415"),
    ],
)
def test_requests_that_are_no_calls_are_refused(
    method: str, path: str, content_type: str, status: str
) -> None:
    assert decoded(refusal_of(method, path, {"content-type": content_type}))[":status"] == status


@pytest.mark.parametrize(
    "content_type", ["application/grpc", "application/grpc+proto", "application/grpc;x=y"]
)
def test_calls_are_not_refused(content_type: str) -> None:
    assert refusal_of("POST", "/a/b", {"content-type": content_type}) == b""
