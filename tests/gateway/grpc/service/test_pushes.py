"""Commands to clients by the streams of their Telemetry."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.python.failure import Failure

from mqgateway.gateway.broker.admin import consumers
from mqgateway.gateway.broker.clients.outgoing import ClientAnswer
from mqgateway.gateway.codec.bodies.consuming import ConsumeMessageDirectlyResult, ConsumerRunningInfo
from mqgateway.gateway.grpc import v2
from tests.support.gateway.grpc.messaging import LITE_STORE, Service, Stream


def outcome(waiting: Any) -> list[Any]:
    """Return a list that will have the answer, or the failure."""
    found: list[Any] = []
    waiting.addBoth(found.append)
    return found


def verified(service: Service, stream: Stream) -> tuple[list[Any], str]:
    """A consumer is to consume a message now: where its answer will be, and how it is asked."""
    service.memory.send(body=b"a")
    (stored,) = (one for queue in range(4) for one in service.memory.stored("T", queue))
    found = outcome(
        consumers.consume_directly(service.broker, "G", "c1", "T", stored.message_id, may_use=None)
    )
    command = stream.heard[-1].verify_message_command
    assert command.message.body == b"a"
    return found, command.nonce


@pytest.mark.parametrize(
    "code,result",
    [
        (v2.Code.OK, "CR_SUCCESS"),
        (v2.Code.FAILED_TO_CONSUME_MESSAGE, "CR_LATER"),
        (v2.Code.MESSAGE_CORRUPTED, "CR_RETURN_NULL"),
    ],
)
def test_a_message_is_consumed_at_once(code: v2.Code, result: str) -> None:
    service = Service()
    stream = service.consumer()
    found, nonce = verified(service, stream)
    stream.say(status=v2.Status(code=code), verify_message_result=v2.VerifyMessageResult(nonce=nonce))
    body = ConsumeMessageDirectlyResult.decode(found[0].body)
    assert (body.consume_result, body.remark) == (result, "from gRPC client")


def test_the_stacks_of_a_clients_threads() -> None:
    service = Service()
    stream = service.consumer()
    found = outcome(consumers.running_info(service.broker, "G", "c1", jstack=True))
    nonce = stream.heard[-1].print_thread_stack_trace_command.nonce
    trace = v2.ThreadStackTrace(nonce=nonce, thread_stack_trace="main: idle")
    stream.say(status=v2.Status(code=v2.Code.OK), thread_stack_trace=trace)
    info = ConsumerRunningInfo.decode(found[0].body)
    assert (info.jstack, [one.topic for one in info.subscription_set]) == ("main: idle", ["T"])


@pytest.mark.parametrize("code", [v2.Code.VERIFY_FIFO_MESSAGE_UNSUPPORTED, v2.Code.INTERNAL_ERROR])
def test_stacks_that_are_not_reported(code: v2.Code) -> None:
    service = Service()
    stream = service.consumer()
    found = outcome(consumers.running_info(service.broker, "G", "c1", jstack=True))
    nonce = stream.heard[-1].print_thread_stack_trace_command.nonce
    stream.say(status=v2.Status(code=code), thread_stack_trace=v2.ThreadStackTrace(nonce=nonce))
    assert isinstance(found[0], ClientAnswer) and found[0].code != 0


def test_running_info_without_a_command() -> None:
    service = Service()
    service.consumer()
    (answer,) = outcome(consumers.running_info(service.broker, "G", "c1"))
    assert ConsumerRunningInfo.decode(answer.body).properties["PROP_CLIENT_VERSION"] == "5.2.0"


def test_a_client_that_does_not_answer() -> None:
    service = Service()
    stream = service.consumer()
    found, nonce = verified(service, stream)
    service.pass_time(6000)
    assert isinstance(found[0], Failure) and "call remote timeout" in str(found[0].value)
    stream.say(verify_message_result=v2.VerifyMessageResult(nonce=nonce))  # too late: nothing happens


def test_a_client_that_goes_while_it_is_asked() -> None:
    service = Service()
    stream = service.consumer()
    found, _ = verified(service, stream)
    service.ask(v2.NotifyClientTerminationRequest(group=v2.Resource(name="G")))
    assert isinstance(found[0], Failure) and "has gone" in str(found[0].value)


def test_a_client_without_a_stream() -> None:
    service = Service()
    service.consumer().call.leave()
    (found,) = outcome(consumers.running_info(service.broker, "G", "c1", jstack=True))
    assert isinstance(found, Failure) and "no Telemetry stream" in str(found.value)


def test_commands_that_gRPC_clients_do_not_know() -> None:
    service = Service()
    service.consumer()
    outgoing = service.broker.clients.consumer("G", "c1").outgoing  # type: ignore[union-attr]
    outgoing.members_changed("G")
    outgoing.reset_offsets(None)  # type: ignore[arg-type]
    assert outgoing.is_open
    for asked in (outgoing.offsets("G", "T"), outgoing.push_reply(None)):  # type: ignore[arg-type]
        assert isinstance(outcome(asked)[0], Failure)


def test_a_lite_topic_that_another_client_has_now() -> None:
    service = Service(store_options=LITE_STORE)
    service.topic("chat", "LITE")
    service.group("R", attributes={"lite.bind.topic": "chat", "lite.sub.model": "Exclusive"})
    streams = [
        service.consumer("R", "chat", v2.ClientType.LITE_PUSH_CONSUMER, client_id) for client_id in ("a", "b")
    ]
    for client_id in ("a", "b"):
        request = v2.SyncLiteSubscriptionRequest(
            topic=v2.Resource(name="chat"), group=v2.Resource(name="R"), lite_topic_set=["room1"]
        )
        assert service.ask(request, client_id).status.code == v2.Code.OK
    assert streams[0].heard[-1].notify_unsubscribe_lite_command.lite_topic == "room1"
