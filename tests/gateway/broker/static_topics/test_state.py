"""Which queues of static topics are led here, and where their mapping items are."""

import pytest

from mqgateway.engine.static_topics.items import MappingItem
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.static_topics.state import LogicalQueue, led_queue
from tests.support.gateway.broker.clusters import TOPIC, Cluster


def test_queues_are_served_by_their_leader() -> None:
    brokers = Cluster("a", "b")
    brokers.create("a", "b")
    mappings = brokers["a"].broker.tables.mappings
    for queue_id in (0, -1):
        queue = led_queue(mappings, TOPIC, queue_id, chooses=True)
        assert queue is not None
        assert (queue.topic, queue.broker_name, queue.queue_id) == (TOPIC, "a", 0)
    assert led_queue(mappings, "other", 0) is None
    assert led_queue(Cluster("a")["a"].broker.tables.mappings, TOPIC, 0) is None
    for queue_id in (-1, 1, 2):
        with pytest.raises(OperationError, match=f"{TOPIC}-{queue_id} is elsewhere, not on a") as refusal:
            led_queue(mappings, TOPIC, queue_id, "is elsewhere, not on {broker}")
        assert refusal.value.reason is Reason.NOT_LEADER_FOR_QUEUE


def test_queue_has_its_mapping_items() -> None:
    items = [MappingItem(0, 1, "a", 0, 0, 5), MappingItem(1, 0, "b", 100), MappingItem(2, 2, "a", -1)]
    queue = LogicalQueue(TOPIC, "a", 7, items)
    assert (queue.leader, queue.at(-1), queue.at(100)) == (items[2], items[0], items[1])
    assert (queue.after(items[0]), queue.after(items[1])) == (items[1], None)
    assert (queue.is_here(items[0]), queue.is_here(items[1])) == (True, False)
    assert not queue.is_plain
    assert LogicalQueue(TOPIC, "a", 7, [MappingItem(0, 1, "a", 0)]).is_plain
    with pytest.raises(OperationError, match="where queue 7 begins"):
        LogicalQueue(TOPIC, "a", 7, items[2:]).at(0)
