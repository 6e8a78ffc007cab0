"""Frames to requests, and answers to frames."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet import task
from twisted.internet.defer import Deferred

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.tables.client_quotas import ClientQuotas
from mqgateway.gateway.kafka.call import Address, KafkaCall
from mqgateway.gateway.kafka.codec.headers import RequestHeader, write_request_header
from mqgateway.gateway.kafka.codec.messages.heartbeat_request import HeartbeatRequest
from mqgateway.gateway.kafka.codec.messages.heartbeat_response import HeartbeatResponse
from mqgateway.gateway.kafka.codec.plans import encode_into
from mqgateway.gateway.kafka.dispatch import KafkaDispatcher, UnservableRequest
from mqgateway.gateway.kafka.quotas.enforcement import QuotaEnforcement
from mqgateway.gateway.kafka.throttling import Throttling
from mqgateway.gateway.runtime.schedule import Schedule

HEARTBEAT = 12


class Operations:
    """Operations, as far as a dispatcher needs them."""

    clock = ManualClock()


def frame(version: int = 4) -> bytes:
    """Return a heartbeat."""
    out = bytearray()
    write_request_header(out, RequestHeader(HEARTBEAT, version, 7, "me"))
    encode_into(out, HeartbeatRequest("group", 1, "member"), version)
    return bytes(out)


def dispatched(
    data: bytes, handler: Any, noted: Any = None, quotas: Any = None, connection: Any = None
) -> Any:
    """Return what a dispatcher makes of a frame."""
    operations: Any = Operations()
    times = iter(range(10))
    dispatcher = KafkaDispatcher(
        operations, {HEARTBEAT: handler}, seconds=lambda: float(next(times)), noted=noted, quotas=quotas
    )
    return dispatcher.dispatch(data, connection, Address("10.0.0.1", 9092))


def test_a_handler_gets_the_call_and_its_request_and_the_answer_is_encoded() -> None:
    seen: list[tuple[KafkaCall, HeartbeatRequest]] = []

    def handler(call: KafkaCall, request: HeartbeatRequest) -> HeartbeatResponse:
        seen.append((call, request))
        return HeartbeatResponse(error_code=27)

    times: list[tuple[str, float]] = []
    name, reply, _ = dispatched(frame(), handler, lambda api, seconds: times.append((api, seconds)))
    [(call, request)] = seen
    assert (name, call.version, call.client_id, call.local.port) == ("Heartbeat", 4, "me", 9092)
    assert request == HeartbeatRequest("group", 1, "member")
    assert b"".join(reply) == bytes.fromhex("00000007 00 00000000 001b 00") and times == [("Heartbeat", 1.0)]


def test_an_answer_may_come_later_or_never() -> None:
    later: Deferred[HeartbeatResponse] = Deferred()
    _, reply, _ = dispatched(frame(0), lambda call, request: later)
    replies: list[list[bytes]] = []
    reply.addCallback(replies.append)
    later.callback(HeartbeatResponse())
    assert [b"".join(each) for each in replies] == [bytes.fromhex("00000007 0000")]
    assert dispatched(frame(), lambda call, request: None) == ("Heartbeat", None, False)


@pytest.mark.parametrize(
    "data", [b"", frame()[:-3], b"\0\3" + frame()[2:], frame()[:3] + b"\x7f" + frame()[4:]]
)
def test_a_frame_that_is_no_supported_request_is_refused(data: bytes) -> None:
    with pytest.raises(UnservableRequest):
        dispatched(data, lambda call, request: None)


class Source:
    """Quotas of the client `me`: a twentieth of the time."""

    version = 1

    def all(self) -> list[ClientQuotas]:
        """See `QuotaSource`."""
        return [ClientQuotas({"client-id": "me"}, {"request_percentage": 5.0})]


class HeldConnection:
    """A connection that counts how often it is held."""

    is_open = True

    def __init__(self) -> None:
        self.held = 0

    def hold(self) -> None:
        """See `HeldConnection`."""
        self.held += 1

    def release(self) -> None:
        """See `HeldConnection`."""

    def on_lost(self, callback: object) -> None:
        """See `HeldConnection`."""


def test_time_of_the_event_loop_counts_for_the_quota_of_a_client() -> None:
    quotas = Throttling(QuotaEnforcement(Source(), lambda: 0), Schedule(task.Clock()))
    connection = HeldConnection()
    _, reply, _ = dispatched(frame(), lambda *_: HeartbeatResponse(), quotas=quotas, connection=connection)
    assert connection.held == 1
    assert b"".join(reply) == bytes.fromhex("00000007 00 000003e8 0000 00")


def test_request_that_waits_counts_until_it_waits() -> None:
    quotas = Throttling(QuotaEnforcement(Source(), lambda: 0), Schedule(task.Clock()))
    connection = HeldConnection()
    later: Deferred[HeartbeatResponse] = Deferred()
    _, reply, _ = dispatched(frame(), lambda *_: later, quotas=quotas, connection=connection)
    assert not connection.held
    reply.addCallback(lambda _: None)
    later.callback(HeartbeatResponse())
    assert connection.held == 1
