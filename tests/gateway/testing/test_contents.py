"""Contents of a broker, as assertions of tests read them."""

from mqgateway.gateway.client.message import Message
from mqgateway.gateway.testing.contents import lag, stored_messages, unacknowledged
from tests.support.gateway.testing.hands import hands


def test_messages_are_in_the_order_of_the_log() -> None:
    with hands() as held:
        topic = held.server.create_topic(queues=2)
        producer = held.producer()
        for number in range(5):
            held.send(producer, Message(topic, b"%d" % number))
        broker = held.server.broker
        found = stored_messages(broker.store, "broker-a", topic)
        assert [one.body for one in found] == [b"0", b"1", b"2", b"3", b"4"]
        assert stored_messages(broker.store, "broker-a", "unknown") == []


def test_lag_counts_messages_without_committed_offset() -> None:
    with hands() as held:
        topic = held.server.create_topic(queues=1)
        producer = held.producer()
        for _ in range(3):
            held.send(producer, Message(topic, b"x"))
        broker, operations = held.server.broker, held.server._operations
        broker.tables.offsets.commit("G", topic, 0, 1)
        assert lag(operations, "G", topic) == 2
        assert unacknowledged(operations, "G", topic) == 0
