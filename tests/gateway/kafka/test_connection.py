"""Connections of Kafka clients: frames in any chunks, answers in order, limits, and the end."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from mqgateway.engine.steps import Steps
from mqgateway.gateway.kafka.api import Handlers
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.codec.messages.api_versions_request import ApiVersionsRequest
from mqgateway.gateway.kafka.codec.messages.api_versions_response import ApiVersionsResponse
from mqgateway.gateway.kafka.codec.messages.metadata_request import MetadataRequest
from mqgateway.gateway.kafka.codec.messages.metadata_response import MetadataResponse
from mqgateway.gateway.kafka.connection import KafkaConnection
from mqgateway.gateway.kafka.service import KafkaService
from mqgateway.gateway.remoting.transport import EagerTransport
from tests.support.gateway.kafka.client import KafkaClient, KafkaScene, kafka_scene

METADATA = 3
NAMED = ApiVersionsRequest("tests", "1.0")
NO_TOPICS = MetadataRequest(topics=[])


@contextmanager
def held(
    monkeypatch: pytest.MonkeyPatch, **settings: Any
) -> Iterator[tuple[KafkaScene, list[Deferred[Any]]]]:
    """A server whose answers to Metadata wait in a list."""
    waiting: list[Deferred[Any]] = []

    def wait(call: object, request: object) -> Deferred[Any]:
        waiting.append(Deferred())
        return waiting[-1]

    replace(monkeypatch, {METADATA: wait})
    with kafka_scene(**settings) as scene:
        yield scene, waiting


def replace(monkeypatch: pytest.MonkeyPatch, handlers: Handlers) -> None:
    """Have servers carry out some requests by other functions."""
    make: Callable[..., None] = KafkaService.__init__

    def init(self: KafkaService, *args: Any) -> None:
        make(self, *args)
        self.handlers = {**self.handlers, **handlers}

    monkeypatch.setattr(KafkaService, "__init__", init)


def numbers(frames: list[bytes]) -> list[int]:
    """Return the correlation ids of answers."""
    return [int.from_bytes(frame[:4], "big") for frame in frames]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 1000])
def test_requests_are_answered_in_whatever_chunks_they_come(size: int) -> None:
    with kafka_scene() as scene:
        client = scene.client()
        data = client.frame(NAMED) + client.frame(NO_TOPICS) + client.frame(NAMED, 0)
        for start in range(0, len(data), size):
            client.write(data[start : start + size])
            scene.settle(0)
        assert numbers(client.frames(3)) == [1, 2, 3]


def test_answers_leave_in_the_order_of_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    with held(monkeypatch) as (scene, waiting):
        client = scene.client()
        client.write(client.frame(NO_TOPICS) + client.frame(NAMED) + client.frame(NO_TOPICS))
        assert client.frames(1, 0.1) == []
        waiting[1].callback(MetadataResponse())
        assert client.frames(1, 0.1) == []
        waiting[0].callback(MetadataResponse())
        assert numbers(client.frames(3)) == [1, 2, 3]


def test_a_connection_is_not_read_while_as_many_requests_wait_as_allowed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with held(monkeypatch, kafka_max_requests_in_flight=2) as (scene, waiting):
        client = scene.client()
        client.write(b"".join(client.frame(NO_TOPICS) for _ in range(5)))
        scene.settle(0.1)
        assert len(waiting) == 2
        for number in range(5):
            waiting[number].callback(MetadataResponse())
            scene.settle(0.1)
        assert len(waiting) == 5 and numbers(client.frames(5)) == [1, 2, 3, 4, 5]


def test_requests_beyond_the_limit_that_arrive_together_are_all_answered() -> None:
    with kafka_scene(kafka_max_requests_in_flight=2) as scene:
        client = scene.client()
        client.write(b"".join(client.frame(NAMED) for _ in range(7)))
        assert numbers(client.frames(7)) == [1, 2, 3, 4, 5, 6, 7]


def test_requests_that_wait_are_cancelled_when_the_connection_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    with held(monkeypatch) as (scene, waiting):
        client = scene.client()
        client.write(client.frame(NO_TOPICS))
        scene.settle(0.1)
        cancelled: list[object] = []
        waiting[0]._canceller = cancelled.append
        client.transport.loseConnection()
        scene.settle(0.1)
        assert cancelled == [waiting[0]]


def test_long_request_holds_up_those_behind_it_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[object] = []

    def long(call: KafkaCall, request: object) -> Steps[MetadataResponse]:
        for step in range(100):
            order.append(step)
            yield
        return MetadataResponse()

    def short(call: KafkaCall, request: object) -> ApiVersionsResponse:
        order.append(call.client_id)
        return ApiVersionsResponse()

    replace(monkeypatch, {METADATA: long, NAMED.KEY: short})
    with kafka_scene() as scene:
        client, other = scene.client("one"), scene.client("other")
        client.write(client.frame(NO_TOPICS) + client.frame(NAMED))
        other.write(other.frame(NAMED))
        assert numbers(client.frames(2)) == [1, 2] and numbers(other.frames(1)) == [1]
    assert [one for one in order if one != "other"] == [*range(100), "one"]
    assert order.index("other") < order.index(99)


def test_long_request_of_a_lost_client_is_not_continued(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[bool] = []

    def endless(call: KafkaCall, request: object) -> Steps[MetadataResponse]:
        try:
            while True:
                yield
        finally:
            ended.append(True)

    replace(monkeypatch, {METADATA: endless})
    with kafka_scene() as scene:
        client = scene.client()
        client.write(client.frame(NO_TOPICS))
        client.transport.loseConnection()
        scene.settle(0.1)
        assert ended == [True]


def test_a_request_without_an_answer_leaves_no_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    with held(monkeypatch) as (scene, waiting):
        client = scene.client()
        client.write(client.frame(NO_TOPICS) + client.frame(NAMED))
        scene.settle(0.1)
        waiting[0].callback(None)
        assert numbers(client.frames(1)) == [2]


@pytest.mark.parametrize("size", [-1, 0, 9, 2**31 - 1, 101 * 1024**2])
def test_a_frame_of_another_size_than_allowed_ends_the_connection(
    size: int, caplog: pytest.LogCaptureFixture
) -> None:
    with kafka_scene() as scene:
        client, other = scene.client(), scene.client()
        client.write(struct.pack(">i", size) + b"x" * 20)
        client.frames()
        assert client.lost and f"a request of {size} bytes" in caplog.text
        assert other.ask(NAMED).error_code == 0


WRONG = {
    "unknown API": struct.pack(">hhih", 999, 0, 1, -1),
    "API of controllers": struct.pack(">hhih", 52, 0, 1, -1),
    "unknown version": struct.pack(">hhih", METADATA, 99, 1, -1),
    "negative version": struct.pack(">hhih", METADATA, -1, 1, -1),
    "no body": struct.pack(">hhih", METADATA, 0, 1, -1),
    "client id that is too long": struct.pack(">hhih", METADATA, 0, 1, 30000),
    "array that is too long": struct.pack(">hhihi", METADATA, 0, 1, -1, 2**31 - 1),
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_request_that_cannot_be_served_ends_its_connection_only(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    with kafka_scene() as scene:
        client, other = scene.client(), scene.client()
        frame = WRONG[kind]
        client.write(client.frame(NAMED) + struct.pack(">i", len(frame)) + frame + client.frame(NAMED))
        assert numbers(client.frames(3)) == [1]
        assert client.lost and "is disconnected: " in caplog.text
        assert other.ask(NAMED).error_code == 0


def test_a_fault_of_the_broker_is_logged_and_ends_the_connection_only(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with held(monkeypatch) as (scene, waiting):
        client, other = scene.client(), scene.client()
        client.write(client.frame(NO_TOPICS))
        scene.settle(0.1)
        waiting[0].errback(RuntimeError("broken"))
        client.frames()
        assert client.lost and "broken" in caplog.text
        assert other.ask(NAMED).error_code == 0


def test_an_idle_connection_is_closed_and_one_that_waits_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    with held(monkeypatch, kafka_connections_max_idle_millis=30_000) as (scene, _):
        idle, waits = scene.client(), scene.client()
        idle.ask(NAMED)
        waits.write(waits.frame(NO_TOPICS))
        scene.settle(45)
        assert idle.lost and not waits.lost


def test_a_peer_that_does_not_read_is_not_read_and_is_disconnected_in_the_end(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with held(monkeypatch) as (scene, waiting):
        client = scene.client()
        client.write(b"".join(client.frame(NO_TOPICS) for _ in range(100)))
        scene.settle(0.1)
        [connection] = scene.connections()
        connection.pauseProducing()
        connection._terms.remoting.unsent_limit = 100_000
        for one in waiting:
            one.callback(MetadataResponse(cluster_id="x" * 10_000))
        scene.settle(0.1)
        assert client.lost and "maxUnsentBytes" in caplog.text


@pytest.mark.parametrize("is_closed", [False, True])
def test_a_large_answer_is_given_to_the_transport_as_that_has_room(
    monkeypatch: pytest.MonkeyPatch, is_closed: bool
) -> None:
    with held(monkeypatch) as (scene, waiting):
        client = scene.client()
        client.write(client.frame(NO_TOPICS))
        scene.settle(0)
        [connection] = scene.connections()
        given: list[int] = []
        write = connection.transport.write

        def write_and_pause(data: object) -> None:
            assert isinstance(data, bytes)  # Twisted's transports refuse anything else
            given.append(len(data))
            write(data)
            connection.pauseProducing()

        monkeypatch.setattr(connection.transport, "write", write_and_pause)
        answer = MetadataResponse(cluster_id="x" * 30_000)
        for _ in range(10):
            connection._output.append(memoryview(b"y" * 50_000))
        waiting[0].callback(answer)
        connection.flush()
        assert given == [100_000]
        if is_closed:
            connection.close("the test ends")
            assert given == [100_000, sum(given) - 100_000]
        else:
            while connection._output:
                connection.resumeProducing()
            assert max(given) <= 128 * 1024 < sum(given)
        assert sum(given) > 530_000


class SmallSocket(EagerTransport):
    """The transport of a connection in memory, which takes `room` bytes of chunks."""

    def __init__(self, wire: Any, room: int) -> None:
        self.wire, self.room = wire, room

    def offer(self, chunks: Sequence[Any]) -> int:
        data = b"".join(chunks)[: self.room]
        self.wire.write(data)
        self.room -= len(data)
        return len(data)


def small_socket(scene: KafkaScene, room: int) -> tuple[KafkaConnection, SmallSocket]:
    """Give the only connection such a transport."""
    [connection] = scene.connections()
    connection._eager = eager = SmallSocket(connection.transport, room)
    return connection, eager


def borrowed(size: int) -> tuple[mmap.mmap, memoryview]:
    """Return memory that can be written, and a view of it."""
    memory = mmap.mmap(-1, size)
    memory[:] = b"a" * size
    return memory, memoryview(memory)


@pytest.mark.parametrize("room", [0, 3, 4, 5, 10_000, 100_003])
def test_chunks_that_the_socket_does_not_take_are_copied_if_they_are_borrowed(
    monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    with held(monkeypatch) as (scene, _):
        client = scene.client()
        client.write(client.frame(NO_TOPICS))
        scene.settle(0)
        connection, eager = small_socket(scene, room)
        memory, view = borrowed(50_000)
        [slot] = connection._slots
        connection._fill([b"\0\0\0\1", view, bytearray(b"middle"), view, bytearray()], slot)
        connection.flush()
        assert connection._is_full and sum(map(len, connection._output)) == 100_014 - room
        memory[:] = b"z" * 50_000
        eager.room = 1 << 20
        connection.resumeProducing()
        [frame] = client.frames(1)
        assert frame[4:] == b"a" * 50_000 + b"middle" + b"a" * 50_000
        assert not connection._output and not connection._is_full


def test_borrowed_chunks_behind_an_answer_that_waits_are_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    with held(monkeypatch) as (scene, waiting):
        client = scene.client()
        client.write(client.frame(NO_TOPICS) * 2)
        scene.settle(0)
        connection, _ = small_socket(scene, 1 << 20)
        memory, view = borrowed(5000)
        connection._fill([b"\0\0\0\2", view], connection._slots[1])
        memory[:] = b"z" * 5000
        waiting[0].callback(MetadataResponse())
        assert client.frames(2)[1][4:] == b"a" * 5000


def test_a_server_that_stops_answers_what_it_has_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    with held(monkeypatch) as (scene, waiting):
        client = scene.client()
        client.write(client.frame(NO_TOPICS))
        scene.settle(0.1)
        [connection] = scene.connections()
        settled = connection.settled()
        client.write(client.frame(NO_TOPICS))
        scene.settle(0.1)
        assert len(waiting) == 1 and not settled.called
        waiting[0].callback(MetadataResponse())
        assert numbers(client.frames(1)) == [1] and settled.called


def test_the_server_shows_connections_with_their_last_request() -> None:
    with kafka_scene() as scene:
        client: KafkaClient = scene.client()
        client.ask(NO_TOPICS)
        [connection] = scene.connections()
        assert connection.last_request == "Metadata" and connection.is_open and not connection.is_secure
        lost: list[object] = []
        connection.on_lost(lost.append)
        connection.close("test")
        scene.settle(0.1)
        assert client.lost and lost == [connection]
        connection.on_lost(lost.append)
        assert len(lost) == 2
