"""Conversations with real bytes over one connection, with peers that behave well, badly, or not at all."""

import logging
import random
import struct
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionDone
from twisted.internet.task import Clock

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.steps import Steps
from mqgateway.gateway.codec.command import ONEWAY_FLAG, RemotingCommand, encode_command
from mqgateway.gateway.remoting.call import NO_REPLY, Call, Peer, Reply
from mqgateway.gateway.remoting.connection_settings import ConnectionSettings
from mqgateway.gateway.remoting.dispatch import AT_ONCE_STEPS, Dispatcher
from mqgateway.gateway.remoting.exchange import PeerGone, RequestTimedOut, TooManyInFlight
from mqgateway.gateway.remoting.protocol import RemotingConnection
from mqgateway.gateway.remoting.turn import Turn
from tests.support.gateway.remoting.pair import Pair, Talker

ECHO, HOLD, BULK, SILENT = 987_101, 987_102, 987_103, 987_104


class Scene:
    """Connection under test, its peer, and the calls of its request functions."""

    def __init__(self, after_read: Callable[[], None] | None = None, **limits: int) -> None:
        self.clock = Clock()
        self.held: list[Deferred[Reply]] = []
        self.events: list[str] = []
        self.turn = Turn(after_read or (lambda: self.events.append("after read")))
        sizes = {
            "frame_limit": 1 << 20,
            "ask_limit": 8,
            "hold_limit": 8,
            "high_water_mark": 256 * 1024,
            "unsent_limit": 4 << 20,
        } | limits
        self.settings = ConnectionSettings(reactor=self.clock, turn=self.turn, **sizes)
        table = {
            ECHO: lambda scene, call: Reply(body=call.body),
            HOLD: Scene.hold,
            BULK: lambda scene, call: Reply(body=bytes(int(call.command.ext_fields["size"]))),
            SILENT: lambda scene, call: NO_REPLY,
        }
        self.dispatcher = Dispatcher(self, table, {}, clock=ManualClock())
        self.connection, self.talker, self.pair = self.connect()

    def hold(self, call: Call) -> Deferred[Reply]:
        self.held.append(Deferred(lambda _: self.events.append("dropped")))
        return self.held[-1]

    def connect(self) -> tuple[RemotingConnection, Talker, Pair]:
        connection = RemotingConnection(
            self.settings,
            self.dispatcher,
            lambda peer: self.events.append("made"),
            lambda peer: self.events.append("gone"),
        )
        talker = Talker()
        return connection, talker, Pair(talker, connection)

    def say(self, *commands: RemotingCommand) -> None:
        """Send commands from the peer in one write."""
        self.talker.transport.write(b"".join(map(encode_command, commands)))
        self.pair.pump()

    def heard(self) -> list[RemotingCommand]:
        """Return the commands that the peer received since the last call."""
        self.pair.pump()
        return self.talker.take()


def command(code: int, opaque: int = 0, body: bytes = b"", **ext: str) -> RemotingCommand:
    made = RemotingCommand.request(code, ext=ext, body=body)
    made.opaque = opaque
    return made


def echo(opaque: int, body: bytes = b"x") -> RemotingCommand:
    return command(ECHO, opaque, body)


# Requests of the peer


def test_answer_has_opaque_of_request() -> None:
    scene = Scene()
    scene.say(echo(41, b"hello"))
    (answer,) = scene.heard()
    assert (answer.is_response, answer.opaque, answer.body) == (True, 41, b"hello")


def test_requests_of_one_read_are_answered_in_one_write_after_hook() -> None:
    writes_then: list[int] = []
    scene = Scene(lambda: writes_then.append(scene.pair.server.writes))
    scene.say(*[echo(opaque) for opaque in range(16)])
    assert scene.pair.server.writes == 1
    assert writes_then == [0]
    assert [answer.opaque for answer in scene.heard()] == list(range(16))


def test_frames_before_malformed_one_are_served() -> None:
    scene = Scene()
    longer_than_its_frame = struct.pack(">ii4s", 8, 100, b"{}{}")
    first, second, third = (encode_command(echo(opaque)) for opaque in (1, 2, 3))
    scene.talker.transport.write(first + second + longer_than_its_frame + third)
    assert [answer.opaque for answer in scene.heard()] == [1, 2]
    assert not scene.connection.is_open


def test_read_without_complete_frame_starts_no_turn() -> None:
    scene = Scene()
    frame = encode_command(echo(1))
    scene.talker.transport.write(frame[:-1])
    scene.pair.pump()
    assert scene.events == ["made"]
    scene.talker.transport.write(frame[-1:])
    scene.pair.pump()
    assert scene.events == ["made", "after read"]
    assert len(scene.heard()) == 1


def test_failed_after_read_hook_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise OSError("disk")

    scene = Scene(fail)
    scene.say(echo(1))
    assert len(scene.heard()) == 1
    scene.say(echo(2))
    assert len(scene.heard()) == 1
    assert "disk" in caplog.text


@given(st.lists(st.integers(1, 40), max_size=30))
def test_frames_are_served_in_chunks_of_any_size(cuts: list[int]) -> None:
    scene = Scene()
    stream = b"".join(encode_command(echo(opaque, bytes(opaque))) for opaque in range(5))
    position = 0
    for size in [*cuts, len(stream)]:
        scene.talker.transport.write(stream[position : position + size])
        scene.pair.pump()
        position += size
    assert [(answer.opaque, len(answer.body)) for answer in scene.heard()] == [(n, n) for n in range(5)]


def test_held_reply_does_not_block_others() -> None:
    scene = Scene()
    scene.say(command(HOLD, 1), echo(2))
    assert [answer.opaque for answer in scene.heard()] == [2]
    scene.held[0].callback(Reply(remark="woken"))
    (answer,) = scene.heard()
    assert (answer.opaque, answer.remark) == (1, "woken")


def test_replies_ready_in_turn_are_joined() -> None:
    """Pulls held on one connection and woken by a send on another: one write per connection."""
    scene = Scene(lambda: [held.callback(Reply()) for held in scene.held] and scene.held.clear())
    scene.turn._after_read, wake = None, scene.turn._after_read
    scene.say(command(HOLD, 1), command(HOLD, 2))
    scene.turn._after_read = wake
    _, other_talker, other_pair = scene.connect()
    other_talker.transport.write(encode_command(echo(7)))
    other_pair.pump()
    assert scene.pair.server.writes == 1
    assert [answer.opaque for answer in scene.heard()] == [1, 2]
    assert [answer.opaque for answer in other_talker.take()] == [7]


def test_oneway_and_silent_requests_write_nothing() -> None:
    scene = Scene()
    oneway = echo(1)
    oneway.flag |= ONEWAY_FLAG
    scene.say(oneway, command(SILENT, 2))
    assert scene.pair.server.writes == 0
    assert scene.events == ["made", "after read"]


def test_held_requests_above_limit_are_refused_but_fast_ones_served() -> None:
    scene = Scene(hold_limit=2)
    scene.say(*[command(HOLD, opaque) for opaque in range(4)], echo(9))
    answers = scene.heard()
    assert [(answer.opaque, answer.code) for answer in answers] == [(2, 2), (3, 2), (9, 0)]
    assert answers[0].remark == "[OVERLOAD]system busy, start flow control for a while"
    assert scene.events.count("dropped") == 2
    scene.held[0].callback(Reply())
    scene.say(command(HOLD, 10))
    assert [answer.opaque for answer in scene.heard()] == [0]


def test_reply_may_be_sent_outside_request_function() -> None:
    scene = Scene()
    request = command(SILENT, 5)
    scene.connection.send_reply(request, Reply(remark="by hand"))
    (answer,) = scene.heard()
    assert (answer.opaque, answer.remark) == (5, "by hand")
    request.flag |= ONEWAY_FLAG
    scene.connection.send_reply(request, Reply())
    assert scene.heard() == []


# Requests to the peer


def outcome_of(answer: Deferred[Any]) -> list[Any]:
    outcomes: list[Any] = []
    answer.addCallbacks(outcomes.append, lambda failure: outcomes.append(failure.value))
    return outcomes


def test_request_to_peer_is_answered() -> None:
    scene = Scene()
    outcomes = outcome_of(scene.connection.request(command(307), 3.0))
    (asked,) = scene.heard()
    assert (asked.code, asked.is_response, asked.is_oneway) == (307, False, False)
    scene.say(RemotingCommand.response(0, remark="fine", request=asked))
    assert [outcome.remark for outcome in outcomes] == ["fine"]


def test_oneway_request_to_peer_is_sent() -> None:
    scene = Scene()
    scene.connection.send_oneway(command(40))
    (notification,) = scene.heard()
    assert (notification.code, notification.is_oneway) == (40, True)


def test_unanswered_request_times_out() -> None:
    scene = Scene()
    slow = outcome_of(scene.connection.request(command(307), 10.0))
    quick = outcome_of(scene.connection.request(command(307), 1.0))
    scene.clock.advance(0.9)
    assert quick == []
    scene.clock.advance(0.1)
    assert [type(outcome) for outcome in quick] == [RequestTimedOut]
    assert slow == []
    scene.clock.advance(9.0)
    assert [type(outcome) for outcome in slow] == [RequestTimedOut]
    assert scene.clock.getDelayedCalls() == []


def test_late_answer_is_ignored() -> None:
    scene = Scene()
    outcomes = outcome_of(scene.connection.request(command(307), 1.0))
    (asked,) = scene.heard()
    scene.clock.advance(1.0)
    scene.say(RemotingCommand.response(0, request=asked))
    scene.say(RemotingCommand.response(0, request=command(307, 12345)))
    assert len(outcomes) == 1
    assert scene.connection.is_open


def test_disconnect_ends_everything_in_flight() -> None:
    """Requests to the peer fail with the reason, its requests are dropped, callbacks are called."""
    scene = Scene()
    lost: list[Peer] = []
    scene.connection.on_lost(lost.append)
    scene.connection.on_lost(lost.append)
    outcomes = outcome_of(scene.connection.request(command(307), 3.0))
    scene.say(command(HOLD, 1), command(HOLD, 2))
    scene.talker.transport.loseConnection()
    scene.pair.pump()
    assert [type(outcome) for outcome in outcomes] == [PeerGone]
    assert scene.events[-3:] == ["dropped", "dropped", "gone"]
    assert lost == [scene.connection]
    assert scene.clock.getDelayedCalls() == []
    assert not scene.connection.is_open
    assert [type(o) for o in outcome_of(scene.connection.request(command(307), 3.0))] == [PeerGone]
    scene.connection.send_oneway(command(40))
    assert scene.pair.server.pending == []


def test_reply_after_disconnect_is_dropped() -> None:
    scene = Scene()
    late: Deferred[Reply] = Deferred()
    scene.held = [late]
    scene.dispatcher = Dispatcher(scene, {HOLD: lambda scene, call: late}, {}, clock=ManualClock())
    _, talker, pair = scene.connect()
    talker.transport.write(encode_command(command(HOLD, 1)))
    pair.pump()
    talker.transport.loseConnection()
    pair.pump()
    late.callback(Reply())
    assert pair.server.writes == 0


@pytest.mark.parametrize("is_aborted", [False, True])
def test_reply_of_long_request_that_outlives_its_connection_is_cancelled(is_aborted: bool) -> None:
    scene = Scene()

    def work(scene: Scene, call: Call) -> Steps[Deferred[Reply]]:
        for _ in range(AT_ONCE_STEPS + 1):
            yield
        return scene.hold(call)

    scene.dispatcher = Dispatcher(scene, {HOLD: work}, {}, clock=ManualClock())
    connection, talker, pair = scene.connect()
    talker.transport.write(encode_command(command(HOLD, 1)))
    pair.pump()
    if is_aborted:
        connection.abort()
    else:
        pair.server.lose(ConnectionDone())
    assert (scene.held, connection.is_open) == ([], False)
    for _ in range(2):
        scene.clock.advance(0)
    assert (len(scene.held), scene.events.count("dropped")) == (1, 1)


def test_on_lost_after_disconnect_calls_at_once() -> None:
    scene = Scene()
    scene.talker.transport.loseConnection()
    scene.pair.pump()
    lost: list[Peer] = []
    scene.connection.on_lost(lost.append)
    assert lost == [scene.connection]


def test_failed_lost_callback_does_not_stop_others(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene()

    def fail(peer: Peer) -> None:
        raise KeyError("unknown peer")

    scene.connection.on_lost(fail)
    scene.talker.transport.loseConnection()
    scene.pair.pump()
    assert scene.events[-1] == "gone"
    assert "unknown peer" in caplog.text


def test_requests_in_flight_to_peer_are_limited() -> None:
    scene = Scene(ask_limit=2)
    outcomes = [outcome_of(scene.connection.request(command(307), 3.0)) for _ in range(3)]
    assert [len(o) for o in outcomes] == [0, 0, 1]
    assert isinstance(outcomes[2][0], TooManyInFlight)
    assert len(scene.heard()) == 2


def test_cancelled_request_frees_its_slot() -> None:
    scene = Scene(ask_limit=1)
    request = scene.connection.request(command(307), 3.0)
    outcomes = outcome_of(request)
    request.cancel()
    assert len(outcomes) == 1
    assert outcome_of(scene.connection.request(command(307), 3.0)) == []


def test_both_sides_request_at_once() -> None:
    """Two real ends, each with functions and requests: their opaque numbers do not mix."""
    scene = Scene()
    other = RemotingConnection(scene.settings, scene.dispatcher, lambda peer: None, lambda peer: None)
    mine = RemotingConnection(scene.settings, scene.dispatcher, lambda peer: None, lambda peer: None)
    pair = Pair(other, mine)
    outcomes = [outcome_of(mine.request(echo(0, b"%d" % n), 3.0)) for n in range(5)]
    answers = [outcome_of(other.request(echo(0, b"%d" % -n), 3.0)) for n in range(5)]
    pair.pump()
    assert [outcome.body for (outcome,) in outcomes] == [b"0", b"1", b"2", b"3", b"4"]
    assert [answer.body for (answer,) in answers] == [b"0", b"-1", b"-2", b"-3", b"-4"]


# Closing


def test_close_flushes_output_and_logs_reason(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene()
    with caplog.at_level(logging.INFO):
        scene.connection.send_oneway(command(40))
        scene.connection.close("enough")
    assert not scene.connection.is_open
    assert len(scene.heard()) == 1
    assert scene.talker.lost is not None
    assert "192.168.1.1:54321 is closed: enough" in caplog.text


def test_input_after_close_is_ignored() -> None:
    scene = Scene()
    scene.connection.close("enough")
    scene.connection.dataReceived(encode_command(echo(1)))
    assert scene.events == ["made"]


def test_settled_fires_when_nothing_is_in_flight() -> None:
    scene = Scene()
    assert outcome_of(scene.connection.settled()) == [None]
    scene.say(command(HOLD, 1))
    outcomes = outcome_of(scene.connection.settled())
    request = outcome_of(scene.connection.request(command(307), 3.0))
    (asked,) = scene.heard()
    scene.held[0].callback(Reply())
    assert outcomes == []
    scene.say(RemotingCommand.response(0, request=asked))
    assert len(request) == 1
    assert outcomes == [None]


def test_settled_fires_when_last_request_times_out() -> None:
    scene = Scene()
    request = outcome_of(scene.connection.request(command(307), 3.0))
    outcomes = outcome_of(scene.connection.settled())
    scene.clock.advance(2.0)
    assert outcomes == []
    scene.clock.advance(1.0)
    assert [type(outcome) for outcome in request] == [RequestTimedOut]
    assert outcomes == [None]


def test_lost_connection_is_settled() -> None:
    scene = Scene()
    scene.say(command(HOLD, 1))
    outcomes = outcome_of(scene.connection.settled())
    scene.talker.transport.loseConnection()
    scene.pair.pump()
    assert outcomes == [None]


def test_idle_sweeps_see_reads_and_writes() -> None:
    scene = Scene()
    connection = scene.connection
    assert not connection.is_idle(0.0, 120)
    assert not connection.is_idle(119.0, 120)
    scene.say(command(SILENT))  # a read
    assert not connection.is_idle(120.0, 120)
    assert not connection.is_idle(239.0, 120)
    connection.send_oneway(command(40))  # a write
    assert not connection.is_idle(240.0, 120)
    assert not connection.is_idle(359.0, 120)
    assert connection.is_idle(360.0, 120)


# Hostile peers


BAD_STREAMS = {
    "a length of 2 GiB": b"\x7f\xff\xff\xff",
    "a negative length": b"\xff\xff\xff\xff",
    "a length of zero": bytes(4),
    "a length above the limit": (1 << 20).to_bytes(4, "big"),
    "a header that leads out of its frame": b"\x00\x00\x00\x08\x00\x00\x10\x00abcd",
    "an unknown header form": b"\x00\x00\x00\x08\x09\x00\x00\x04abcd",
    "a header that is not JSON": b"\x00\x00\x00\x08\x00\x00\x00\x04abcd",
}


@pytest.mark.parametrize(
    ("spoken", "said"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "it speaks HTTP"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "it speaks gRPC (HTTP/2), which is not served here"),
    ],
)
def test_foreign_protocols_are_closed_with_rate_limited_log(
    spoken: bytes, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    scene = Scene()
    _, second, second_pair = scene.connect()
    _, third, third_pair = scene.connect()
    for talker, pair in ((scene.talker, scene.pair), (second, second_pair)):
        talker.transport.write(spoken)
        pair.pump()
        assert talker.lost is not None
    (record,) = caplog.records
    assert said in record.getMessage()
    scene.clock.advance(60)
    third.transport.write(spoken)
    third_pair.pump()
    assert "(1 more did since this was last said)" in caplog.records[-1].getMessage()


@pytest.mark.parametrize("bad", BAD_STREAMS.values(), ids=BAD_STREAMS.keys())
def test_malformed_input_closes_connection_with_one_log_line(
    bad: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """Earlier requests are answered, other connections continue, the line names peer and reason."""
    scene = Scene()
    _, other_talker, other_pair = scene.connect()
    scene.say(echo(1))
    scene.talker.transport.write(bad)
    scene.pair.pump()
    assert [answer.opaque for answer in scene.talker.take()] == [1]
    assert scene.talker.lost is not None
    assert not scene.connection.is_open
    (record,) = caplog.records
    assert "192.168.1.1:54321 is closed after a protocol error: " in record.getMessage()
    other_talker.transport.write(encode_command(echo(2)))
    other_pair.pump()
    assert len(other_talker.take()) == 1


def test_malformed_command_does_not_affect_earlier_ones() -> None:
    scene = Scene()
    bad = b"\x00\x00\x00\x08\x09\x00\x00\x04abcd"
    scene.talker.transport.write(encode_command(echo(1)) + bad + encode_command(echo(2)))
    scene.pair.pump()
    assert [answer.opaque for answer in scene.talker.take()] == [1]
    assert "after read" in scene.events
    assert scene.talker.lost is not None


def test_random_bytes_only_close_their_connection() -> None:
    """Garbage, whole and behind a plausible length, in chunks of any size."""
    chance = random.Random(20)
    for _ in range(200):
        scene = Scene()
        garbage = chance.randbytes(chance.randrange(1, 200))
        if chance.random() < 0.7:
            garbage = len(garbage).to_bytes(4, "big") + garbage
        for start in range(0, len(garbage), size := chance.randrange(1, 50)):
            scene.talker.transport.write(garbage[start : start + size])
            scene.pair.pump()
        scene.talker.transport.loseConnection()
        scene.pair.pump()
        assert scene.events[-1] == "gone"


def test_incomplete_frame_is_not_served() -> None:
    scene = Scene()
    scene.talker.transport.write(encode_command(echo(1, bytes(500_000)))[:-1])
    scene.pair.pump()
    assert scene.connection.is_open
    assert scene.events == ["made"]


def bulk(opaque: int, size: int = 100_000) -> RemotingCommand:
    return command(BULK, opaque, size=str(size))


def test_peer_that_does_not_read_is_not_read_and_unsent_is_bounded() -> None:
    """One read requests 20 MB: only the high-water mark and one reply are produced, the rest waits."""
    scene = Scene()
    server = scene.pair.server
    server.stuck = True
    scene.say(*[bulk(opaque) for opaque in range(200)])
    assert not server.reading
    assert scene.settings.high_water_mark < server.pending_size <= scene.settings.high_water_mark + 101_000
    scene.talker.transport.write(encode_command(echo(1000)))
    scene.pair.pump()
    assert server.pending_size <= scene.settings.high_water_mark + 101_000

    server.stuck = False
    for _ in range(300):
        scene.pair.pump()
        scene.clock.advance(0)
    answers = scene.talker.take()
    assert [answer.opaque for answer in answers] == [*range(200), 1000]
    assert server.reading
    assert scene.connection.is_open


def test_slow_reader_gets_all_answers_in_order() -> None:
    scene = Scene()
    scene.pair.server.stuck = True
    scene.say(*[bulk(opaque, 30_000) for opaque in range(50)])
    for _ in range(100):
        scene.pair.server.stuck = False
        scene.pair.server.carry()
        scene.pair.server.stuck = True
        scene.clock.advance(0)
        assert scene.pair.server.pending_size < scene.settings.high_water_mark + 40_000
    assert [answer.opaque for answer in scene.talker.take()] == list(range(50))


def test_backlog_is_served_in_next_turn_if_transport_never_fills() -> None:
    """A read that requests more than the high-water mark does not stall if the transport never fills."""
    scene = Scene()
    scene.pair.server.BUFFER = 1 << 30
    scene.say(*[bulk(opaque) for opaque in range(10)])
    before = len(scene.talker.heard)
    assert before < 10
    for _ in range(5):
        scene.clock.advance(0)
        scene.pair.pump()
    assert [answer.opaque for answer in scene.talker.take()] == list(range(10))
    assert scene.pair.server.reading


def test_reads_always_continues_while_peer_does_not_read() -> None:
    """Two ends that stopped reading would deadlock, so a client never stops."""
    scene = Scene()
    scene.settings.reads_always = True
    scene.connection, scene.talker, scene.pair = scene.connect()
    scene.pair.server.stuck = True
    scene.connection.send_reply(command(SILENT), Reply(body=bytes(1_000_000)))
    outcomes = outcome_of(scene.connection.request(command(307), 3.0))
    assert isinstance(outcomes[0], TooManyInFlight)
    scene.say(bulk(1), bulk(2))
    assert scene.pair.server.reading
    scene.pair.server.stuck = False
    scene.pair.pump()
    assert [answer.opaque for answer in scene.talker.take()] == [0, 1, 2]


def test_held_replies_count_as_backpressure() -> None:
    scene = Scene()
    scene.pair.server.stuck = True
    scene.say(*[command(HOLD, opaque) for opaque in range(4)])
    for held in scene.held:
        held.callback(Reply(body=bytes(100_000)))
    assert not scene.pair.server.reading
    scene.pair.server.stuck = False
    scene.pair.pump()
    assert len(scene.talker.take()) == 4
    assert scene.pair.server.reading


def test_peer_above_unsent_limit_is_disconnected(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene(unsent_limit=300_000)
    scene.pair.server.stuck = True
    scene.say(*[command(HOLD, opaque) for opaque in range(8)])
    for held in scene.held:
        held.callback(Reply(body=bytes(100_000)))
    scene.pair.pump()
    assert scene.talker.lost is not None
    assert not scene.connection.is_open
    (record,) = caplog.records
    assert "192.168.1.1:54321 is disconnected" in record.getMessage()


def test_request_to_peer_that_does_not_read_is_refused() -> None:
    scene = Scene()
    scene.pair.server.stuck = True
    for _ in range(4):
        scene.connection.send_reply(command(SILENT), Reply(body=bytes(100_000)))
    assert [type(o) for o in outcome_of(scene.connection.request(command(307), 3.0))] == [TooManyInFlight]
    writes = scene.pair.server.writes
    scene.connection.send_oneway(command(40))
    assert scene.pair.server.writes == writes


def test_output_of_open_turn_counts_as_unsent_after_transport_drained() -> None:
    scene = Scene(high_water_mark=1000)
    scene.say(command(HOLD, 1))
    scene.connection.pauseProducing()
    scene.turn.begin()
    scene.held[0].callback(Reply(body=bytes(2000)))
    scene.connection.resumeProducing()
    assert [type(o) for o in outcome_of(scene.connection.request(command(307), 3.0))] == [TooManyInFlight]
    scene.turn.end()
    assert outcome_of(scene.connection.request(command(307), 3.0)) == []
    assert len(scene.heard()) == 2


def test_closing_connection_closes_once_peer_reads() -> None:
    scene = Scene()
    scene.pair.server.stuck = True
    scene.say(*[bulk(opaque) for opaque in range(20)])
    scene.connection.close("enough")
    scene.pair.server.stuck = False
    scene.pair.pump()
    assert scene.talker.lost is not None
    assert scene.events[-1] == "gone"
    assert scene.clock.getDelayedCalls() == []


# Addresses and terms


def test_peer_has_address_as_text_and_bytes() -> None:
    connection = Scene().connection
    assert connection.address == "192.168.1.1:54321"
    assert connection.local_address == "10.0.0.1:10911"
    assert connection.host_bytes == bytes([192, 168, 1, 1]) + (54321).to_bytes(4, "big")
