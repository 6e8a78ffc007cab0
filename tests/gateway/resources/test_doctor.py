"""`mqgateway doctor`: what servers and members say becomes findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

from mqgateway.gateway.cli.kafka_findings import KafkaFinding
from mqgateway.gateway.client.listening import Consumed, Context
from mqgateway.gateway.client.message import Message, ReceivedMessage
from mqgateway.gateway.client.push import PushConsumer
from tests.support.gateway.client.cluster import Cluster, messages
from tests.support.gateway.mqadmin.members import connect
from tests.support.gateway.mqadmin.tool import ResourceTool

BROKER = "10.0.0.1:10911"


def _checks(tool: ResourceTool, group: str = "G") -> list[str]:
    return [row["check"] for row in tool.json(f"doctor {group}")["rows"]]


def _send(cluster: Cluster, count: int = 4, **fields: Any) -> None:
    producer = cluster.producer()
    for one in messages("T", count, **fields):
        cluster.run(producer.send(one))


def _member(
    cluster: Cluster, listen: Callable[[Sequence[ReceivedMessage], Context], Consumed]
) -> PushConsumer:
    given = cluster.settings({"consume_from_where": "CONSUME_FROM_FIRST_OFFSET"})
    consumer = PushConsumer("G", cluster.around, listen, **given)
    cluster.run(consumer.subscribe("T"))
    cluster.begin(consumer)
    cluster.settle(20.0)
    return consumer


def test_a_group_that_consumes_is_well() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", 2)
        _send(cluster)
        connect(cluster, "G", "T")
        tool = ResourceTool(cluster)
        assert tool.run("doctor G") == 0, tool.out
        assert tool.out == "group G: 0 messages wait; members: 1, topics: 1\nnothing is the matter with it\n"


def test_unknown_group() -> None:
    with Cluster() as cluster:
        tool = ResourceTool(cluster)
        assert _checks(tool, "typo") == ["unknown-group"]
        assert tool.run("doctor typo") == 5
        assert "\ncause: unknown-group\n  no broker knows the group typo" in tool.out


def test_a_group_whose_members_are_gone() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", 1)
        consumer, _ = connect(cluster, "G", "T")
        cluster.kill(consumer)
        _send(cluster)
        tool = ResourceTool(cluster)
        (row,) = tool.json("doctor G")["rows"]
        assert (row["check"], row["weight"]) == ("no-member", "cause")
        assert row["values"] == {"group": "G", "behind": 4}


def test_a_group_that_may_not_read() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", 1)
        connect(cluster, "G", "T")
        tool = ResourceTool(cluster)
        assert tool.run(f"group create G -b {BROKER} -s false") == 0
        cluster.make_topic("T", 1, perm=2)
        assert _checks(tool)[:2] == ["group-disabled", "topic-unreadable"]


def test_a_filter_that_lets_nothing_through() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", 1)
        consumer, _ = connect(cluster, "G", "T", "TagA")
        consumer.suspend()
        cluster.settle(1.0)
        _send(cluster, tags="TagB")
        tool = ResourceTool(cluster)
        assert "filter-matches-nothing" in _checks(tool)


def test_a_listener_that_hangs_and_dead_letters() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", 1)
        cluster.make_topic("%DLQ%G", 1)
        cluster.run(cluster.producer().send(Message("%DLQ%G", "given up")))
        held: list[Any] = []

        def listen(found: Sequence[ReceivedMessage], context: Context) -> Any:
            from twisted.internet.defer import Deferred

            held.append(Deferred())
            return held[-1]

        _send(cluster)
        _member(cluster, listen)
        tool = ResourceTool(cluster)
        assert tool.run("doctor G") == 0, "it may only be slow"
        assert "4 messages wait" in tool.out and "no cause was found" in tool.out
        cluster.settle(90.0)
        checks = _checks(tool)
        assert checks[0] == "listener-hangs"
        assert checks[-1] == "dead-letters"
        assert tool.run("doctor G") == 5
        for one in held:
            one.callback(Consumed.SUCCESS)


@pytest.mark.parametrize("count", [1, 2])
def test_members_that_want_different_things(count: int) -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", 2)
        for wanted in ("TagA", "TagB")[:count]:
            connect(cluster, "G", "T", wanted)
        found = [check for check in _checks(ResourceTool(cluster)) if check == "subscription-conflict"]
        assert len(found) == count - 1


def test_broker_that_does_not_answer_is_reported() -> None:
    with Cluster() as cluster:
        cluster.add_broker("broker-b", 20911)
        cluster.make_topic("T", 1)
        connect(cluster, "G", "T")
        cluster.cut(20911)
        tool = ResourceTool(cluster)
        assert tool.run("doctor G") == 4, "nothing was found, but not everybody was asked"
        assert "10.0.0.1:20911" in tool.err
        assert tool.run("doctor typo") == 4, "no finding is made of a query that failed"
        assert "unknown-group" not in tool.out and "some queries failed" in tool.out
        cluster.mend(20911)


class KafkaSide:
    """Findings of Kafka's protocol, instead of a broker that serves it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[tuple[str, str, list[str]]] = []
        self.found = [KafkaFinding("hanging-transaction", "a transaction hangs", "abort it")]
        monkeypatch.setattr("mqgateway.gateway.cli.kafka_doctor.examine_share_group", self._examine)

    def _examine(self, address: str, name: str, topics: Iterable[str], **_: Any) -> list[KafkaFinding]:
        self.asked.append((address, name, sorted(topics)))
        return self.found


def test_problems_of_kafka_are_causes(monkeypatch: pytest.MonkeyPatch) -> None:
    kafka = KafkaSide(monkeypatch)
    with Cluster(kafka_port=9092) as cluster:
        cluster.make_topic("T", 2)
        connect(cluster, "G", "T")
        tool = ResourceTool(cluster)
        assert tool.run("doctor G") == 5
        assert "\ncause: hanging-transaction\n  a transaction hangs\n  -> abort it\n" in tool.out
        assert kafka.asked == [("10.0.0.1:9092", "G", ["T"])]
        kafka.found = []
        assert tool.run("doctor G") == 0


@pytest.mark.parametrize(
    ("settings", "address"),
    [
        ({"kafka_port": 0}, None),
        ({"kafka_port": 9092, "kafka_advertised_address": "client"}, "10.0.0.1:9092"),
        ({"kafka_port": 9092, "kafka_advertised_address": "kafka.example:19092"}, "kafka.example:19092"),
    ],
)
def test_kafka_is_asked_at_its_own_address(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], address: str | None
) -> None:
    kafka = KafkaSide(monkeypatch)
    with Cluster(**settings) as cluster:
        cluster.make_topic("T", 2)
        ResourceTool(cluster).run("doctor G")
    assert [one[0] for one in kafka.asked] == ([] if address is None else [address])
