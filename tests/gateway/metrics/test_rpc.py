from bisect import bisect_left
from collections import Counter
from typing import Any

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.meters import LATENCY_BOUNDS, Meters
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import ONEWAY_FLAG, RemotingCommand
from mqgateway.gateway.grpc.call import Status
from mqgateway.gateway.metrics.rpc import GrpcTimes, RequestTimes
from mqgateway.gateway.remoting.call import NO_REPLY, Call, Reply
from tests.support.gateway.metrics import ExportingBroker

LATENCY = "rocketmq_rpc_latency_milliseconds_count"


def count(
    host: ExportingBroker, code: str, answer: str, *, held: bool = False, result: str = "success"
) -> float:
    labels = {
        "request_code": code,
        "response_code": answer,
        "is_long_polling": str(held).lower(),
        "result": result,
        "protocol_type": "remoting",
    }
    return host.value(LATENCY, **labels) or 0


def test_requests_are_counted_by_what_was_asked_and_answered() -> None:
    host = ExportingBroker()
    host.add_topic("T")
    for _ in range(3):
        host.send("T")
    host.send("T", oneway=True)
    host.ask(9999)
    assert count(host, "send_message_v2", "success") == 3
    assert count(host, "send_message_v2", "success", result="oneway") == 1
    assert count(host, "9999", "request_code_not_supported") == 1


def test_a_held_pull_is_counted_once_when_it_is_answered() -> None:
    host = ExportingBroker()
    host.add_topic("T")
    host.subscribe("G", "T")
    held = host.pull("T", sys_flag=2)
    assert held.waits
    assert not count(host, "pull_message", "success", held=True)
    host.clock.advance(40)
    host.send("T")
    assert not held.waits
    assert count(host, "pull_message", "success", held=True) == 1
    buckets = host.values("rocketmq_rpc_latency_milliseconds_bucket")
    slow = {
        dict(labels)["le"]: value
        for labels, value in buckets.items()
        if dict(labels)["is_long_polling"] == "true"
    }
    assert slow["10.0"] == 0
    assert slow["100.0"] == 1


def test_a_lost_connection_cancels_what_it_waited_for() -> None:
    host = ExportingBroker()
    host.add_topic("T")
    host.subscribe("G", "T")
    host.pull("T", sys_flag=2)
    host.consumer.lose()
    assert count(host, "pull_message", "success", held=True) == 0


def test_any_number_of_codes_makes_no_table_grow() -> None:
    host = ExportingBroker(options={"metrics_otel_cardinality_limit": 20})
    for code in range(5000, 5100):
        host.ask(code)
    assert len(host.meters.rpc_latency.table) == 20
    assert sum(host.meters.rpc_latency.overflow.counts) == 80


def test_creations_take_their_time() -> None:
    host = ExportingBroker()
    host.ask(RequestCode.UPDATE_AND_CREATE_TOPIC)
    name = "rocketmq_topic_create_execution_time_milliseconds_count"
    assert host.value(name, invocation_status="failure", is_system="false") == 1


def test_calls_of_grpc_are_counted_by_method_and_status() -> None:
    host = ExportingBroker()
    times = GrpcTimes(host.meters)
    service = "/apache.rocketmq.v2.MessagingService"
    for seconds in (0.002, 0.02):
        times.noted(f"{service}/SendMessage", Status.OK, seconds)
    times.noted(f"{service}/ReceiveMessage", Status.CANCELLED, 20.0)
    times.noted("", Status.UNIMPLEMENTED, 0.0)
    found = {
        tuple(
            dict(labels)[name] for name in ("request_code", "response_code", "is_long_polling", "result")
        ): value
        for labels, value in host.values(LATENCY).items()
        if dict(labels)["protocol_type"] == "grpc"
    }
    assert found == {
        ("send_message", "ok", "false", "success"): 2,
        ("receive_message", "cancelled", "true", "cancelled"): 1,
        ("unknown", "unimplemented", "false", "success"): 1,
    }
    assert (
        host.value(
            "rocketmq_rpc_latency_milliseconds_bucket",
            le="3.0",
            protocol_type="grpc",
            request_code="send_message",
            response_code="ok",
            is_long_polling="false",
            result="success",
        )
        == 1
    )


NOBODY: Any = None


@pytest.mark.parametrize("millis", [0, 1000, 4000])
def test_what_is_usual_is_counted_as_everything_else(millis: int) -> None:
    """The short road of requests that succeed at once gives what the long one would."""
    clock, meters, expected = ManualClock(), Meters(100), Counter[tuple[Any, ...]]()
    times = RequestTimes(meters, clock)
    bucket = bisect_left(LATENCY_BOUNDS, millis)
    for reply in (Reply(0), Reply(), Reply(ResponseCode.SYSTEM_ERROR), NO_REPLY):
        for flag in (0, ONEWAY_FLAG):
            for is_held in (False, True):
                for code in (RequestCode.PULL_MESSAGE, RequestCode.SEND_MESSAGE, RequestCode.PULL_MESSAGE):
                    command = RemotingCommand(int(code))
                    command.flag = flag
                    call = Call(command, None, b"", NOBODY, 0)
                    times.before(call)
                    call.is_held = is_held
                    clock.advance(millis)
                    times.after(call, reply)
                    result = "oneway" if flag else "cancelled" if reply is NO_REPLY else "success"
                    is_polled = is_held and code == RequestCode.PULL_MESSAGE
                    answer = "system_error" if reply.code else "success"
                    expected[code.name.lower(), answer, str(is_polled).lower(), result] += 1
    found = meters.rpc_latency.table
    assert {labels: one.counts[bucket] for labels, one in found.items()} == expected
    assert {labels: one.sum for labels, one in found.items()} == {
        labels: count * millis for labels, count in expected.items()
    }


def test_what_is_refused_at_the_door_took_no_time() -> None:
    meters = Meters(100)
    command = RemotingCommand(int(RequestCode.SEND_MESSAGE))
    RequestTimes(meters, ManualClock()).after(
        Call(command, None, b"", NOBODY, 0), Reply(ResponseCode.SYSTEM_BUSY)
    )
    (labels,) = meters.rpc_latency.table
    assert labels == ("send_message", "system_busy", "false", "success")
