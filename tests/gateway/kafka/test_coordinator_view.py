"""Kafka's groups and transactions for administrators of the broker."""

from typing import Any

from mqgateway.gateway.broker.operations import SharedPartition
from mqgateway.gateway.kafka.codec.messages.consumer_protocol_assignment import (
    ConsumerProtocolAssignment,
    TopicPartition,
)
from mqgateway.gateway.kafka.codec.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from mqgateway.gateway.kafka.codec.messages.join_group_request import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
)
from mqgateway.gateway.kafka.codec.messages.sync_group_request import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from mqgateway.gateway.kafka.codec.plans import encode
from tests.gateway.kafka.api.test_consumer_groups import heartbeat as consumer_heartbeat
from tests.gateway.kafka.api.test_metadata import create
from tests.gateway.kafka.api.test_share_groups import heartbeat as share_heartbeat
from tests.support.gateway.kafka.broker import KafkaBroker
from tests.support.gateway.kafka.client import kafka_scene
from tests.support.gateway.kafka.transactions import TxnProducer

VERSION = b"\0\0"


def joined_classic(kafka: KafkaBroker, metadata: bytes, assignment: bytes) -> None:
    """Let one member join the group `g`, and assign to it."""
    protocols = (JoinGroupRequestProtocol("range", metadata),)

    def join(member_id: str) -> Any:
        return kafka.send(JoinGroupRequest("g", 10_000, 30_000, member_id, None, "consumer", protocols), 9)

    [first] = join("")
    answers = join(first.member_id)
    kafka.pass_time(5_000)
    [joined] = answers
    brought = (SyncGroupRequestAssignment(first.member_id, assignment),)
    kafka.ask(
        SyncGroupRequest(
            "g", joined.generation_id, first.member_id, None, "consumer", "range", assignments=brought
        )
    )


def test_classic_group_shows_subscriptions_and_partitions() -> None:
    kafka = KafkaBroker()
    subscription = encode(ConsumerProtocolSubscription(("orders",)), 0)
    assignment = encode(ConsumerProtocolAssignment((TopicPartition("orders", (1, 0)),)), 0)
    joined_classic(kafka, VERSION + subscription, VERSION + assignment)
    group = kafka.operations.coordinated.group("g")
    assert group is not None
    assert (group.kind, group.state, group.assignor, group.shared) == ("classic", "Stable", "range", ())
    [member] = group.members
    assert (member.client_id, member.host, member.instance_id) == ("tester", "10.0.0.7", "")
    assert (member.subscriptions, member.assigned) == (["orders"], [("orders", 0), ("orders", 1)])


def test_bytes_of_another_protocol_are_left_out() -> None:
    kafka = KafkaBroker()
    joined_classic(kafka, b"\0\0\xff", b"x")
    group = kafka.operations.coordinated.group("g")
    assert group is not None
    [member] = group.members
    assert (member.subscriptions, member.assigned) == ((), ())


def test_consumer_group_shows_what_its_members_have() -> None:
    kafka = KafkaBroker()
    kafka.ask(consumer_heartbeat("m", 0))
    group = kafka.operations.coordinated.group("g")
    assert group is not None
    assert (group.kind, group.state, group.assignor) == ("consumer", "Stable", "uniform")
    [member] = group.members
    assert (member.member_id, member.assigned) == ("m", [("orders", number) for number in range(4)])


def test_share_group_shows_its_partitions() -> None:
    kafka = KafkaBroker()
    kafka.ask(share_heartbeat())
    group = kafka.operations.coordinated.group("g")
    assert group is not None
    assert (group.kind, group.state, group.assignor) == ("share", "Stable", "simple")
    assert [member.subscriptions for member in group.members] == [["orders"]]
    assert all(one == SharedPartition("orders", one.partition, -1, None) for one in group.shared)


def test_unknown_groups_are_not_shown() -> None:
    kafka = KafkaBroker()
    assert kafka.operations.coordinated.group("g") is None
    assert kafka.operations.coordinated.group("%zz") is None
    assert not kafka.operations.coordinated.transactions()


def test_open_transaction_is_shown_until_it_ends() -> None:
    with kafka_scene() as scene:
        create(scene.client(), "a")
        producer = TxnProducer(scene).begun()
        assert producer.send("a", b"1").error_code == 0
        [shown] = scene.operations.coordinated.transactions()
        assert (shown.id, shown.producer_id, shown.epoch) == ("t", producer.producer_id, producer.epoch)
        assert (shown.state, shown.timeout, shown.partitions) == ("Ongoing", 60_000, ["a: 0"])
        assert shown.started > 0
        producer.end(True)
        scene.settle(0.5)
        assert not scene.operations.coordinated.transactions()
