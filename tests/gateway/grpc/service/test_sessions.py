"""Sessions stand for connections: they are heard, asked, and lost once."""

from __future__ import annotations

from typing import Any

from mqgateway.engine.options import BrokerOptions
from mqgateway.gateway.grpc import v2
from mqgateway.gateway.grpc.service.caller import CallConnection
from mqgateway.gateway.grpc.service.sessions import ClientSession, ClientSessions
from tests.support.gateway.grpc.messaging import FakeCall


def caller(client_id: str = "c1", **headers: str) -> CallConnection:
    return CallConnection(FakeCall("Telemetry", client_id, **headers))


def test_a_session_is_one_client_by_many_calls() -> None:
    sessions = ClientSessions(BrokerOptions())
    session = sessions.of(caller(), 0)
    again = sessions.of(caller(**{"x-mq-client-version": "5.9.9"}), 7)
    assert again is session and session.heard_at == 7 and session.version == "5.9.9"
    assert repr(session) == "gRPC client c1 at 10.0.0.9:5000"
    assert list(sessions) == [session]


def test_a_session_is_lost_once() -> None:
    sessions, lost = ClientSessions(BrokerOptions()), list[Any]()
    session = sessions.of(caller(), 0)
    session.on_lost(lost.append)
    session.close("silent")
    session.close("again")
    assert lost == [session] and not len(sessions)
    session.on_lost(lost.append)
    assert lost == [session, session]


def test_answers_find_their_questions() -> None:
    session = ClientSession(caller(), 0)
    stream = caller()
    session.speak_by(stream)
    found: list[Any] = []
    nonces = [session.next_nonce() for _ in range(2)]
    for nonce in nonces:
        session.ask(nonce, v2.TelemetryCommand(), 0).addCallback(found.append)
    session.answer(nonces[1], v2.Status(code=1), "b")
    session.answer(nonces[0], v2.Status(code=2), "a")
    session.answer("9", v2.Status(), "nobody asked")
    assert [(status.code, text) for status, text in found] == [(1, "b"), (2, "a")]
    stream.call.leave()  # type: ignore[attr-defined]
    assert not session.has_stream and not session.send(v2.TelemetryCommand())
