"""Kafka clients at the stop of a broker: what waits is answered, and a drain gives them the next leader."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.fetch_request import FetchRequest
from mqgateway.gateway.kafka.codec.messages.find_coordinator_request import FindCoordinatorRequest
from mqgateway.gateway.kafka.codec.messages.join_group_request import JoinGroupRequest
from mqgateway.gateway.kafka.codec.messages.metadata_request import MetadataRequest
from mqgateway.gateway.kafka.codec.schema import Message
from tests.gateway.kafka.api.test_groups import join_request
from tests.gateway.kafka.api.test_metadata import create
from tests.gateway.kafka.api.test_share_fetch import fill, share_fetch, share_scene
from tests.support.gateway.kafka.client import KafkaClient
from tests.support.gateway.kafka.members import KafkaSet
from tests.support.gateway.kafka.requests import batch_of_values, fetch_request, produce_request, produced
from tests.support.gateway.kafka.transactions import TxnProducer, committed_values

MINUTE = 60_000
JOIN_VERSION = 3
"""A version of JoinGroup in which a member needs no id to wait for others."""


def parked(
    client: KafkaClient, request: Message, version: int | None = None, seconds: float = 0.5
) -> KafkaClient:
    """Send a request whose answer has to wait; clients of a set wait ten times as long."""
    client.write(client.frame(request, version))
    assert client.frames(1, seconds) == []
    return client


def answered(client: KafkaClient, request: Message, version: int | None = None) -> Any:
    """Return the answer to a request that waited."""
    [frame] = client.frames(1, 0.05)
    return client.decoded(request, frame, version)


def test_drain_answers_what_waits_and_gives_clients_the_next_leader() -> None:
    brokers = KafkaSet(drain_timeout_millis=40_000)
    master = brokers.join(1)
    slave = brokers.join(2)
    brokers.make_topic(master, "a")
    [topic] = brokers.client(1).ask(MetadataRequest(topics=None)).topics
    wanted: FetchRequest = fetch_request("", 0, topic_id=topic.topic_id, max_wait=MINUTE)
    joining = join_request()
    reader = parked(brokers.client(1), wanted, seconds=0.05)
    member = parked(brokers.client(1), joining, JOIN_VERSION, seconds=0.05)

    drained: list[Any] = []
    master.service.drain().addBoth(drained.append)
    [partition] = answered(reader, wanted).responses[0].partitions
    assert partition.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert answered(member, joining, JOIN_VERSION).error_code == ErrorCode.NOT_COORDINATOR
    assert drained == [] and slave.leads

    brokers.wait(0.4)
    answer = reader.ask(wanted)
    [partition] = answer.responses[0].partitions
    assert partition.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert partition.current_leader.leader_id == 2 and answer.node_endpoints[0].host == "broker-2"
    [found] = member.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"])).coordinators
    assert (found.error_code, found.node_id) == (ErrorCode.NONE, 2)
    brokers.wait(1)
    assert drained == [None]
    data = batch_of_values(b"one", now=brokers.clock.millis())
    assert produced(brokers.client(2), produce_request("a", data)).error_code == ErrorCode.NONE


def test_drain_without_a_known_leader_ends_in_time() -> None:
    brokers = KafkaSet(drain_timeout_millis=3000)
    master = brokers.join(1)
    slave = brokers.join(2)
    drained: list[Any] = []
    waiting = master.service.drain()
    waiting.addBoth(drained.append)
    slave.kill()
    brokers.wait(2)
    assert drained == []
    brokers.wait(2)
    assert drained == [None]


def test_stop_answers_fetches_and_members_that_wait() -> None:
    with share_scene() as scene:
        topic_id = create(scene.client(), "a")
        fill(scene, scene.client(), 1)
        classic = fetch_request("a", 1, max_wait=MINUTE)
        shared = share_fetch(topic_id, wait=MINUTE)
        joining: JoinGroupRequest = join_request("classic")
        reader = parked(scene.client(), classic, 12)
        sharer = scene.client()
        assert sharer.ask(share_fetch(topic_id)).error_code == ErrorCode.NONE
        shared.share_session_epoch = 1
        parked(sharer, shared)
        member = parked(scene.client(), joining, JOIN_VERSION)
        service: Any = scene.server._nodes.broker
        front_ends: Any = scene.server._nodes._front_ends
        front_ends["kafka"].stop()
        assert answered(member, joining, JOIN_VERSION).error_code == ErrorCode.NOT_COORDINATOR
        assert answered(sharer, shared).error_code == ErrorCode.NONE
        late = scene.client().ask(joining, JOIN_VERSION)
        assert late.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        service.stop()
        scene.settle(0.2)
        assert answered(reader, classic, 12).responses[0].partitions[0].error_code == ErrorCode.NONE
        assert reader.lost and sharer.lost and member.lost


def test_open_transaction_is_committed_at_the_next_coordinator() -> None:
    brokers = KafkaSet(drain_timeout_millis=40_000)
    master = brokers.join(1)
    brokers.join(2)
    brokers.make_topic(master, "a")
    scene: Any = SimpleNamespace(
        client=lambda name: brokers.client(1),
        settle=brokers.wait,
        server=SimpleNamespace(clock=brokers.clock),
    )
    producer = TxnProducer(scene).begun()
    assert producer.send("a", b"one").error_code == ErrorCode.NONE
    master.service.drain()
    brokers.wait(0.5)
    assert producer.end(True) == ErrorCode.NOT_COORDINATOR
    producer.client = brokers.client(2)
    assert producer.send("a", b"two").error_code == ErrorCode.NONE
    assert producer.end(True) == ErrorCode.NONE
    brokers.wait(1)
    assert committed_values(brokers.client(2), "a") == [b"one", b"two"]
