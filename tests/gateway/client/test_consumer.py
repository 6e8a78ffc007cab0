"""Features of all consumers: broadcasting, resets, administration, members of the protocol."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from mqgateway.engine.lenient_json import loads
from mqgateway.gateway.client.consumer import GroupConsumer
from mqgateway.gateway.client.errors import BadArgument
from mqgateway.gateway.client.members import ConsumerMember
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.headers import (
    GetConsumerRunningInfoRequestHeader,
    ResetOffsetRequestHeader,
)
from tests.fuzz.world import BROKER_PORT
from tests.gateway.client.test_push import Inbox, begin, numbers, send, topics_held
from tests.support.gateway.client.cluster import Cluster, queue_of


def test_consumers_have_the_signatures_that_a_client_wants() -> None:
    names = [
        name for name, _ in inspect.getmembers(ConsumerMember, inspect.isfunction) if not name.startswith("_")
    ]
    assert len(names) == 9
    for name in names:
        mine, theirs = (inspect.signature(getattr(one, name)) for one in (GroupConsumer, ConsumerMember))
        assert list(mine.parameters) == list(theirs.parameters)


def test_broadcasting_delivers_to_all_and_keeps_offsets_in_a_file() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=2)
        first, second = Inbox(), Inbox()
        settings = {"message_model": "BROADCASTING", "local_offset_store_dir": "/home/.rocketmq_offsets"}
        one = begin(cluster, first, instance_name="one", **settings)
        begin(cluster, second, instance_name="two", **settings)
        send(cluster, 6)
        cluster.wait_for(lambda: len(first.got) == len(second.got) == 6)
        cluster.settle(16.0)
        path = "/home/.rocketmq_offsets/10.0.0.2@one/G/offsets.json"
        table = loads(cluster.disk.read_bytes(path))["offsetTable"]
        assert sorted(table.values()) == [3, 3]
        assert {key["topic"] for key in table} == {"T"}
        cluster.run(one.close())
        send(cluster, 2)
        again = Inbox()
        begin(cluster, again, instance_name="one", **settings)
        cluster.wait_for(lambda: len(again.got) == 2)
        cluster.settle(3.0)
        assert sorted(again.bodies) == numbers(2)
        # The brokers keep no offsets of it.
        assert not cluster.broker.tables.offsets.topics_of("G")


def test_a_broadcasting_consumer_is_known_by_the_name_of_its_instance() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        consumer = begin(cluster, Inbox(), message_model="BROADCASTING")
        assert consumer.client.client_id == "10.0.0.2@DEFAULT"


def test_an_administrator_resets_offsets() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send(cluster, 3)
        inbox = Inbox()
        begin(cluster, inbox)
        cluster.wait_for(lambda: len(inbox.got) == 3)
        cluster.settle(6.0)
        header = ResetOffsetRequestHeader(group="G", topic="T", timestamp=0, is_force=True)
        answer = cluster.meet(BROKER_PORT).ask(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, header)
        assert answer.code == 0
        cluster.wait_for(lambda: len(inbox.got) == 6, seconds=30)
        assert inbox.bodies == numbers(3) * 2


def test_an_administrator_sees_settings_queues_and_rates() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send(cluster, 3)
        inbox = Inbox()
        consumer = begin(cluster, inbox, secret_key="hidden", access_key="me")
        cluster.wait_for(lambda: len(inbox.got) == 3)
        header = GetConsumerRunningInfoRequestHeader(consumer_group="G", client_id=consumer.client.client_id)
        answer = cluster.meet(BROKER_PORT).ask(RequestCode.GET_CONSUMER_RUNNING_INFO, header)
        info = loads(answer.body)
        assert info["properties"]["pullBatchSize"] == "32"
        assert info["properties"]["PROP_CONSUME_TYPE"] == "CONSUME_PASSIVELY"
        assert info["properties"]["PROP_THREADPOOL_CORE_SIZE"] == "20"
        assert "hidden" not in str(info)
        assert {one["topic"] for one in info["subscriptionSet"]} == {"T", "%RETRY%G"}
        (table,) = [value for key, value in info["mqTable"].items() if key["topic"] == "T"]
        assert table["commitOffset"] == 3
        assert info["statusTable"]["T"]["consumeOKTPS"] > 0


def test_two_groups_of_one_client() -> None:
    with Cluster() as cluster:
        from mqgateway.gateway.client.push import PushConsumer

        cluster.make_topic("T", queues=1)
        client = cluster.client()
        inboxes = []
        for group in ("G", "H"):
            inbox = Inbox()
            given = cluster.settings({"consume_from_where": "CONSUME_FROM_FIRST_OFFSET"})
            consumer = PushConsumer(group, cluster.around, inbox, client=client, **given)
            cluster.run(consumer.subscribe("T"))
            cluster.begin(consumer)
            inboxes.append(inbox)
        again = PushConsumer("G", cluster.around, Inbox(), client=client)
        cluster.run(again.subscribe("T"))
        with pytest.raises(BadArgument, match="already"):
            cluster.run(again.start())
        send(cluster, 4)
        cluster.wait_for(lambda: all(len(inbox.got) == 4 for inbox in inboxes))


def test_a_member_that_the_broker_does_not_know_yet_waits() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        consumer = begin(cluster, Inbox())
        cluster.settle(2.0)
        assert topics_held(consumer, "T") == {queue_of("T")}
        consumer.client.client_id = "a name that nobody has"
        assert cluster.run(Deferred.fromCoroutine(consumer.rebalance()))
        assert not topics_held(consumer, "T")


def test_leaving_while_queues_are_taken_is_quiet(caplog: pytest.LogCaptureFixture) -> None:
    """A topic may have a thousand queues: those that were not begun with are no failures."""
    from mqgateway.gateway.client.push import PushConsumer

    class Leaving(PushConsumer):
        def _begin(self, queue: Any, process: Any, offset: int) -> None:
            begun.append(queue)
            if len(begun) == 1:
                caplog.clear()
                closed.append(self.close())

    begun: list[Any] = []
    closed: list[Any] = []
    with caplog.at_level("WARNING"), Cluster() as cluster:
        cluster.make_topic("T", queues=64)
        consumer = Leaving("G", cluster.around, Inbox(), **cluster.settings({}))
        cluster.run(consumer.subscribe("T"))
        cluster.run(consumer.start())
        cluster.wait_for(lambda: closed)
        cluster.run(closed[0])
        cluster.settle(2.0)
        assert len(begun) == 1
        assert [one.getMessage() for one in caplog.records] == []
