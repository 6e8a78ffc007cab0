"""To which queue of which broker a message goes that a slave may not write."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from twisted.internet.defer import Deferred, fail, succeed

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.message import Message, pack_host
from mqgateway.engine.options import BrokerOptions
from mqgateway.gateway.broker.acting.escape import FRESH_SECONDS, ROUTES_MAX, EscapeSender
from mqgateway.gateway.codec.bodies import BrokerData, QueueData, TopicRouteData
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.remoting.exchange import PeerGone

OPTIONS = BrokerOptions(broker_name="b1", broker_id=1, broker_cluster_name="c")
HOST = pack_host("10.0.0.1", 10911)


def brokers(*names: str, perm: int = 6, queues: int = 2) -> dict[str, tuple[int, int]]:
    return dict.fromkeys(names, (queues, perm))


class Bench:
    """A sender, and brokers that answer with a code."""

    def __init__(self, known: dict[str, tuple[int, int]] | None = None) -> None:
        self.known = brokers("b1", "b2", "b3") if known is None else known
        self.clock = ManualClock()
        name_servers: Any = SimpleNamespace(ask=self.ask_name_server)
        self.sender = EscapeSender(OPTIONS, self.clock, self.ask, name_servers)
        self.answers: list[int | Exception] = []
        self.looked_up = 0
        self.went: list[tuple[str, int]] = []
        self.headers: list[dict[str, str]] = []

    def ask_name_server(self, command: RemotingCommand) -> Deferred[RemotingCommand]:
        assert command.code == RequestCode.GET_ROUTEINFO_BY_TOPIC
        self.looked_up += 1
        route = TopicRouteData(
            [QueueData(name, queues, queues, perm) for name, (queues, perm) in self.known.items()],
            [BrokerData("c", name, {0: f"{name}:10911", 1: "slave:1"}) for name in self.known],
        )
        return succeed(RemotingCommand.response(0, body=route.encode_standard()))

    def ask(self, address: str, command: RemotingCommand, timeout: float) -> Deferred[RemotingCommand]:
        assert command.code == RequestCode.SEND_MESSAGE_V2
        self.went.append((address.partition(":")[0], int(command.ext_fields["e"])))
        self.headers.append(command.ext_fields)
        answer = self.answers.pop(0) if self.answers else 0
        if isinstance(answer, Exception):
            return fail(answer)
        return succeed(RemotingCommand.response(answer, remark="no"))

    def send(self, topic: str = "T", **properties: str) -> bool:
        """Return True if it is stored."""
        ended: list[bool] = []
        one = Message(topic, 9, b"x", properties, 5, HOST, HOST, 3, 4, 2)
        self.sender.send(one, ended.append)
        (stored,) = ended
        return stored


def test_queues_of_other_brokers_are_used_round_robin() -> None:
    bench = Bench()
    assert all(bench.send() for _ in range(4))
    assert sorted(bench.went) == [("b2", 0), ("b2", 1), ("b3", 0), ("b3", 1)]
    assert bench.looked_up == 1


def test_message_is_sent_unchanged() -> None:
    bench = Bench()
    bench.send(KEYS="k", PGROUP="g")
    bench.send()
    fields: dict[str, Any] = bench.headers[0]
    assert (fields["a"], fields["b"], fields["f"], fields["g"], fields["h"], fields["j"]) == (
        "g",
        "T",
        "4",
        "5",
        "3",
        "2",
    )
    assert "KEYS\x01k" in fields["i"]
    assert bench.headers[1]["a"] == "InnerProducerGroup_b1_1"


@pytest.mark.parametrize("code", [0, 10, 11, 12])
def test_less_durable_store_counts_as_stored(code: int) -> None:
    bench = Bench()
    bench.answers = [code]
    assert bench.send()


@pytest.mark.parametrize("answer", [1, 14, PeerGone("refused")])
def test_refusal_evicts_the_route(answer: int | Exception) -> None:
    bench = Bench()
    bench.answers = [answer]
    assert not bench.send()
    assert bench.send()
    assert bench.looked_up == 2


@pytest.mark.parametrize("known", [{}, brokers("b1"), brokers("b2", perm=4)])
def test_topic_of_no_other_broker_fails(known: dict[str, tuple[int, int]]) -> None:
    bench = Bench(known)
    assert not bench.send()
    assert bench.went == []


def test_cached_routes_expire() -> None:
    bench = Bench()
    bench.send()
    bench.clock.advance(int(FRESH_SECONDS * 1000))
    bench.send()
    assert bench.looked_up == 2


def test_checkpoints_of_a_group_are_sent_to_one_queue() -> None:
    bench = Bench()
    for _ in range(5):
        bench.send("rmq_sys_REVIVE_LOG_c")
    assert len(set(bench.went)) == 1


def test_cached_routes_are_limited() -> None:
    bench = Bench()
    for number in range(ROUTES_MAX + 5):
        bench.send(f"T{number}")
    assert len(bench.sender) <= ROUTES_MAX
