"""Turns, idle connections, and peers that do not read: connections in memory."""

from __future__ import annotations

import logging

import pytest

from mqgateway.gateway.grpc.call import Status
from mqgateway.gateway.grpc.server import TICK_SECONDS
from mqgateway.gateway.grpc.v2 import Resource
from mqgateway.gateway.remoting.server import SWEEP_SECONDS
from tests.support.gateway.grpc.client import framed
from tests.support.gateway.grpc.scene import Scene
from tests.support.gateway.remoting.opening import Before
from tests.support.gateway.remoting.pair import Talker


def test_calls_of_one_read_are_answered_in_one_write() -> None:
    scene = Scene()
    guest = scene.connect()
    scene.events.clear()
    for name in ("a", "b", "c"):
        stream = guest.open("Echo")
        guest.h2.send_data(stream, framed(Resource(name=name).SerializeToString()), end_stream=True)
    writes = guest.wire.server.writes
    guest.pump()
    assert [answer.names for answer in guest.answers.values()] == [["a"], ["b"], ["c"]]
    assert scene.events[0] == "after read"
    assert guest.wire.server.writes - writes == 1


def test_later_answers_are_written_on_next_loop_turn() -> None:
    scene = Scene()
    guest = scene.connect()
    answers = [guest.call("Wait"), guest.call("Wait")]
    writes = guest.wire.server.writes
    for waiting in scene.service.waiting:
        waiting.callback(Resource(name="late"))
    scene.net.settle()
    assert [answer.names for answer in answers] == [["late"], ["late"]]
    assert guest.wire.server.writes == writes + 1


def test_answers_ready_in_another_turn_are_written_with_it() -> None:
    scene = Scene()
    guest, turn = scene.connect(), scene.remoting.settings.turn
    answers = [guest.call("Wait"), guest.call("Wait")]
    writes = guest.wire.server.writes
    turn.begin()
    for waiting in scene.service.waiting:
        waiting.callback(Resource(name="late"))
    assert guest.wire.server.writes == writes
    turn.end()
    assert guest.wire.server.writes == writes + 1
    scene.net.settle()
    assert [answer.names for answer in answers] == [["late"], ["late"]]


def test_stream_is_answered_after_transport_was_full() -> None:
    """Output for a client whose transport is full is sent when it is writable again."""
    scene = Scene()
    guest = scene.connect()
    stream = guest.open("Talk")
    guest.pump()
    guest.wire.server.stuck = True
    guest.say(stream, "a")
    assert not guest.answers[stream].data
    guest.wire.server.stuck = False
    scene.net.settle()
    assert guest.answers[stream].names == ["re a"]


def test_idle_connections_are_closed_and_silent_ones_pinged() -> None:
    scene = Scene(grpc_client_idle_time_mills=60_000)
    idle, working = scene.connect(), scene.connect()
    working.open("Talk")
    working.pump()
    scene.net.settle(60 + 2 * SWEEP_SECONDS)
    assert idle.lost is not None and idle.goaway is not None
    assert working.lost is None
    working.wire.client.stuck = True  # it does not answer the ping
    scene.net.settle(60 + 6 * SWEEP_SECONDS)
    assert working.lost is not None and scene.service.ends == [True]


def test_call_ends_at_its_deadline() -> None:
    scene = Scene()
    guest = scene.connect()
    answer = guest.call("Wait", grpc_timeout="3S")
    scene.net.settle(3 + TICK_SECONDS)
    assert answer.status is Status.DEADLINE_EXCEEDED


def test_peer_that_does_not_read_is_not_read_then_disconnected(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene(write_buffer_high_water_mark=200_000, max_unsent_bytes=2_000_000)
    guest = scene.connect(window=2**31 - 1)
    guest.h2.increment_flow_control_window(2**31 - 1 - 65535)
    guest.pump()
    guest.wire.server.stuck = True
    stream = guest.open("List")
    guest.h2.send_data(stream, framed(Resource(name="stay").SerializeToString()), end_stream=True)
    guest.pump()
    [call] = scene.service.calls
    for _ in range(4):
        call.send(Resource(name="x" * 100_000))
        scene.net.settle()
    assert not guest.wire.server.reading
    guest.wire.server.stuck = False
    scene.net.settle()
    assert guest.wire.server.reading and len(guest.answers[stream].names) == 8
    guest.wire.server.stuck = True
    for _ in range(30):
        call.send(Resource(name="x" * 100_000))
        scene.net.settle()
    assert guest.lost is not None and "bytes unread" in caplog.text
    assert scene.service.ends == [True]


def test_answers_beyond_windows_are_bounded(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene(
        grpc_max_inbound_message_size=100_000,
        max_pending_input=200_000,
        max_pending_input_of_peer=200_000,
        frame_max_length=100_000,
    )
    other, guest = scene.connect(), scene.connect(window=0)
    guest.call("List", "stay")
    [call] = scene.service.calls
    for _ in range(4):
        call.send(Resource(name="x" * 60_000))
        scene.net.settle(TICK_SECONDS)
    assert guest.lost is not None and "is disconnected" in caplog.text
    assert other.call("Echo", "x").names == ["x"]


def test_foreign_protocol_is_refused_with_log(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene()
    talker = Talker()
    scene.net.meet(8081, Before(b"GET / HTTP/1.1\r\n\r\n", talker))
    talker.dataReceived = lambda data: None  # type: ignore[method-assign]
    with caplog.at_level(logging.WARNING):
        scene.net.settle()
    assert talker.lost is not None
    assert "is refused by gRPC: it does not begin as HTTP/2 does" in caplog.text
