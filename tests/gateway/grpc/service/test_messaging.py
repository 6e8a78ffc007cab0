"""The whole service: answers of Apache's proxy to each of many calls; checks before all methods."""

from __future__ import annotations

import time

import pytest
from google.protobuf.json_format import ParseDict

from compat_tests.support.grpc import answers, cases
from compat_tests.support.grpc.probe import STREAMS, described, normalised
from mqgateway.engine.clock import ManualClock
from mqgateway.engine.options import BrokerRole
from mqgateway.gateway.grpc import v2
from tests.support.gateway.grpc.messaging import (
    LITE_STORE,
    Service,
    message,
    messages_in,
    receiving,
)

EXPECTED = answers.recorded() | answers.DEPARTURES


@pytest.fixture(scope="module")
def service() -> Service:
    """A service with the topics of the cases, at today's time: some cases name times from now on."""
    made = Service(clock=ManualClock(int(time.time() * 1000)), store_options=LITE_STORE)
    for topic, kind in cases.TYPES.items():
        made.topic(topic, kind)
    made.group(cases.READERS)
    made.group(cases.ORDERED, consume_message_orderly=True)
    made.group(cases.GUESTS, attributes={"lite.bind.topic": cases.LITE})
    for client, settings in cases.SETTINGS.items():
        made.telemetry(client).say(settings=ParseDict(settings, v2.Settings()))
    return made


def received(service: Service) -> str:
    """The handle of a message that is sent and received now."""
    sent = ParseDict({"messages": [cases.message(cases.HANDLED)]}, v2.SendMessageRequest())
    service.ask(sent, cases.WRITER)
    request = receiving(cases.READERS, cases.HANDLED, batch_size=1)
    found = messages_in(service.ask(request, cases.READER))
    return str(found[0].system_properties.receipt_handle)


@pytest.mark.parametrize("case", cases.CASES, ids=lambda case: case.name)
def test_a_call_is_answered_as_apaches_proxy_answers_it(service: Service, case: cases.Case) -> None:
    made = case.request(lambda: received(service)) if callable(case.request) else case.request
    request = ParseDict(made, getattr(v2, f"{case.method}Request")())
    call, replies = service.begin(request, case.client)
    if case.method in STREAMS and call.ended is None:
        service.pass_time(6000)
    assert described(replies) == EXPECTED[case.name]


@pytest.mark.parametrize("name", cases.TELEMETRY)
def test_settings_are_answered_as_apaches_proxy_answers_them(service: Service, name: str) -> None:
    stream = service.telemetry("another")
    stream.say(settings=ParseDict(cases.TELEMETRY[name], v2.Settings()))
    if stream.heard:
        answer = stream.heard[0]
        found = f"{answer.status.code} {normalised(answers._in_short(answer.settings))}"
    else:
        assert stream.call.ended is not None
        found = f"gRPC {stream.call.ended[0].name} {stream.call.ended[1]}"
    assert found == EXPECTED[f"telemetry: {name}"]


def test_every_method_of_the_service_is_there() -> None:
    methods = {path.rpartition("/")[2] for path in Service().methods}
    requests = {
        name.removesuffix("Request")
        for name in dir(v2)
        if name.endswith("Request") and hasattr(v2, name.replace("Request", "Response"))
    }
    assert methods == requests | {"Telemetry"}
    assert len(methods) == 17


def test_text_of_unexpected_error_is_not_sent(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    service = Service()
    monkeypatch.setattr(service.broker.tables.topics, "get", lambda name: 1 / 0)
    answer = service.ask(v2.SendMessageRequest(messages=[message()]))
    assert answer.status.code == v2.Code.INTERNAL_SERVER_ERROR
    assert answer.status.message == "the request could not be processed"
    assert "ZeroDivisionError" in caplog.text


def test_a_slave_takes_no_messages_and_gives_none() -> None:
    service = Service(store_options={"broker_role": BrokerRole.SLAVE}, options={"broker_id": 1})
    service.consumer(client_id="c2")
    refused = service.ask(v2.SendMessageRequest(messages=[message()]))
    assert refused.status.code == v2.Code.TOO_MANY_REQUESTS
    assert service.ask(receiving(), "c2")[0].status.code == v2.Code.TOO_MANY_REQUESTS


@pytest.mark.parametrize("client_id", ["", " ", "c" * 70_000])
def test_a_client_says_who_it_is(client_id: str) -> None:
    service = Service()
    asked = service.ask(v2.QueryRouteRequest(topic=v2.Resource(name="T")), client_id)
    assert asked.status.code in (v2.Code.CLIENT_ID_REQUIRED, v2.Code.BAD_REQUEST)
    stream = service.telemetry(client_id)
    stream.say(settings=v2.Settings())
    assert stream.heard[0].status.code == asked.status.code
    assert stream.call.ended is not None and stream.call.ended[0] == 0


def test_clients_are_requested_to_reconnect_before_a_stop() -> None:
    service = Service()
    stream = service.producer()
    service.service.stop()
    assert stream.heard[-1].HasField("reconnect_endpoints_command")
