"""Half frames, slow peers and long requests: limits of their memory, and requests that wait for them."""

from __future__ import annotations

import logging
import struct

import pytest

from mqgateway.gateway.codec import headers
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand, encode_command
from mqgateway.gateway.codec.headers import GetRouteInfoRequestHeader, RegisterBrokerRequestHeader
from tests.fuzz.holds import registration
from tests.fuzz.honest import HonestClient, check
from tests.fuzz.world import BROKER_PORT, NAMESRV_PORT, Speaker, World

MIB = 1 << 20
CHUNK_SIZE = 64 * 1024
HALF = struct.pack(">i", 15_900_000) + bytes(15_800_000)
"""A frame that never ends."""


def held(world: World, port: int) -> int:
    """Return the bytes of unfinished frames that a server keeps, counted in its buffers."""
    return sum(connection._cutter.buffered for connection in world.connections(port))


def push(speaker: Speaker, data: bytes) -> None:
    """Deliver bytes as a socket does."""
    assert speaker.pair is not None
    for start in range(0, len(data), CHUNK_SIZE):
        if speaker.is_open:
            speaker.push(data[start : start + CHUNK_SIZE])
            speaker.pair.pump()


@pytest.mark.parametrize("port", [NAMESRV_PORT, BROKER_PORT])
def test_half_frames_of_many_have_one_bound(port: int, caplog: pytest.LogCaptureFixture) -> None:
    """Forty connections from twenty addresses: 635 MB, of which 128 MiB are kept; the oldest go first."""
    with World() as world, caplog.at_level(logging.WARNING):
        honest = HonestClient(world)
        slow = world.meet(port, "192.168.7.7")
        slow.push(b"\0")
        most, hogs = 0, []
        for number in range(40):
            hogs.append(world.meet(port, f"192.168.5.{number // 2}"))
            push(hogs[-1], HALF)
            most = max(most, held(world, port))
            world.net.advance(1)
        assert most <= 128 * MIB
        world.settle()
        assert [hog.is_open for hog in hogs] == [False] * 32 + [True] * 8
        assert slow.is_open, "one byte of a frame is no burden, however old"
        check(world, honest)
        assert caplog.text.count("maxPendingInput allows") == 32


def test_one_address_has_a_bound_of_its_own(caplog: pytest.LogCaptureFixture) -> None:
    with World() as world, caplog.at_level(logging.WARNING):
        honest = HonestClient(world)
        hogs = []
        for _ in range(6):
            hogs.append(world.meet(BROKER_PORT, "192.168.5.5"))
            push(hogs[-1], HALF)
            world.net.advance(1)
        world.settle()
        assert [hog.is_open for hog in hogs] == [False] * 2 + [True] * 4
        assert held(world, BROKER_PORT) <= 64 * MIB
        check(world, honest)
        assert caplog.text.count("maxPendingInputOfPeer allows") == 2


def test_slow_half_frames_count_towards_the_limit() -> None:
    with World(max_pending_input=16 * MIB, max_pending_input_of_peer=16 * MIB) as world:
        honest = HonestClient(world)
        start = HALF[: MIB - 100]
        drips = [world.meet(BROKER_PORT, f"192.168.5.{number}") for number in range(40)]
        for speaker in drips:
            push(speaker, start)
        for _ in range(5):
            for speaker in drips:
                push(speaker, b"x")
            world.net.advance(10)
            assert held(world, BROKER_PORT) <= 16 * MIB
        world.settle()
        assert 12 <= sum(speaker.is_open for speaker in drips) <= 17
        check(world, honest)


def test_finished_frames_do_not_count() -> None:
    """Frames that are complete may exceed the limit together: the connection stays open."""
    with World(max_pending_input=MIB, max_pending_input_of_peer=MIB, frame_max_length=MIB) as world:
        speaker = world.meet(NAMESRV_PORT)
        command = RemotingCommand.request(RequestCode.QUERY_DATA_VERSION, None, bytes(500_000))
        for _ in range(10):
            push(speaker, encode_command(command))
            world.net.advance(60)
        assert speaker.is_open
        assert len(speaker.take()) == 10
        assert held(world, NAMESRV_PORT) == 0


# Long requests


def send_registration(speaker: Speaker, body: bytes) -> int:
    header = RegisterBrokerRequestHeader(
        broker_name="big", broker_addr="10.0.0.9:10911", cluster_name="C", ha_server_addr="", broker_id=0
    )
    return speaker.send(RequestCode.REGISTER_BROKER, header, body)


@pytest.mark.parametrize("compressed", [True, False])
def test_a_broker_with_very_many_topics_registers_and_what_it_says_next_waits(compressed: bool) -> None:
    topics = 100_000 if compressed else 75_000
    with World() as world:
        broker = world.meet(NAMESRV_PORT)
        first = send_registration(broker, registration(topics, compressed=compressed))
        last = f"{'Topic' if compressed else 'T'}{topics - 1}"
        asked = broker.send(RequestCode.GET_ROUTEINFO_BY_TOPIC, GetRouteInfoRequestHeader(topic=last))
        for _ in range(100):
            world.settle()
        answers = broker.take()
        assert [(one.opaque, one.code) for one in answers] == [(first, 0), (asked, 0)]
        assert len(world.namesrv.namesrv.tables.topic_queues) >= topics
        assert not world.connections(NAMESRV_PORT)[-1]._work


def test_disconnect_during_a_registration_leaves_no_routes() -> None:
    with World() as world:
        broker = world.meet(NAMESRV_PORT)
        send_registration(broker, registration(20_000, compressed=True))
        assert broker.pair is not None
        broker.pair.server.protocol.dataReceived(b"".join(broker.pair.client.pending))
        broker.pair.client.pending.clear()
        broker.leave()
        for _ in range(20):
            world.settle()
        tables = world.namesrv.namesrv.tables
        assert "big" not in tables.brokers
        assert not any("big" in by_broker for by_broker in tables.topic_queues.values())


# Headers


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize(
    ("fields", "option"),
    [({f"f{n}": "" for n in range(1001)}, "maxHeaderFields"), ({"a": "x" * 300_000}, "maxHeaderSize")],
)
def test_a_header_that_is_too_large_is_answered_and_passed_over(
    fields: dict[str, str], option: str, binary: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with World() as world, caplog.at_level(logging.WARNING):
        for port in (NAMESRV_PORT, BROKER_PORT):
            peer = world.meet(port)
            answer = peer.ask(RequestCode.GET_MAX_OFFSET, ext=fields, binary=binary)
            assert answer.code == ResponseCode.SYSTEM_ERROR
            assert option in (answer.remark or "")
            peer.send(RequestCode.GET_MAX_OFFSET, ext=fields, binary=binary, oneway=True)
            world.settle()
            assert not peer.take()
            assert peer.ask(999_999).code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED
        assert caplog.text.count(option) == 4


def test_a_header_of_a_thousand_fields_is_read() -> None:
    with World() as world:
        peer = world.meet(BROKER_PORT)
        for binary in (False, True):
            ext = {f"f{n}": "x" for n in range(998)} | {"topic": "TBW102", "queueId": "0"}
            assert peer.ask(RequestCode.GET_MAX_OFFSET, ext=ext, binary=binary).code == 0


def test_body_above_its_limit_is_refused_and_the_connection_continues() -> None:
    with World() as world:
        peer = world.meet(BROKER_PORT)
        body = b'{"mqSet":[' + b"1," * 10_000 + b"1]}"
        answer = peer.ask(RequestCode.UNLOCK_BATCH_MQ, body=body)
        assert (answer.code, "maxBodyParts" in (answer.remark or "")) == (ResponseCode.SYSTEM_ERROR, True)
        header = headers.GetMaxOffsetRequestHeader(topic="TBW102", queue_id=0)
        assert peer.ask(RequestCode.GET_MAX_OFFSET, header).code == 0
