"""Clients against servers, all in memory: connections on demand, and the reasons of failures."""

import logging
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.options import RemotingOptions, TlsOptions
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.remoting.call import Call, Peer, Reply, RequestError
from mqgateway.gateway.remoting.client import RemotingClient
from mqgateway.gateway.remoting.dispatch import Dispatcher
from mqgateway.gateway.remoting.exchange import PeerGone, RequestTimedOut
from mqgateway.gateway.remoting.server import RemotingServer
from mqgateway.gateway.remoting.server_tls import ServerTls
from mqgateway.gateway.remoting.tls import ClientTls
from tests.gateway.remoting.test_tls import FileShelf
from tests.support.gateway.remoting.pair import Net

ECHO, HOLD, ASK_BACK, GO_AWAY = 987_401, 987_402, 987_403, 987_404
HERE = "10.0.0.1:9876"


class Scene:
    """Client and a server."""

    def __init__(self, *, tls: bool = False, dispatcher: Dispatcher | None = None) -> None:
        self.net = Net()
        self.clock = ManualClock()
        self.calls: list[Call] = []
        self.peers: list[Peer] = []
        self.held: list[Deferred[Reply]] = []
        self.options = RemotingOptions()
        self.server_tls = ServerTls(TlsOptions(tls_server_mode="enforcing"), FileShelf()) if tls else None
        self.server = self.start_server()
        self.client = RemotingClient(
            self.net,
            self.options,
            dispatcher=dispatcher,
            tls=ClientTls(TlsOptions(), FileShelf()) if tls else None,
            clock=self.clock,
        )

    def start_server(self) -> RemotingServer:
        table = {ECHO: self.echo, HOLD: self.hold, ASK_BACK: self.ask_back, GO_AWAY: self.go_away}
        server = RemotingServer(
            self.net,
            Dispatcher(None, table, {}, clock=self.clock),
            self.options,
            tls=self.server_tls,
            on_connect=self.peers.append,
        )
        server.listen("0.0.0.0", 9876)
        return server

    def echo(self, context: None, call: Call) -> Reply:
        self.calls.append(call)
        return Reply(body=call.body)

    def hold(self, context: None, call: Call) -> Deferred[Reply]:
        self.held.append(Deferred())
        return self.held[-1]

    def ask_back(self, context: None, call: Call) -> Deferred[Reply]:
        """Answer with the client's answer to a request."""
        answer = call.peer.request(RemotingCommand.request(ECHO, body=b"back"), 3.0)
        return answer.addCallback(lambda answer: Reply(body=answer.body, remark=str(answer.code)))

    def go_away(self, context: None, call: Call) -> Reply:
        self.calls.append(call)
        raise RequestError(1500, "please go away")

    def ask(
        self, code: int = ECHO, body: bytes = b"x", timeout: float = 3.0, address: str = HERE
    ) -> list[Any]:
        outcomes: list[Any] = []
        answer = self.client.request(address, RemotingCommand.request(code, body=body), timeout)
        answer.addCallbacks(outcomes.append, lambda failure: outcomes.append(failure.value))
        return outcomes

    def asked(self, code: int = ECHO, body: bytes = b"x") -> RemotingCommand:
        """Send a request and run everything that happens at once."""
        outcomes = self.ask(code, body)
        self.net.settle()
        (answer,) = outcomes
        assert isinstance(answer, RemotingCommand), answer
        return answer


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
def test_connection_is_opened_on_demand_and_reused(tls: bool) -> None:
    scene = Scene(tls=tls)
    assert scene.net.attempts == 0
    assert scene.asked(body=b"one").body == b"one"
    assert scene.net.attempts == 1


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
def test_first_request_may_exceed_every_buffer(tls: bool) -> None:
    """The handshake must be read however much output is waiting behind it."""
    large = bytes(6_000_000)
    assert Scene(tls=tls).asked(body=large).body == large


def test_requests_waiting_for_connection_share_it() -> None:
    scene = Scene()
    outcomes = [scene.ask(body=b"%d" % number) for number in range(5)]
    scene.net.settle()
    assert [outcome.body for (outcome,) in outcomes] == [b"0", b"1", b"2", b"3", b"4"]
    assert scene.net.attempts == 1


def test_server_can_send_requests_to_client() -> None:
    clock = ManualClock()
    functions = Dispatcher(None, {ECHO: lambda context, call: Reply(body=call.body * 2)}, {}, clock=clock)
    answer = Scene(dispatcher=functions).asked(ASK_BACK)
    assert (answer.body, answer.remark) == (b"backback", "0")


def test_client_without_functions_refuses_requests() -> None:
    assert Scene().asked(ASK_BACK).remark == "3"


def test_end_of_released_connection_does_not_affect_its_successor() -> None:
    scene = Scene()
    scene.asked()
    scene.client.release(HERE)
    for _ in range(2):
        scene.asked()
    assert scene.net.attempts == 2


def test_refused_connection_fails_request_and_next_one_reconnects() -> None:
    scene = Scene()
    outcomes = scene.ask(address="10.0.0.1:1")
    scene.net.settle()
    assert isinstance(outcomes[0], PeerGone)
    assert "10.0.0.1:1 cannot be reached" in str(outcomes[0])
    scene.ask(address="10.0.0.1:1")
    scene.net.settle()
    assert scene.net.attempts == 2


@pytest.mark.parametrize("address", ["", "10.0.0.1", "10.0.0.1:", ":9876", "10.0.0.1:port"])
def test_invalid_address_fails_request(address: str) -> None:
    (outcome,) = Scene().ask(address=address)
    assert isinstance(outcome, PeerGone)


def test_unanswered_request_times_out() -> None:
    scene = Scene()
    outcomes = scene.ask(HOLD, timeout=2.0)
    scene.net.settle(1.5)
    assert outcomes == []
    scene.net.settle(1.0)
    assert isinstance(outcomes[0], RequestTimedOut)


def test_timeout_includes_connecting() -> None:
    scene = Scene()
    scene.net.unreachable.add(9876)
    outcomes = scene.ask(timeout=1.0)
    scene.net.settle(1.5)
    assert isinstance(outcomes[0], RequestTimedOut)


def test_requests_in_flight_fail_when_server_disconnects() -> None:
    scene = Scene()
    outcomes = scene.ask(HOLD)
    scene.net.settle()
    scene.peers[0].close("bye")
    scene.net.settle()
    assert isinstance(outcomes[0], PeerGone)
    assert scene.asked().body == b"x"
    assert scene.net.attempts == 2


def test_oneway_request_is_sent_without_waiting(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene()
    scene.client.send_oneway(HERE, RemotingCommand.request(ECHO, body=b"told"))
    scene.net.settle()
    assert [call.body for call in scene.calls] == [b"told"]
    with caplog.at_level(logging.INFO):
        scene.client.send_oneway("10.0.0.1:1", RemotingCommand.request(ECHO))
        scene.client.send_oneway("nowhere", RemotingCommand.request(ECHO))
        scene.net.settle()
    assert caplog.text.count(f"request {ECHO} was not sent") == 2


def test_idle_connection_is_closed() -> None:
    scene = Scene()
    scene.asked()
    scene.net.settle(130)
    assert scene.server.connection_count == 0
    assert scene.client._links == {}
    assert scene.net.attempts == 1


# Going away


def test_go_away_repeats_request_once_on_new_connection() -> None:
    scene = Scene()
    scene.asked()
    scene.calls.clear()
    answer = scene.asked(GO_AWAY, b"again")
    assert answer.code == 1500
    assert [call.body for call in scene.calls] == [b"again", b"again"]
    assert scene.calls[0].peer is not scene.calls[1].peer
    assert scene.server.connection_count == 1


def test_go_away_keeps_earlier_requests_in_flight() -> None:
    scene = Scene()
    waiting = scene.ask(HOLD, timeout=30.0)
    scene.net.settle()
    scene.asked(GO_AWAY)
    assert waiting == []
    scene.held[0].callback(Reply(remark="as promised"))
    scene.net.settle()
    assert [answer.remark for answer in waiting] == ["as promised"]
    assert scene.server.connection_count == 1


def test_clients_of_stopping_server_move_to_next_one() -> None:
    scene = Scene()
    scene.options.enable_shutdown_gracefully = True
    waiting = scene.ask(HOLD, timeout=30.0)
    scene.net.settle()
    scene.server.stop()
    scene.start_server()
    assert scene.asked(body=b"who is there").body == b"who is there"
    scene.held[0].callback(Reply())
    scene.net.settle()
    assert [answer.code for answer in waiting] == [0]


# Closing


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
def test_closed_client_has_no_connections_timers_or_requests(tls: bool) -> None:
    scene = Scene(tls=tls)
    waiting = scene.ask(HOLD)
    connecting = scene.ask(address="10.0.0.1:2")
    scene.net.unreachable.add(3)
    stuck = scene.ask(address="10.0.0.1:3")
    scene.net.settle()
    done: list[object] = []
    scene.client.close().addCallback(done.append)
    scene.net.settle()
    assert len(done) == 1
    assert [type(outcomes[0]) for outcomes in (waiting, connecting, stuck)] == [PeerGone] * 3
    scene.net.settle(5)
    assert scene.server.connection_count == 0
    (outcome,) = scene.ask()
    assert isinstance(outcome, PeerGone)
    scene.server.stop()
    scene.net.settle()
    assert scene.net.getDelayedCalls() == []


def test_close_aborts_connection_to_server_that_does_not_read() -> None:
    scene = Scene()
    scene.asked()
    scene.net.pairs[0].client.stuck = True
    scene.ask(body=bytes(1_000_000))
    done: list[object] = []
    scene.client.close().addCallback(done.append)
    scene.net.settle(0.5)
    assert done == []
    scene.net.settle(1)
    assert len(done) == 1


def test_on_connect_is_called_before_first_request() -> None:
    scene = Scene()
    sent: list[str] = []

    def greet(address: str) -> None:
        sent.append(address)
        scene.client.send_oneway(address, RemotingCommand.request(ECHO, body=b"greeting"))

    scene.client = RemotingClient(scene.net, scene.options, clock=scene.clock, on_connect=greet)
    answers: list[RemotingCommand] = []
    scene.client.request(HERE, RemotingCommand.request(ECHO, body=b"question")).addCallback(answers.append)
    scene.net.settle()
    assert sent == [HERE]
    assert [call.body for call in scene.calls] == [b"greeting", b"question"]
    assert [answer.body for answer in answers] == [b"question"]


def test_all_requests_are_signed() -> None:
    scene = Scene()

    def sign(command: RemotingCommand) -> None:
        command.ext_fields["Signature"] = f"of {command.body.decode()}"

    scene.client = RemotingClient(scene.net, scene.options, clock=scene.clock, sign=sign)
    scene.asked(body=b"a")
    scene.client.send_oneway(HERE, RemotingCommand.request(ECHO, body=b"b", oneway=True))
    scene.net.settle()
    assert [call.command.ext_fields["Signature"] for call in scene.calls] == ["of a", "of b"]
