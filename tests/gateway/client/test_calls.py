"""The typed calls, each against a whole broker."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest
from twisted.internet.defer import Deferred

from mqgateway.engine.clock import elapsed_millis
from mqgateway.gateway.client.client import Client
from mqgateway.gateway.client.errors import BadArgument, BrokerError, NoBroker
from mqgateway.gateway.client.message import Message
from mqgateway.gateway.client.subscriptions import Sql, subscription
from tests.fuzz.world import BROKER_PORT
from tests.support.gateway.client.cluster import Cluster, queue_of

T = TypeVar("T")
BROKER = f"10.0.0.1:{BROKER_PORT}"


class Scene(Cluster):
    """A topic with three messages in its one queue."""

    caller: Client

    def __enter__(self) -> Scene:
        super().__enter__()
        self.make_topic("T", queues=1)
        producer = self.producer()
        for number in range(3):
            self.sent = self.run(producer.send(Message("T", f"{number}")))
            self.settle(1.0)
        self.caller = producer.client
        return self

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        return self.run(Deferred.fromCoroutine(work))


def test_the_ends_of_a_queue_and_offsets_by_time() -> None:
    with Scene() as scene:
        calls, queue = scene.caller.calls, queue_of("T")
        assert scene.call(calls.max_offset(queue)) == 3
        assert scene.call(calls.min_offset(queue)) == 0
        first = scene.call(calls.earliest_store_time(queue))
        assert 0 < first <= scene.clock.millis()
        assert scene.call(calls.search_offset(queue, first + 1)) == 1
        assert scene.call(calls.search_offset(queue, 0)) == 0


def test_consumed_offsets_are_kept_by_the_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mqgateway.gateway.broker.consume.offsets.begins_fresh", lambda *_: False)
    with Scene() as scene:
        calls, queue = scene.caller.calls, queue_of("T")
        assert scene.broker.tables.groups.find("G") is not None  # that makes it
        assert scene.call(calls.consumed_offset("G", queue)) == -1
        scene.call(calls.commit_offset("G", queue, 2, wait=True))
        assert scene.call(calls.consumed_offset("G", queue)) == 2
        scene.call(calls.commit_offset("G", queue, 3))
        assert scene.call(calls.consumed_offset("G", queue)) == 3


def test_a_message_by_its_id() -> None:
    with Scene() as scene:
        calls = scene.caller.calls
        message = scene.call(calls.view("T", scene.sent.offset_message_id))
        assert (message.body, message.message_id) == (b"2", scene.sent.message_id)
        with pytest.raises(BadArgument):
            scene.call(calls.view("T", "nonsense"))


def test_a_message_is_sent_back() -> None:
    with Scene() as scene:
        calls = scene.caller.calls
        message = scene.call(calls.view("T", scene.sent.offset_message_id))
        message.queue = queue_of("T")
        scene.call(calls.send_back("G", message, -1, 16))
        scene.settle(1.0)
        assert scene.stored("%DLQ%G") == [b"2"]


def test_locks_are_given_and_given_back() -> None:
    with Scene() as scene:
        calls, queue = scene.caller.calls, queue_of("T")
        assert scene.call(calls.lock(BROKER, "G", [queue])) == {queue}
        assert scene.broker.clients.locks.any_live("G", elapsed_millis(scene.clock))
        calls.unlock(BROKER, "G", [queue])
        scene.settle()
        assert not scene.broker.clients.locks.any_live("G", elapsed_millis(scene.clock))


def test_members_of_a_group_that_has_none() -> None:
    with Scene() as scene, pytest.raises(BrokerError):
        scene.call(scene.caller.calls.members("T", "Nobody"))


def test_expressions_are_read_by_the_broker() -> None:
    with Scene(enable_property_filter=True) as scene:
        calls = scene.caller.calls
        scene.call(calls.check_subscription("T", "G", subscription("T", Sql("a > 3"), 1)))
        with pytest.raises(BrokerError):
            scene.call(calls.check_subscription("T", "G", subscription("T", Sql("a >"), 1)))


def test_queue_without_owner_is_looked_for_and_not_found() -> None:
    with Scene() as scene, pytest.raises(NoBroker, match="nowhere"):
        scene.call(scene.caller.calls.max_offset(queue_of("T", broker="nowhere")))
