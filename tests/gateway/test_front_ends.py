"""A protocol enters as a folder and a line in the list: shown by a line protocol of the tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mqgateway.gateway.cli.services import Both
from mqgateway.gateway.front_end import FrontEnd, FrontEndEnvironment, Running
from mqgateway.gateway.front_ends import FRONT_ENDS
from mqgateway.gateway.testing.faults import SEND
from tests.gateway.cli.test_observing import browser
from tests.gateway.cli.test_services import Loop, broker_settings, namesrv_settings
from tests.support.gateway.line_protocol.front_end import LINES
from tests.support.gateway.metrics import parsed
from tests.support.gateway.remoting.opening import PROXY_V1, PROXY_V2, Before, over_tls
from tests.support.gateway.remoting.pair import Net
from tests.support.gateway.testing.hands import HOST, Hands

PORT = 23999
ACCESS: dict[str, Any] = {
    "authentication_enabled": True,
    "authorization_enabled": True,
    "inner_client_authentication_credentials": '{"accessKey":"inner","secretKey":"hidden"}',
}


class Speaker:
    """A client of the line protocol; `before` is what it sends ahead of TLS and lines."""

    def __init__(self, loop: Any, net: Net, port: int, *, tls: bool = False, before: bytes = b"") -> None:
        self._loop = loop
        self._received = b""
        net.meet(port, Before(before, over_tls(self) if tls else self))

    def makeConnection(self, transport: Any) -> None:
        self._transport = transport

    def dataReceived(self, data: bytes) -> None:
        self._received += data

    def connectionLost(self, reason: object) -> None:
        self._received += b"lost\n"

    def say(self, line: str) -> str:
        """Return the answer to a line."""
        self._transport.write(line.encode() + b"\n")
        for _ in range(300):
            self._loop.settle(0.01)
            answer, end, rest = self._received.partition(b"\n")
            if end:
                self._received = rest
                return answer.decode()
        raise AssertionError(f"no answer to {line}")


@contextmanager
def served(lines: FrontEnd = LINES, **settings: Any) -> Iterator[tuple[Hands, Speaker]]:
    """The test server with the line protocol, and a client of it."""
    hands = Hands(front_ends=(*FRONT_ENDS, lines), **settings)
    host, _, port = hands.server.endpoint("line").partition(":")
    assert host == HOST
    yield hands, Speaker(hands.loop, hands.loop.net, int(port))
    hands.close()


def test_line_protocol_sends_pulls_pops_acknowledges_commits_and_administers() -> None:
    with served() as (hands, client):
        assert client.say("CREATE Orders 1") == "OK"
        group = hands.server.create_group()
        assert client.say("SEND Orders a") == "OK 0"
        assert client.say("SEND Orders b") == "OK 1"
        assert [one.body for one in hands.server.messages("Orders")] == [b"a", b"b"]
        assert client.say(f"PULL Orders {group} 0") == "OK a b"
        assert client.say(f"COMMIT Orders {group} 2") == "OK"
        assert client.say(f"COMMITTED Orders {group}") == "OK 2"
        popping = hands.server.create_group()
        answer, *words = client.say(f"POP Orders {popping}").split()
        assert answer == "OK" and [words[0], words[4]] == ["a", "b"]
        for _, queue_id, offset, receipt in (words[:4], words[4:]):
            assert client.say(f"ACK Orders {popping} {queue_id} {offset} {receipt}") == "OK"
        assert client.say("SEND Unknown a").startswith("ERR TOPIC_NOT_EXIST ")


def test_line_protocol_without_rights_is_refused() -> None:
    with served(**ACCESS) as (hands, client):
        topic = hands.server.create_topic()
        hands.server.create_user("alice", "secret", {f"Topic:{topic}": ["Pub"]})
        assert client.say(f"SEND {topic} a").startswith("ERR denied ")
        assert client.say("LINE alice wrong") == "OK"
        assert client.say(f"SEND {topic} a").startswith("ERR denied ")
        assert client.say("LINE alice secret") == "OK"
        assert client.say(f"SEND {topic} a").startswith("OK ")
        assert client.say("CREATE Other 1").startswith("ERR denied ")
        assert [one.body for one in hands.server.messages(topic)] == [b"a"]


def test_line_protocol_on_slave_refuses_sends() -> None:
    with served(broker_role="SLAVE", broker_id=1) as (_, client):
        assert client.say("SEND Orders a").startswith("ERR SYSTEM_BUSY [REJECTREQUEST]")


def test_line_protocol_is_struck_by_faults_of_the_test_server() -> None:
    with served() as (hands, client):
        topic = hands.server.create_topic(queues=1)
        hands.server.refuse(SEND, code=2, remark="busy")
        assert client.say(f"SEND {topic} a") == "ERR 2 busy"
        assert hands.server.messages(topic) == []


def test_line_protocol_is_recognised_on_the_port_of_the_broker() -> None:
    with served() as (hands, _):
        client = Speaker(hands.loop, hands.loop.net, 10911)
        assert client.say("LINE") == "OK"
        assert client.say("CREATE Orders 1") == "OK" and client.say("SEND Orders a") == "OK 0"


@pytest.mark.parametrize("before", [b"", PROXY_V1, PROXY_V2], ids=["direct", "proxy-1", "proxy-2"])
@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
@pytest.mark.parametrize("is_shared", [False, True], ids=["own-port", "broker-port"])
def test_line_protocol_is_served_over_tls_and_behind_a_proxy(
    tls: bool, before: bytes, is_shared: bool
) -> None:
    environments: list[FrontEndEnvironment] = []

    def start(around: FrontEndEnvironment) -> Running:
        environments.append(around)
        return LINES.start(around)

    with served(replace(LINES, start=start)) as (hands, _):
        port = 10911 if is_shared else int(hands.server.endpoint("line").partition(":")[2])
        client = Speaker(hands.loop, hands.loop.net, port, tls=tls, before=before)
        assert client.say("LINE") == "OK" and client.say("CREATE Orders 1") == "OK"
        assert client.say("SEND Orders a") == "OK 0"
        open_connections = environments[0].server.connections()
        [shown] = [one for one in open_connections if one.last_request == "SEND"]
        assert shown.is_secure is tls
        assert shown.address == ("203.0.113.7:56324" if before else "192.168.1.1:54321")


def test_line_protocol_keeps_its_port_when_the_broker_restarts() -> None:
    with served() as (hands, client):
        before = hands.server.endpoint("line")
        hands.server.restart()
        assert hands.server.endpoint("line") == before
        assert client._received == b"lost\n", "its connections end with the broker"
        other = Speaker(hands.loop, hands.loop.net, int(before.partition(":")[2]))
        assert other.say("CREATE Orders 1") == "OK"


def test_line_protocol_in_a_command_is_shown_measured_and_stopped(tmp_path: Path) -> None:
    loop = Loop()
    broker = broker_settings(tmp_path, metricsExporterType="PROM", grpcServerPort=PORT)
    lines = replace(LINES, setting="grpcServerPort")  # settings are fixed; gRPC is not served here
    both = Both(loop, namesrv_settings(tmp_path), broker, 0.0, [lines])
    loop.wait_for(both.start())
    summary = both.summary()
    endpoint = summary.as_json()["line"]
    assert f"lines        {endpoint}   (telnet {endpoint})" in summary.lines()
    client = Speaker(loop, loop, PORT)
    assert client.say("CREATE Orders 1") == "OK" and client.say("SEND Orders a") == "OK 0"
    page = browser(loop, 5557)
    page.ask("/metrics")
    loop.settle(1)
    found = parsed(page.responses[-1].body.decode())
    assert sum(value for (name, _), value in found.items() if name == "mqgateway_line_connections") == 1
    counts = {
        dict(labels)["request_code"]: value
        for (name, labels), value in found.items()
        if name == "rocketmq_rpc_latency_milliseconds_count" and dict(labels)["protocol_type"] == "line"
    }
    assert counts == {"create": 1, "send": 1}
    loop.wait_for(both.stop())
    assert not loop.ports


def test_front_ends_have_names_settings_and_flags_of_their_own() -> None:
    for names in zip(*((one.name, one.title, one.setting, one.flag) for one in FRONT_ENDS), strict=True):
        assert len(set(names)) == len(FRONT_ENDS)


@pytest.mark.parametrize("front_end", FRONT_ENDS, ids=lambda one: one.name)
def test_front_end_is_disabled_by_default(front_end: Any, tmp_path: Path) -> None:
    assert front_end.port_in(broker_settings(tmp_path).broker) == 0
