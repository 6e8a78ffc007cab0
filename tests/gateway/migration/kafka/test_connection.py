"""A connection to a Kafka broker."""

from __future__ import annotations

import struct

import pytest

from mqgateway.gateway.client.errors import BadArgument, ClientError, TimedOut, Unreachable
from mqgateway.gateway.kafka.codec.apis import FETCH
from mqgateway.gateway.kafka.codec.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from mqgateway.gateway.kafka.codec.messages.metadata_request import MetadataRequest
from mqgateway.gateway.kafka.codec.messages.produce_request import ProduceRequest
from mqgateway.gateway.kafka.codec.plans import encode
from mqgateway.gateway.migration.kafka.connection import BrokerConnection, KafkaError, check
from mqgateway.gateway.migration.kafka.security import ClusterSecurity
from tests.support.gateway.migration.kafka_clusters import kafka_clusters


class ScriptedStream:
    """A connection that answers from a list: bytes, or an error."""

    def __init__(self, *answers: bytes | OSError) -> None:
        versions = [ApiVersion(3, 0, 99), ApiVersion(0, 90, 99)]
        self.answers = [_answer(1, bytes(encode(ApiVersionsResponse(0, versions), 0))), *answers]
        self.sent = b""
        self.is_closed = False

    def sendall(self, data: bytes, /) -> None:
        """See `SocketStream`."""
        self.sent += data

    def recv(self, size: int, /) -> bytes:
        """See `SocketStream`."""
        answer = self.answers.pop(0) if self.answers else b""
        if isinstance(answer, OSError):
            raise answer
        return answer

    def settimeout(self, seconds: float, /) -> None:
        """See `SocketStream`."""

    def close(self) -> None:
        """See `SocketStream`."""
        self.is_closed = True


def _answer(correlation_id: int, body: bytes) -> bytes:
    return struct.pack(">ii", 4 + len(body), correlation_id) + body


def connection(*answers: bytes | OSError) -> BrokerConnection:
    """Return a connection whose broker answers so."""
    return BrokerConnection("broker:9092", ClusterSecurity(lambda *_: ScriptedStream(*answers)), 1.0)


@pytest.mark.parametrize(
    ("answer", "error", "text"),
    [
        (TimeoutError(), TimedOut, "did not answer in time"),
        (b"", Unreachable, "closed the connection"),
        (ConnectionResetError(104, "Connection reset by peer"), Unreachable, "reset by peer"),
        (_answer(9, b"\0"), ClientError, "an answer to another request"),
        (_answer(2, b"\0"), ClientError, "broker:9092"),
    ],
)
def test_failed_request_is_reported(answer: bytes | OSError, error: type[ClientError], text: str) -> None:
    with pytest.raises(error, match=text):
        connection(answer).ask(MetadataRequest([]))


def test_version_is_the_latest_of_both() -> None:
    one = connection()
    assert one.version(3) == 13 and one.knows(3) and not one.knows(FETCH)
    with pytest.raises(ClientError, match="no version of Produce in common"):
        one.ask(ProduceRequest())
    with pytest.raises(ClientError, match="no version of Fetch in common"):
        one.version(FETCH)


def test_requests_name_topics() -> None:
    with kafka_clusters() as two:
        one = two.source.cluster.connection(two.source.cluster.bootstrap[0])
        assert one.version(FETCH) == 12
        answers = one.ask_together([MetadataRequest([]), MetadataRequest(None)])
        assert [len(answer.brokers) for answer in answers] == [1, 1]


def test_broker_that_is_not_there_is_reported() -> None:
    def refuse(*_: object) -> ScriptedStream:
        raise ConnectionRefusedError(111, "Connection refused")

    with pytest.raises(Unreachable, match=r"cannot connect to broker:1 \(Connection refused\)"):
        BrokerConnection("broker:1", ClusterSecurity(refuse), 1.0)
    with pytest.raises(BadArgument, match="has no port"):
        BrokerConnection("broker", ClusterSecurity(refuse), 1.0)


def test_error_has_the_name_of_its_code() -> None:
    check(0, "nothing")
    with pytest.raises(KafkaError, match=r"writing: MESSAGE_TOO_LARGE \(too large\)"):
        check(10, "writing", "too large")
    with pytest.raises(KafkaError, match="writing: 999"):
        check(999, "writing")
