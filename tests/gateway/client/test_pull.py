"""Pull consumers: told what to read, and where."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import Deferred

from mqgateway.gateway.client.errors import BadArgument, NoRoute, NotRunning
from mqgateway.gateway.client.message import Message, PullStatus
from mqgateway.gateway.client.pull import PullConsumer
from mqgateway.gateway.client.subscriptions import Sql
from tests.support.gateway.client.cluster import Cluster, bodies, messages, queue_of


class Scene(Cluster):
    """A topic of two queues with five messages in the first, and a consumer."""

    def __init__(self, **chosen: Any) -> None:
        self.given: dict[str, Any] = chosen.pop("settings", {})
        super().__init__(**chosen)

    def __enter__(self) -> Scene:
        super().__enter__()
        self.make_topic("T", queues=2)
        producer = self.producer()
        self.sent = [self.run(producer.send(one, queue=queue_of("T"))) for one in messages("T", 5, tags="A")]
        self.consumer = PullConsumer("G", self.around, **self.settings(self.given))
        self.begin(self.consumer)
        return self


def test_pulling_by_hand() -> None:
    with Scene() as scene:
        queues = scene.run(scene.consumer.queues("T"))
        assert queues == [queue_of("T", 0), queue_of("T", 1)]
        result = scene.run(scene.consumer.pull(queues[0], 1, 2))
        assert (result.status, bodies(result.messages), result.next_offset) == (
            PullStatus.FOUND,
            [b"1", b"2"],
            3,
        )
        assert scene.run(scene.consumer.pull(queues[1], 0)).status is PullStatus.NO_NEW_MSG
        assert scene.run(scene.consumer.pull(queues[0], 99)).status is PullStatus.OFFSET_ILLEGAL
        assert scene.run(scene.consumer.pull(queues[0], 0, wanted="B")).status is PullStatus.NO_MATCHED_MSG


def test_expressions_choose() -> None:
    with Scene(enable_property_filter=True) as scene:
        pulled = scene.run(scene.consumer.pull(queue_of("T"), 0, 32, Sql("TAGS = 'A'")))
        assert len(pulled.messages) == 5


def test_a_pull_may_wait() -> None:
    with Scene() as scene:
        waiting = scene.consumer.pull(queue_of("T"), 5, wait=True)
        scene.settle(3.0)
        assert not waiting.called
        producer = scene.producer("Another")
        scene.run(producer.send(Message("T", "new"), queue=queue_of("T")))
        assert bodies(scene.run(waiting).messages) == [b"new"]


def test_offsets_of_queues_and_of_the_group() -> None:
    with Scene() as scene:
        consumer, queue = scene.consumer, queue_of("T")
        assert scene.run(consumer.max_offset(queue)) == 5 and scene.run(consumer.min_offset(queue)) == 0
        assert scene.run(consumer.search_offset(queue, 0)) == 0
        scene.run(consumer.commit(queue, 3))
        assert scene.run(consumer.committed(queue)) == 3 == scene.broker.tables.offsets.query("G", "T", 0)
        message = scene.run(consumer.view("T", scene.sent[2].offset_message_id))
        assert (message.body, message.tags) == (b"2", "A")


def test_invalid_pulls_are_refused() -> None:
    with Scene() as scene:
        for offset, count in ((-1, 1), (0, 0)):
            with pytest.raises(BadArgument):
                scene.run(scene.consumer.pull(queue_of("T"), offset, count))
        with pytest.raises(NoRoute):
            scene.run(scene.consumer.queues("Nowhere"))


def test_it_has_a_namespace_and_an_end_and_no_listener() -> None:
    with Scene(settings={"namespace": "ns"}) as scene:
        scene.make_topic("ns%N", queues=1)
        producer = scene.producer("Another", namespace="ns")
        sent = scene.run(producer.send(Message("N", "x")))
        assert scene.run(scene.consumer.queues("N")) == [queue_of("N")]
        (message,) = scene.run(scene.consumer.pull(sent.queue, 0)).messages
        assert message.topic == "N"
        answer = Deferred.fromCoroutine(scene.consumer.consume_directly(message, "broker-a"))
        assert scene.run(answer).consume_result == "CR_RETURN_NULL"
        assert scene.run(Deferred.fromCoroutine(scene.consumer.rebalance()))
        scene.settle(11.0)
        scene.run(scene.consumer.close())
        scene.run(scene.consumer.close())
        with pytest.raises(NotRunning):
            scene.run(scene.consumer.pull(queue_of("N"), 0))
