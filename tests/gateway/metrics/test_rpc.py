from bisect import bisect_left
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.meters import LATENCY_BOUNDS, Meters
from mqgateway.engine.options import RemotingOptions
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import ONEWAY_FLAG, RemotingCommand, encode_command
from mqgateway.gateway.codec.fields import request_header
from mqgateway.gateway.metrics.rpc import RequestTimes
from mqgateway.gateway.remoting.call import NO_REPLY, Call, Reply, RequestError
from mqgateway.gateway.remoting.connection_settings import client_settings
from mqgateway.gateway.remoting.dispatch import Dispatcher
from mqgateway.gateway.remoting.protocol import RemotingConnection
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


def test_requests_are_counted_by_code_and_response() -> None:
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


def test_held_pull_of_a_lost_connection_is_not_counted() -> None:
    host = ExportingBroker()
    host.add_topic("T")
    host.subscribe("G", "T")
    host.pull("T", sys_flag=2)
    host.consumer.lose()
    assert count(host, "pull_message", "success", held=True) == 0


def test_table_of_latencies_is_bounded_for_any_number_of_codes() -> None:
    host = ExportingBroker(options={"metrics_otel_cardinality_limit": 20})
    for code in range(5000, 5100):
        host.ask(code)
    assert len(host.meters.rpc_latency.table) == 20
    assert sum(host.meters.rpc_latency.overflow.counts) == 80


def test_failed_topic_creation_is_timed() -> None:
    host = ExportingBroker()
    host.ask(RequestCode.UPDATE_AND_CREATE_TOPIC)
    name = "rocketmq_topic_create_execution_time_milliseconds_count"
    assert host.value(name, invocation_status="failure", is_system="false") == 1


def asking(code: int, flag: int = 0) -> RemotingCommand:
    """Return a request with every field of its header."""
    header = request_header(code)
    fields = {} if header is None else {field.wire_name: "1" for field in header.__fields__}
    command = RemotingCommand(int(code), ext_fields=fields)
    command.flag = flag
    return command


NOBODY: Any = None
CODE = RequestCode.SEND_MESSAGE


class Reads:
    """Dispatcher with a preset reply, or a late one if that is None; reads take a given time."""

    def __init__(self, most: int = 100) -> None:
        self.clock = ManualClock()
        self.meters = Meters(most)
        self.late: list[Deferred[Reply]] = []
        self.times = RequestTimes(self.meters, self.clock)
        codes = (CODE, RequestCode.PULL_MESSAGE, RequestCode.UPDATE_AND_CREATE_TOPIC)
        self.port = Dispatcher(self, dict.fromkeys(codes, Reads.answer), {}, clock=self.clock)
        self.port.time_with(self.times)
        self.reply: Reply | None = Reply()
        self.refusal: RequestError | None = None

    def answer(self, call: Call) -> Reply | Deferred[Reply]:
        if self.refusal is not None:
            raise self.refusal
        if self.reply is not None:
            return self.reply
        self.late.append(Deferred())
        return self.late[-1]

    def read(self, *codes: int, millis: int = 0, flag: int = 0) -> None:
        """Read requests of these codes together; the read ends `millis` later."""
        self.times.begin()
        for code in codes:
            self.port.dispatch(asking(code, flag), NOBODY)
        self.clock.advance(millis)
        self.times.end()

    def found(self) -> dict[tuple[str, ...], tuple[int, int]]:
        """Return the number of requests and their total time in ms, by labels."""
        table = self.meters.rpc_latency.table
        return {labels: (sum(one.counts), one.sum) for labels, one in table.items()}


def test_immediate_reply_takes_as_long_as_its_read() -> None:
    reads = Reads()
    reads.read(CODE, RequestCode.PULL_MESSAGE, CODE, millis=4)
    reads.read(CODE, millis=20)
    assert reads.found() == {
        ("send_message", "success", "false", "success"): (3, 28),
        ("pull_message", "success", "false", "success"): (1, 4),
    }
    counts = reads.meters.rpc_latency.table["send_message", "success", "false", "success"].counts
    assert (counts[bisect_left(LATENCY_BOUNDS, 4)], counts[bisect_left(LATENCY_BOUNDS, 20)]) == (2, 1)


@pytest.mark.parametrize(
    ("reply", "flag", "labels"),
    [
        (Reply(ResponseCode.SYSTEM_ERROR), 0, ("send_message", "system_error", "false", "success")),
        (Reply(), ONEWAY_FLAG, ("send_message", "success", "false", "oneway")),
        (NO_REPLY, 0, ("send_message", "success", "false", "cancelled")),
    ],
)
def test_replies_are_counted_apart_by_outcome(reply: Reply, flag: int, labels: tuple[str, ...]) -> None:
    reads = Reads()
    reads.read(CODE)
    reads.reply = reply
    reads.read(CODE, CODE, flag=flag)
    assert reads.found() == {("send_message", "success", "false", "success"): (1, 0), labels: (2, 0)}


@pytest.mark.parametrize("code", [CODE, RequestCode.PULL_MESSAGE])
def test_held_request_takes_until_its_own_reply(code: RequestCode) -> None:
    reads = Reads()
    reads.reply = None
    reads.read(code, code, millis=2)
    assert not reads.found()
    reads.clock.advance(98)
    reads.times.begin()  # answered during a read of another connection
    reads.late[0].callback(Reply())
    reads.times.end()
    reads.clock.advance(100)
    reads.late[1].callback(Reply())
    is_polled = str(code == RequestCode.PULL_MESSAGE).lower()
    assert reads.found() == {(code.name.lower(), "success", is_polled, "success"): (2, 300)}


def test_delayed_refusal_takes_until_it_is_sent() -> None:
    reads = Reads()
    until: Deferred[None] = Deferred()
    reads.refusal = RequestError(ResponseCode.NO_PERMISSION, "no", until=until)
    reads.read(CODE, millis=2)
    reads.clock.advance(98)
    until.callback(None)
    assert reads.found() == {("send_message", "no_permission", "false", "success"): (1, 100)}


def test_series_beyond_the_limit_are_counted_together() -> None:
    reads = Reads(most=1)
    for _ in range(2):
        reads.read(CODE, RequestCode.PULL_MESSAGE, millis=3)
    assert list(reads.found().values()) == [(2, 6)]
    assert (sum(reads.meters.rpc_latency.overflow.counts), reads.meters.rpc_latency.overflow.sum) == (2, 6)


def test_each_topic_creation_is_timed_by_itself() -> None:
    reads = Reads()
    reads.read(CODE, RequestCode.UPDATE_AND_CREATE_TOPIC, millis=7)
    assert reads.found()["update_and_create_topic", "success", "false", "success"] == (1, 0)
    assert sum(reads.meters.topic_creation.table["success", "false"].counts) == 1


def test_request_outside_a_read_takes_no_time() -> None:
    """An example is a request that is refused at the listener."""
    reads = Reads()
    reads.read(CODE, millis=50)
    reads.times.note(Call(RemotingCommand(int(CODE)), None, b"", NOBODY, 0), Reply(ResponseCode.SYSTEM_BUSY))
    assert reads.found()["send_message", "system_busy", "false", "success"] == (1, 0)


def test_connection_reports_its_reads() -> None:
    time, reads = Clock(), Reads()
    link = RemotingConnection(
        client_settings(RemotingOptions(), time), reads.port, lambda _: None, lambda _: None
    )
    transport = StringTransport()
    link.makeConnection(transport)
    link.dataReceived(encode_command(asking(CODE)) * 3)
    assert reads.found() == {("send_message", "success", "false", "success"): (3, 0)}
    assert not reads.times.answered
