"""The API for Twisted programs is the core."""

from __future__ import annotations

from mqgateway.engine.clock import SystemClock
from mqgateway.engine.real_disk import RealDisk
from mqgateway.gateway.client import deferred
from mqgateway.gateway.client.deferred import Message, Producer, PushConsumer, environment
from tests.gateway.client.test_push import Inbox
from tests.support.gateway.client.cluster import Cluster


def test_the_environment_is_that_of_the_process() -> None:
    with Cluster() as cluster:
        around = environment(cluster.net)
        assert around.reactor is cluster.net and around.worker is None
        assert isinstance(around.clock, SystemClock) and isinstance(around.disk, RealDisk)


def test_clients_live_in_the_programs_reactor() -> None:
    with Cluster() as cluster:
        around = environment(cluster.net)
        cluster.make_topic("T", queues=1)
        producer = Producer("P", around, **cluster.settings({}))
        cluster.begin(producer)
        inbox = Inbox()
        settings = cluster.settings({"consume_from_where": "CONSUME_FROM_FIRST_OFFSET"})
        consumer = PushConsumer("G", around, inbox, **settings)
        cluster.run(consumer.subscribe("T"))
        cluster.begin(consumer)
        cluster.run(producer.send(Message("T", "x")))
        cluster.wait_for(lambda: inbox.bodies == [b"x"])


def test_everything_that_is_named_is_there() -> None:
    assert all(hasattr(deferred, name) for name in deferred.__all__)
