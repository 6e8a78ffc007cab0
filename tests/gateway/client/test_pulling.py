"""Pulls: who is asked, and what answers mean."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import Deferred

from mqgateway.gateway.client.client import Client
from mqgateway.gateway.client.errors import BrokerError, TimedOut
from mqgateway.gateway.client.message import Message, PullResult, PullStatus
from mqgateway.gateway.client.pulling import Puller
from mqgateway.gateway.client.subscriptions import subscription
from mqgateway.gateway.codec.bodies import BrokerData, TopicRouteData
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.headers import PullMessageRequestHeader
from tests.fuzz.world import BROKER_PORT
from tests.support.gateway.client.cluster import Cluster, bodies, messages, queue_of, requests_seen

EVERYTHING = subscription("T", "*", 0)


class Scene(Cluster):
    """A topic with five messages in its one queue."""

    def __enter__(self) -> Scene:
        super().__enter__()
        self.make_topic("T", queues=1)
        producer = self.producer()
        for message in messages("T", 5):
            self.run(producer.send(message))
        self.broker.tables.groups.find("G")
        self.puller_client: Client = producer.client
        self.puller = Puller(producer.client, "G")
        return self

    def pull(self, offset: int, **more: Any) -> PullResult:
        given = {"count": 32, "timeout": 5.0, **more}
        pulled = self.puller.pull(queue_of("T"), EVERYTHING, offset, sends_expression=True, **given)
        return self.run(Deferred.fromCoroutine(pulled))


def test_each_answer_has_its_meaning() -> None:
    with Scene() as scene:
        found = scene.pull(1, count=2)
        assert (found.status, bodies(found.messages)) == (PullStatus.FOUND, [b"1", b"2"])
        assert (found.next_offset, found.min_offset, found.max_offset) == (3, 0, 5)
        assert scene.pull(5).status is PullStatus.NO_NEW_MSG
        lost = scene.pull(99)
        assert (lost.status, lost.next_offset) == (PullStatus.OFFSET_ILLEGAL, 5)


def test_tags_that_do_not_match_are_distinguished_from_nothing_new() -> None:
    with Scene() as scene:
        nothing = scene.puller.pull(
            queue_of("T"), subscription("T", "X", 0), 0, count=9, timeout=5.0, sends_expression=True
        )
        result = scene.run(Deferred.fromCoroutine(nothing))
        assert (result.status, result.next_offset) == (PullStatus.NO_MATCHED_MSG, 5)


def test_a_pull_may_wait_at_the_broker() -> None:
    with Scene() as scene:
        waiting = scene.puller.pull(
            queue_of("T"),
            EVERYTHING,
            5,
            count=1,
            timeout=30.0,
            suspend_millis=15_000,
            sends_expression=True,
        )
        result = Deferred.fromCoroutine(waiting)
        scene.settle(3.0)
        assert not result.called
        scene.run(scene.producer("Another").send(Message("T", "new")))
        assert bodies(scene.run(result).messages) == [b"new"]


def test_commits_ride_on_pulls_from_masters_only() -> None:
    with Scene() as scene:
        seen = requests_seen(scene)
        scene.pull(0, commit=3)
        assert scene.broker.tables.offsets.query("G", "T", 0) == 3
        scene.pull(0, commit=0)
        slave = TopicRouteData(broker_datas=[BrokerData("c", "broker-a", {1: f"10.0.0.1:{BROKER_PORT}"})])
        scene.puller_client.routes.update("T", slave)
        scene.pull(0, commit=4, is_lite=True)
        headers = [PullMessageRequestHeader.decode(one.ext_fields) for one in seen]
        assert [one.sys_flag for one in headers] == [1 | 4, 4, 4 | 16]
        assert seen[-1].code == RequestCode.LITE_PULL_MESSAGE
        assert scene.broker.tables.offsets.query("G", "T", 0) == 3


def test_a_suggested_broker_is_asked_next_and_forgotten_with_the_queue() -> None:
    with Scene() as scene:
        scene.puller._suggested[queue_of("T")] = 1
        other = scene.add_broker("broker-b", 20911)
        addresses = {0: f"10.0.0.1:{BROKER_PORT}", 1: "10.0.0.1:20911"}
        route = TopicRouteData(broker_datas=[BrokerData("c", "broker-a", addresses)])
        scene.puller_client.routes.update("T", route)
        seen = requests_seen(scene, other.port)
        with pytest.raises(BrokerError):
            scene.pull(0)
        assert [one.code for one in seen if one.code == RequestCode.PULL_MESSAGE]
        scene.puller.keep([])
        assert scene.pull(0).status is PullStatus.FOUND


def test_refusals_and_silence_are_errors() -> None:
    with Scene() as scene:
        with pytest.raises(BrokerError):
            unused = subscription("T", "*", 0)
            pulled = Puller(scene.puller_client, "G").pull(queue_of("T"), unused, 0, count=1, timeout=5.0)
            scene.run(Deferred.fromCoroutine(pulled))
        with pytest.raises(TimedOut):
            scene.pull(5, suspend_millis=15_000, timeout=1.0)
