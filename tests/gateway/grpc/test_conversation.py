"""Calls in memory, with the client's side of `h2`."""

from __future__ import annotations

import gzip
import logging

import pytest
from h2.settings import SettingCodes
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.gateway.grpc.call import Status
from mqgateway.gateway.grpc.conversation import Conversation
from mqgateway.gateway.grpc.frames import FRAME_SIZE
from mqgateway.gateway.grpc.http2 import CONNECTION_WINDOW, STREAM_WINDOW
from mqgateway.gateway.grpc.v2 import Resource
from tests.support.gateway.grpc.client import PEER, Client, H2Client, framed


def test_call_is_answered_at_once() -> None:
    client = Client()
    answer = client.call("Echo", "hello", x_mq_client_id="me")
    assert (answer.names, answer.status, answer.message, answer.has_ended) == (["hello"], Status.OK, "", True)
    assert answer.headers == {
        ":status": "200",
        "content-type": "application/grpc",
        "grpc-accept-encoding": "identity,gzip",
    }
    [call] = client.service.calls
    assert (call.path, call.authority, call.peer) == ("/test.S/Echo", "broker:8081", PEER)
    assert call.metadata["x-mq-client-id"] == "me" and not any(name[0] == ":" for name in call.metadata)
    assert call.encoded == Resource(name="hello").SerializeToString()
    assert (client.service.ends, client.server.open_calls, client.outputs) == ([False], 0, 0)
    assert client.noted == [("/test.S/Echo", Status.OK)]
    assert client.server.http2.open_streams == 0


def test_repeated_header_is_joined() -> None:
    client = Client()
    stream = client.h2.get_next_available_stream_id()
    client.open("Echo")
    client.h2.reset_stream(stream)
    pairs = [(":method", "POST"), (":scheme", "http"), (":path", "/test.S/Echo"), (":authority", "a")]
    pairs += [("content-type", "application/grpc"), ("x-a", "1"), ("x-a", "2")]
    client.h2.send_headers(stream + 2, pairs)
    client.say(stream + 2, "x", ends=True)
    assert client.service.calls[0].metadata["x-a"] == "1,2"


def test_cancelled_method_is_notified_of_end_first() -> None:
    client = Client()
    answer = client.call("Wait", "long")
    ends_then: list[list[bool]] = []
    client.service.waiting[0].addBoth(lambda _: ends_then.append(list(client.service.ends)))
    client.h2.reset_stream(1)
    client.pump()
    assert not answer.has_ended
    assert ends_then == [[True]]


def test_later_answer_announces_output() -> None:
    client = Client()
    answer = client.call("Wait", "later")
    assert not answer.headers and client.server.open_calls == 1
    client.service.waiting[0].callback(Resource(name="now"))
    assert client.outputs == 1
    client.pump()
    assert (answer.names, answer.status) == (["now"], Status.OK)


def test_failures_have_status_and_text(caplog: pytest.LogCaptureFixture) -> None:
    client = Client()
    answer = client.call("Fail", "x")
    assert (answer.status, answer.message) == (Status.NOT_FOUND, "no x: 100 % \u00e4")
    assert (answer.data, answer.has_ended) == (b"", True)
    with caplog.at_level(logging.ERROR):
        broken = client.call("Break")
    assert (broken.status, broken.message) == (
        Status.INTERNAL,
        "ZeroDivisionError in the server; its log says more",
    )
    assert "/test.S/Break failed" in caplog.text
    late = client.call("Wait")
    client.service.waiting[0].errback(ValueError("secret"))
    client.pump()
    assert late.status is Status.INTERNAL and "secret" not in late.message


def test_unknown_method_is_unimplemented() -> None:
    answer = Client().call("/apache.rocketmq.v2.MessagingService/Nothing")
    assert answer.status is Status.UNIMPLEMENTED
    assert answer.message == "Method apache.rocketmq.v2.MessagingService/Nothing is unimplemented"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({":method": "GET"}, "405"),
        ({"content-type": "text/html"}, "415"),
        ({"content-type": "application/grpcx"}, "415"),
    ],
)
def test_other_http_request_gets_http_status(headers: dict[str, str], status: str) -> None:
    client = Client()
    stream = client.open("Echo", **headers)
    client.h2.end_stream(stream)
    client.pump()
    assert client.answers[stream].headers[":status"] == status
    assert client.call("Echo", "still here").names == ["still here"]


def test_gzip_request_is_decompressed() -> None:
    client = Client()
    stream = client.open("Echo", grpc_encoding="gzip")
    content = gzip.compress(Resource(name="z" * 1000).SerializeToString())
    client.h2.send_data(stream, framed(content, 1), end_stream=True)
    client.pump()
    assert client.answers[stream].names == ["z" * 1000]
    refused = client.call("Echo", "x", grpc_encoding="snappy")
    assert (refused.status, refused.message) == (
        Status.UNIMPLEMENTED,
        "Can't find decompressor for snappy",
    )
    assert refused.headers["grpc-accept-encoding"] == "identity,gzip"


def test_unary_call_requires_exactly_one_request() -> None:
    client = Client()
    stream = client.open("Echo")
    client.h2.end_stream(stream)
    client.pump()
    assert client.answers[stream].message == "Half-closed without a request"
    stream = client.open("Echo")
    client.say(stream, "one")
    client.say(stream, "two")
    assert (client.answers[stream].status, client.answers[stream].message) == (
        Status.INTERNAL,
        "Too many requests",
    )
    stream = client.open("Echo")
    client.h2.send_data(stream, b"\0\0\0\0\x09half", end_stream=True)
    client.pump()
    assert client.answers[stream].message == "Encountered end-of-stream mid-frame"
    stream = client.open("Echo")
    client.h2.send_data(stream, framed(b"\xff\xff\xff"), end_stream=True)
    client.pump()
    assert client.answers[stream].message == "Invalid protobuf byte sequence"
    assert client.server.kept == 0 and client.server.open_calls == 0


def test_oversized_request_ends_its_call_only() -> None:
    client = Client(message_limit=1000)
    stream = client.open("Echo")
    client.h2.send_data(stream, framed(b"x" * 2000)[:500])
    client.pump()
    answer = client.answers[stream]
    assert (answer.status, answer.reset) == (Status.RESOURCE_EXHAUSTED, 0)
    assert client.call("Echo", "x").names == ["x"]


def test_server_stream_is_answered() -> None:
    client = Client()
    answer = client.call("List", "abc")
    assert (answer.names, answer.status) == (["a", "b", "c"], Status.OK)
    staying = client.call("List", "stay")
    assert staying.names == ["s", "t", "a", "y"] and not staying.has_ended
    client.service.calls[1].send(Resource(name="more"))
    client.service.calls[1].finish(Status.ABORTED, "enough")
    client.pump()
    assert staying.names[-1] == "more" and (staying.status, staying.message) == (Status.ABORTED, "enough")
    client.service.calls[1].send(Resource(name="nothing happens"))
    client.service.calls[1].finish()
    assert client.server.take() == b""


def test_bidirectional_stream_is_answered() -> None:
    client = Client()
    stream = client.open("Talk")
    client.pump()
    assert len(client.service.calls) == 1
    client.say(stream, "a")
    client.say(stream, "b")
    assert client.answers[stream].names == ["re a", "re b"] and not client.answers[stream].has_ended
    client.service.calls[0].send(Resource(name="pushed"))
    client.pump()
    assert client.answers[stream].names[-1] == "pushed"
    client.h2.end_stream(stream)
    client.pump()
    assert client.service.heard == ["a", "b", "closed"]
    assert client.answers[stream].status is Status.OK and client.service.ends == [False]
    stream = client.open("Talk")
    client.say(stream, "refuse")
    assert client.answers[stream].status is Status.INVALID_ARGUMENT


def test_reset_cancels_pending_call() -> None:
    client = Client()
    client.call("Wait")
    client.h2.reset_stream(1)
    client.pump()
    assert (
        client.service.waiting[0].called and client.service.ends == [True] and client.server.open_calls == 0
    )
    notified: list[bool] = []
    client.service.calls[0].on_end(notified.append)
    assert notified == [True]
    assert client.noted == [("/test.S/Wait", Status.CANCELLED)]


def test_lost_connection_cancels_pending_calls() -> None:
    client = Client()
    client.call("Wait")
    client.call("List", "stay")
    client.open("Talk")
    client.pump()
    client.server.lost()
    assert client.service.ends == [True, True, True]


def test_tick_ends_call_at_deadline() -> None:
    client = Client()
    answer = client.call("Wait", grpc_timeout="3S")
    [call] = client.service.calls
    assert call.remaining() == 3.0
    client.now += 2.9
    client.server.tick(client.now, 60)
    assert call.remaining() == pytest.approx(0.1) and not answer.has_ended
    client.now += 0.2
    client.server.tick(client.now, 60)
    client.pump()
    assert answer.status is Status.DEADLINE_EXCEEDED and client.service.ends == [True]
    assert call.remaining() == 0.0


def test_incomplete_request_times_out() -> None:
    client = Client()
    stream = client.open("Echo")
    client.h2.send_data(stream, b"\0\0\0\0\x09ha")
    talk = client.open("Talk")
    client.pump()
    client.now += 61
    client.server.tick(client.now, 60)
    client.pump()
    assert client.answers[stream].status is Status.CANCELLED and client.server.kept == 0
    assert not client.answers[talk].has_ended


def test_leave_ends_streams_and_lets_calls_finish() -> None:
    client = Client()
    waiting = client.call("Wait")
    staying = client.call("List", "stay")
    client.server.leave()
    assert client.outputs
    client.pump()
    assert client.goaway == (0, "") and client.server.open_calls == 1
    client.service.waiting[0].callback(Resource(name="done"))
    client.pump()
    assert (waiting.names, waiting.status) == (["done"], Status.OK)
    assert (staying.status, staying.message) == (Status.UNAVAILABLE, "the server stops")
    late = client.call("Echo", "late")
    assert not late.headers and not client.server.is_over and len(client.service.calls) == 2


def test_answers_wait_for_windows_of_stream_and_connection() -> None:
    client = Client(window=100)
    client.acknowledges = False
    answer = client.call("List", "x" * 200)
    assert 0 < len(answer.data) <= 100 and client.server.http2.held > 0
    held = client.server.http2.held
    client.h2.increment_flow_control_window(50, 1)
    client.pump()
    assert client.server.http2.held == held - 50
    client.h2.increment_flow_control_window(10_000, 1)
    client.pump()
    assert (answer.names, answer.status) == (["x"] * 200, Status.OK) and client.server.http2.held == 0


def test_stream_continues_when_connection_window_opens() -> None:
    client = Client(window=1 << 20, message_limit=1 << 20)
    client.acknowledges = False
    first, second = (client.call("Echo", "y" * 60_000) for _ in range(2))
    assert first.has_ended and not second.has_ended and client.server.http2.held > 0
    assert client.server.kept == client.server.http2.held
    client.h2.increment_flow_control_window(1 << 20)
    client.pump()
    assert second.names == ["y" * 60_000] and client.server.http2.held == 0


def test_preface_settings_and_call_may_arrive_in_one_read() -> None:
    """Preface, settings, a call and its request: the stream is answered before the first write."""
    client = Client()
    fresh = Conversation(client.settings, PEER)
    whole = H2Client()
    stream = whole.open("Talk")
    whole.h2.send_data(stream, framed(Resource(name="a").SerializeToString()))
    fresh.receive(whole.h2.data_to_send())
    whole.hear(fresh.take())
    assert (whole.answers[stream].headers[":status"], whole.answers[stream].names) == ("200", ["re a"])


@pytest.mark.parametrize("opens_by", ["settings", "window"])
def test_stream_without_window_is_answered_once_it_opens(opens_by: str) -> None:
    client = Client(window=0)
    stream = client.open("Talk")
    client.say(stream, "a")
    answer = client.answers[stream]
    assert answer.headers and not answer.data
    if opens_by == "settings":
        client.h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 1000})
    else:
        client.h2.increment_flow_control_window(1000, stream)
    client.pump()
    assert answer.names == ["re a"]
    client.say(stream, "b", ends=True)
    assert (answer.names, answer.status) == (["re a", "re b"], Status.OK)


def test_data_on_ended_streams_costs_no_window() -> None:
    """A client may send much before it receives the refusal of its call; its other calls continue."""
    client = Client()
    for _ in range(2 * CONNECTION_WINDOW // STREAM_WINDOW):
        stream = client.open("Nothing")
        client.server.receive(client.h2.data_to_send())
        for _ in range(STREAM_WINDOW // FRAME_SIZE):
            client.h2.send_data(stream, b"x" * FRAME_SIZE)
        client.pump()
    assert client.call("Echo", "x").names == ["x"]


def test_ended_calls_are_noted_except_bidirectional() -> None:
    client = Client()
    client.call("Fail")
    client.call("Nothing")
    client.call("Talk", "a")
    assert client.noted == [("/test.S/Fail", Status.NOT_FOUND), ("", Status.UNIMPLEMENTED)]
    client.settings.noted = None
    assert client.call("Echo", "x").names == ["x"]


def test_pings_are_answered() -> None:
    client = Client()
    client.h2.ping(b"12345678")
    client.pump()
    assert client.pings == 1


@given(st.binary(max_size=300), st.data())
def test_input_may_arrive_in_any_chunks(noise: bytes, data: st.DataObject) -> None:
    """The result of a conversation does not depend on the chunks of its input."""

    def said(cuts: list[int]) -> bytes:
        client = Client()
        stream = client.open("Echo", x_noise=noise.hex())
        client.h2.send_data(stream, framed(Resource(name=noise.hex()).SerializeToString()), end_stream=True)
        stream = client.open("Talk")
        client.h2.send_data(stream, framed(Resource(name="a").SerializeToString()))
        client.h2.ping(b"abcdefgh")
        client.h2.send_data(stream, framed(Resource(name="b").SerializeToString()), end_stream=True)
        wire = client.h2.data_to_send()
        at = sorted({min(cut, len(wire)) for cut in cuts})
        for begin, end in zip([0, *at], [*at, len(wire)], strict=True):
            client.server.receive(wire[begin:end])
        return client.server.take()

    assert said(data.draw(st.lists(st.integers(0, 700), max_size=12))) == said([])
