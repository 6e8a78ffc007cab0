"""Lite topics over time: they end, their parents and groups are deleted."""

from dataclasses import replace

from mqgateway.engine.pop import OrderKey
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.headers import DeleteSubscriptionGroupRequestHeader, DeleteTopicRequestHeader
from tests.support.gateway.broker.lite import LiteBroker, queue


def started() -> LiteBroker:
    """Client c1 reads a, and was given its message."""
    broker = LiteBroker()
    broker.control("COMPLETE_ADD", "a")
    broker.post("a", b"1")
    assert broker.pop() == [b"1"]
    return broker


def is_known(broker: LiteBroker) -> list[bool]:
    """Return whether the queue, the offset, messages in flight and the subscription exist."""
    parts = broker.broker
    return [
        queue("a") in parts.store.queues(),
        parts.tables.offsets.query("G", queue("a"), 0) >= 0,
        parts.lite.orders.is_blocked(OrderKey(queue("a"), "G", 0), None, 0),
        bool(parts.lite.subscriptions.readers(queue("a"))),
    ]


def test_deleted_lite_topic_loses_all_its_state() -> None:
    broker = started()
    assert is_known(broker) == [True] * 4
    broker.wait(900_000)
    assert is_known(broker)[:2] == [True, True]
    broker.control("COMPLETE_ADD", "a")
    broker.wait(302_000)
    assert is_known(broker) == [False] * 4
    broker.control("COMPLETE_ADD", "a")
    broker.post("a", b"2")
    assert broker.pop() == [b"2"]


def test_lite_topic_is_deleted_with_its_parent() -> None:
    broker = started()
    header = DeleteTopicRequestHeader(topic="chat")
    assert broker.ask(RequestCode.DELETE_TOPIC_IN_BROKER, header).code == 0
    assert is_known(broker) == [False] * 4


def test_offsets_are_deleted_with_their_group() -> None:
    broker = started()
    header = DeleteSubscriptionGroupRequestHeader(group_name="G", clean_offset=False)
    assert broker.ask(RequestCode.DELETE_SUBSCRIPTIONGROUP, header).code == 0
    assert broker.broker.tables.offsets.query("G", queue("a"), 0) == -1


def test_home_of_a_lite_topic_is_chosen_by_hash() -> None:
    state = LiteBroker().broker.lite
    own = state.route_cache._own("chat")
    assert own is not None and len(own) == 4
    assert state.is_home(queue("a"), own) and state.is_home(queue("a"), None)
    others = [replace(one, broker_name="broker-b") for one in own]
    assert not state.is_home(queue("a"), others)
