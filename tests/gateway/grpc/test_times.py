"""The latency of calls is in the metric of remoting requests, with their protocol as a label."""

from mqgateway.engine.meters import FrontEndMeter
from mqgateway.gateway.grpc import NAME
from mqgateway.gateway.grpc.call import Status
from mqgateway.gateway.grpc.times import CallTimes
from tests.support.gateway.metrics import ExportingBroker

LATENCY = "rocketmq_rpc_latency_milliseconds_count"


def test_calls_of_grpc_are_counted_by_method_and_status() -> None:
    host = ExportingBroker()
    meter = host.meters.front_ends[NAME] = FrontEndMeter(has_latency=True)
    assert meter.latency is not None
    times = CallTimes(meter.latency)
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
