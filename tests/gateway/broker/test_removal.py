"""A broker that is to be removed: its routes, and its reports."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from twisted.internet.defer import Deferred

from mqgateway.engine.static_topics.items import MappingItem
from mqgateway.engine.static_topics.mappings import TopicQueueMappingDetail
from mqgateway.engine.tables.attributes import KAFKA_FORMAT, MESSAGE_FORMAT
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.broker.removal import SHOWN_MAX, BrokerRemoval, RemovalReport
from mqgateway.gateway.broker.unread import Unread, UnreadKind
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.runtime.schedule import Schedule
from tests.support.gateway.broker.helpers import send_header
from tests.support.gateway.client.cluster import Cluster

PAUSE = 40.0
PORT = 20911


class World:
    """A cluster whose second broker, `broker-b`, is removed."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.service = cluster.add_broker("broker-b", PORT)
        self.broker = self.service.broker
        self.schedule = Schedule(cluster.net)
        self.removal = BrokerRemoval(self.broker, self.schedule, PAUSE)
        cluster.make_topic("T", 1, PORT)

    def send(self) -> int:
        return self.cluster.meet(PORT).ask(RequestCode.SEND_MESSAGE_V2, send_header("T"), b"x").code

    def perm(self) -> int:
        """Return the permission of the topic in the route of this broker."""
        self.cluster.settle(1)
        (queue,) = self.cluster.run(self.cluster.client().routes.fetch("T")).queue_datas
        return int(queue.perm)

    def report(self) -> RemovalReport:
        return self.cluster.run(Deferred.fromCoroutine(self.removal.report(["broker-a"])))

    def read(self, offset: int) -> None:
        self.broker.tables.groups.put(SubscriptionGroupConfig("G"))
        self.broker.tables.offsets.commit("G", "T", 0, offset)


@pytest.fixture
def world() -> Iterator[World]:
    with Cluster() as cluster:
        made = World(cluster)
        yield made
        made.schedule.stop()


def test_it_takes_sends_until_producers_are_gone_and_is_done_when_all_is_consumed(world: World) -> None:
    assert world.send() == 0
    world.read(0)
    world.removal.begin()
    world.removal.begin()
    report = world.report()
    assert report.left == (Unread(UnreadKind.LAG, "T", "G", 1),)
    assert report.waits == "producers have not all seen yet that the broker takes no messages"
    world.cluster.settle(PAUSE)
    assert world.send() == 0, "a late send is stored"
    report = world.report()
    assert (report.left[0].messages, report.waits) == (2, "producers still send to it")
    world.cluster.settle(5)
    assert (world.report().waits, world.report().is_done) == ("", False)
    assert "T" in world.cluster.broker.tables.topics, "the topic was copied to the broker that stays"
    world.read(2)
    assert world.report().waits == "a last look"
    assert world.send() == ResponseCode.SYSTEM_ERROR, "clients try another broker after this error"
    assert world.report().is_done


def test_cancelled_removal_accepts_messages_again(world: World) -> None:
    world.removal.begin()
    world.cluster.settle(PAUSE + 5)
    world.report()
    world.cluster.settle(5)
    assert world.report().waits == "a last look"
    assert world.send() != 0
    world.removal.cancel()
    assert world.send() == 0
    assert world.report().waits == "the removal was cancelled"


def test_routes_follow_the_removal(world: World) -> None:
    announcement = world.broker.cluster.registration.announcement
    version = world.broker.tables.topics.data_version.counter
    world.removal.begin()
    assert not announcement.takes_messages and world.broker.tables.topics.data_version.counter > version
    world.removal.cancel()
    assert announcement.takes_messages


def test_topics_that_cannot_be_left_to_others_are_named(world: World) -> None:
    tables = world.broker.tables
    tables.topics.put(TopicConfig("Kafka", attributes={MESSAGE_FORMAT: KAFKA_FORMAT}))
    for topic, broker in (("Static", "broker-b"), ("Moved", "broker-a")):
        items = [MappingItem(0, 0, broker, 0)]
        tables.mappings.put(TopicQueueMappingDetail(topic, "broker-b", 1, 1, queues={0: items}))
    world.removal.begin()
    obstacles = world.report().obstacles
    assert [one.split()[:3] for one in obstacles] == [
        ["static", "topic", "Static"],
        ["topic", "Kafka", "was"],
    ]
    assert not world.report().is_done


def test_tables_that_cannot_be_copied_keep_the_broker(world: World) -> None:
    world.removal.begin()
    world.cluster.settle(PAUSE)
    world.report()
    world.cluster.settle(5)
    report = world.cluster.run(Deferred.fromCoroutine(world.removal.report(["gone"])))
    assert report.waits.startswith("topics and groups were not copied: ")


def test_json_form_has_the_largest_backlogs() -> None:
    left = tuple(Unread(UnreadKind.LAG, f"T{number}", "G", number) for number in range(1, SHOWN_MAX + 2))
    document = RemovalReport(left=left, waits="x").to_json()
    assert len(document["left"]) == SHOWN_MAX
    assert document["left"][0] == {"kind": "not consumed", "topic": "T101", "group": "G", "messages": 101}
    assert (document["messages"], document["isDone"]) == (sum(range(1, SHOWN_MAX + 2)), False)
