"""Queues as members and as keys."""

from mqgateway.gateway.codec.bodies import MessageQueue


def test_a_queue_is_its_three_members() -> None:
    queue = MessageQueue("T", "b", 3)
    assert queue.to_json() == {"topic": "T", "brokerName": "b", "queueId": 3}
    assert {MessageQueue.from_json(queue.to_json())} == {queue}


def test_queues_are_in_order_of_topic_broker_and_number() -> None:
    first, second, third = MessageQueue("S", "c", 9), MessageQueue("T", "a", 10), MessageQueue("T", "b", 2)
    assert sorted([third, first, second]) == [first, second, third]
