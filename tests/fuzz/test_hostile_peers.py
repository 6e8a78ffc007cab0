"""Attacks of one peer on its own connections; other clients are served as if it did not exist.

After each attack the honest client gets right answers, the hostile one has lost at most its own connections,
and no table that a peer can fill is larger than its option allows (`sizes`). `test_hostile_growth` fills the
tables with valid requests; `test_hostile_requests` spoils their content.
"""

from __future__ import annotations

import random
import struct

import pytest

from mqgateway.gateway.codec import headers
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand, encode_command
from tests.fuzz.honest import GROUP, TOPIC, HonestClient, check
from tests.fuzz.sizes import table_sizes
from tests.fuzz.world import BROKER_PORT, NAMESRV_PORT, Speaker, World
from tests.support.gateway.broker.helpers import pull_header, send_header

PORTS = pytest.mark.parametrize("port", [NAMESRV_PORT, BROKER_PORT], ids=["namesrv", "broker"])

ROUTE = headers.GetRouteInfoRequestHeader(topic="Unknown")
REQUEST = encode_command(RemotingCommand.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, ROUTE))


def frame(header: bytes, body: bytes = b"", form: int = 0) -> bytes:
    """Return a frame with any header, all lengths correct."""
    return struct.pack(">iI", 4 + len(header) + len(body), form << 24 | len(header)) + header + body


@PORTS
def test_random_bytes(port: int) -> None:
    """They end their own connection or wait for more; the tables do not change."""
    choose = random.Random(port)
    with World() as world:
        honest = HonestClient(world)
        honest.check()
        before = table_sizes(world)
        for _ in range(150):
            peer = world.meet(port)
            for _ in range(choose.randint(1, 4)):
                peer.push(choose.randbytes(choose.choice([1, 3, 4, 5, 8, 40, 1000])))
                world.settle()
            assert not peer.heard
        check(world, honest)
        assert table_sizes(world) == before


@PORTS
def test_half_frames_and_silence(port: int) -> None:
    """A connection that begins a frame and falls silent is closed after two minutes."""
    with World() as world:
        honest = HonestClient(world)
        begun = [REQUEST[:cut] for cut in (1, 3, 4, 5, 8, 9, 40, len(REQUEST) - 1)]
        peers = [world.meet(port) for _ in begun]
        for peer, chunk in zip(peers, begun, strict=True):
            peer.push(chunk)
        for _ in range(5):
            world.settle(23.0)
            check(world, honest)
        assert all(peer.is_open for peer in peers)
        world.settle(12.0)
        assert not any(peer.is_open for peer in peers)
        check(world, honest)


@PORTS
def test_nothing_said_at_all(port: int) -> None:
    """A connection on which nothing is ever sent is closed too."""
    with World() as world:
        honest = HonestClient(world)
        peer = world.meet(port)
        for _ in range(7):
            world.settle(20.0)
            check(world, honest)
        assert not peer.is_open


@PORTS
def test_frames_in_single_bytes(port: int) -> None:
    """A request sent byte by byte is answered, and silence is counted from the last byte."""
    with World() as world:
        honest = HonestClient(world)
        peer = world.meet(port)
        for at in range(len(REQUEST)):
            peer.push(REQUEST[at : at + 1])
            world.settle()
        assert len(peer.take()) == 1
        check(world, honest)


@PORTS
@pytest.mark.parametrize("length", [2**31 - 1, -1, -(2**31), 0, 3, 16 * 1024 * 1024 - 3])
def test_impossible_lengths(port: int, length: int) -> None:
    """Two GiB, negative, zero: the connection is closed at once, and no memory is allocated."""
    with World() as world:
        honest = HonestClient(world)
        peer = world.meet(port)
        peer.push(REQUEST + struct.pack(">i", length) + bytes(100))
        world.settle()
        assert not peer.is_open
        check(world, honest)


@PORTS
@pytest.mark.parametrize(
    "payload",
    [
        frame(b"{}")[:4] + struct.pack(">I", 0xFFFFFF) + b"{}",
        frame(b"{}")[:4] + struct.pack(">I", 7) + b"{}",
        frame(b"{}", form=1),
        frame(b"{}", form=9),
        frame(struct.pack(">hbhiii", 105, 0, 1, 1, 0, -1) + bytes(30), form=1),
        frame(struct.pack(">hbhiii", 105, 0, 1, 1, 0, 0) + struct.pack(">ihh", 4, -5, 3), form=1),
        frame(struct.pack(">hbhiii", 105, 0, 1, 1, 0, 0) + struct.pack(">ihi", 8, 0, 2**31 - 1), form=1),
        frame(b"[" * 100_000),
        frame(b'{"code":105,"extFields":' + b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"}"),
        frame(b'{"code":' + b"9" * 100_000 + b"}"),
        frame(b'{"code":105,"opaque":3000000000}'),
        frame(b'{"code":[]}'),
        frame(b'{"code":105,"extFields":["topic"]}'),
        frame(b'{"code":105,"language":{}}'),
        frame(b"null"),
        frame(b""),
    ],
    ids=range(16),
)
def test_headers_that_are_none(port: int, payload: bytes) -> None:
    """Longer than their frame, of no known form, nested without end: only the connection ends."""
    with World() as world:
        honest = HonestClient(world)
        peer = world.meet(port)
        peer.push(REQUEST)
        world.settle()
        peer.push(payload)
        world.settle()
        assert not peer.is_open
        (answer,) = peer.take()
        assert answer.is_response
        check(world, honest)


@PORTS
def test_unrequested_answers(port: int) -> None:
    """Answers to requests that were never sent are ignored, and the connection stays open."""
    with World() as world:
        honest = HonestClient(world)
        peer = world.meet(port)
        for opaque in (-1, 0, 1, 2, 2**31 - 1, -(2**31), *range(3, 500)):
            answer = RemotingCommand.response(0, body=b"x" * 100)
            answer.opaque = opaque
            peer.push(encode_command(answer))
        check(world, honest)
        assert not peer.take()
        assert peer.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, ROUTE).code != 0


@PORTS
def test_unknown_codes(port: int) -> None:
    """Every unknown code is refused with 3; one-way requests are ignored."""
    with World() as world:
        honest = HonestClient(world)
        peer = world.meet(port)
        for code in (-(2**31), -1, 0, 999, 9999, 2**31 - 1):
            assert peer.ask(code).code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED
            peer.send(code, oneway=True)
        world.settle()
        assert not peer.take()
        check(world, honest)


# Slow readers, exceeded limits


def test_requests_of_a_peer_that_does_not_read_are_held_back() -> None:
    """Its requests are no longer read above the mark, so it costs no more than the mark and one answer."""
    with World(write_buffer_high_water_mark=1 << 20) as world:
        honest = HonestClient(world)
        honest.heart_beat()
        fill(honest, count=64, size=8000)
        peer = world.meet(BROKER_PORT)
        assert peer.pair is not None
        peer.pair.server.stuck = True
        for _ in range(40):
            for _ in range(50):
                peer.send(RequestCode.PULL_MESSAGE, pull_header(TOPIC, group=GROUP))
            world.settle()
            assert peer.pair.server.pending_size < (1 << 20) + 300_000
        assert not peer.pair.server.reading
        check(world, honest)
        peer.pair.server.stuck = False
        for _ in range(10):  # a mark's worth of answers at a time
            world.settle()
        assert len(peer.take()) == 2000  # nothing was lost for a peer that reads after all
        check(world, honest)


def test_peer_above_its_unsent_limit_is_disconnected() -> None:
    """Reading less holds back no answers of parked requests: above the limit the peer is disconnected."""
    with World(max_unsent_bytes=2 << 20) as world:
        honest = HonestClient(world)
        honest.heart_beat()
        fill(honest, count=1, size=10)
        peer = world.meet(BROKER_PORT)
        assert peer.pair is not None
        peer.pair.server.stuck = True
        offset = len(honest.sent)
        for _ in range(1000):
            peer.send(RequestCode.PULL_MESSAGE, pull_header(TOPIC, offset=offset, group=GROUP, sys_flag=2))
        world.settle()
        assert len(world.broker.consume.held_pulls) == 1000
        fill(honest, count=1, size=10_000)
        world.settle()
        assert not peer.is_open
        check(world, honest)


def test_notices_to_a_member_that_does_not_read_are_bounded() -> None:
    """A member that reads nothing is notified of its group's changes up to its mark, and then no more."""
    with World(write_buffer_high_water_mark=100_000) as world:
        honest = HonestClient(world)
        honest.heart_beat()
        deaf = HonestClient(world)
        deaf.heart_beat()
        assert deaf.consumer.pair is not None
        deaf.consumer.pair.server.stuck = True
        for _ in range(600):
            restless = world.meet(BROKER_PORT)
            deaf.consumer, kept = restless, deaf.consumer
            deaf.heart_beat()
            restless.leave()
            deaf.consumer = kept
        assert deaf.consumer.connection._unsent < 150_000
        honest.connect()
        check(world, honest)


def fill(honest: HonestClient, count: int, size: int) -> None:
    """Send longer messages to the honest topic."""
    for number in range(count):
        body = f"{number} ".encode().ljust(size, b"x")
        assert honest.producer.ask(RequestCode.SEND_MESSAGE_V2, send_header(TOPIC), body).code == 0
        honest.sent.append(body)


@PORTS
def test_connection_floods(port: int) -> None:
    """Connections above the limit are refused; existing ones work, and closed ones free their slots."""
    with World(max_connections=100) as world:
        honest = HonestClient(world)
        flood = [world.meet(port) for _ in range(300)]
        assert sum(peer.is_open for peer in flood) < 100
        check(world, honest)
        for peer in flood:
            if peer.is_open:
                peer.transport.abortConnection()
        world.settle()
        assert world.meet(port).ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, ROUTE).is_response
        check(world, honest)


def test_connections_that_come_and_go() -> None:
    """They leave no entries."""
    with World() as world:
        honest = HonestClient(world)
        honest.check()
        before = table_sizes(world)
        timers = len(world.net.getDelayedCalls())
        for number in range(300):
            peer = world.meet(BROKER_PORT)
            peer.send(RequestCode.PULL_MESSAGE, pull_header(TOPIC, offset=2, group=GROUP, sys_flag=2))
            if number % 2:
                world.settle()
            peer.transport.abortConnection()
        world.settle()
        assert table_sizes(world) == before
        assert len(world.net.getDelayedCalls()) <= timers
        check(world, honest)


def test_more_requests_in_flight_than_allowed() -> None:
    """A client with too many parked pulls is answered SYSTEM_BUSY, and refused pulls are not kept."""
    with World(max_requests_in_flight=50, max_held_pulls=100) as world:
        honest = HonestClient(world)
        honest.heart_beat()
        peer = world.meet(BROKER_PORT)
        for _ in range(500):
            waits_forever = pull_header(
                TOPIC, offset=0, group=GROUP, sys_flag=2, suspend_timeout_millis=2**63 - 1
            )
            peer.send(RequestCode.PULL_MESSAGE, waits_forever)
        world.settle()
        assert [answer.code for answer in peer.take()] == [ResponseCode.SYSTEM_BUSY] * 450
        assert len(world.broker.consume.held_pulls) == 50
        check(world, honest)
        assert len(peer.take()) == 50
        assert len(world.broker.consume.held_pulls) == 0


def test_a_crowd_that_waits() -> None:
    """Pulls above the total limit and that of a queue are answered at once."""
    with World(max_requests_in_flight=50, max_held_pulls=200, max_held_pulls_per_queue=120) as world:
        honest = HonestClient(world)
        honest.heart_beat()
        peers = [world.meet(BROKER_PORT) for _ in range(10)]
        for peer in peers:
            for _ in range(40):
                peer.send(RequestCode.PULL_MESSAGE, pull_header(TOPIC, group=GROUP, sys_flag=2))
        world.settle()
        early = [answer.code for peer in peers for answer in peer.take()]
        assert early == [ResponseCode.PULL_NOT_FOUND] * 280
        check(world, honest)


@PORTS
def test_both_services_stop_and_start_among_hostile_peers(port: int) -> None:
    """A stop is not delayed by peers that are silent, read nothing, or wait forever."""
    with World() as world:
        honest = HonestClient(world)
        honest.check()
        peers = [world.meet(port) for _ in range(4)]
        peers[1].push(REQUEST[:10])
        _never_reads(peers[2])
        peers[3].send(RequestCode.PULL_MESSAGE, pull_header(TOPIC, offset=9, group=GROUP, sys_flag=2))
        world.settle()
        world.restart_broker()
        honest.connect()
        honest.check_everything_sent_before()
        check(world, honest)


def _never_reads(peer: Speaker) -> None:
    assert peer.pair is not None
    peer.pair.server.stuck = True
    peer.send(RequestCode.GET_ROUTEINFO_BY_TOPIC, ROUTE)
