"""Lock and unlock operations of queues."""

import pytest

from mqgateway.gateway.broker.clients.locking import lock_queues, unlock_queues
from mqgateway.gateway.broker.clients.locks import LOCK_LIFE_MILLIS
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.codec.bodies import MessageQueue
from tests.support.gateway.broker.helpers import MemoryBroker

Q0, Q1 = MessageQueue("T", "b", 0), MessageQueue("T", "b", 1)


def test_queue_is_locked_until_its_client_unlocks_or_stops_renewing() -> None:
    memory = MemoryBroker()
    broker = memory.broker
    assert lock_queues(broker, "G", "one", [Q0, Q1]) == {Q0, Q1}
    assert lock_queues(broker, "G", "two", [Q0]) == set()
    unlock_queues(broker, "G", "two", [Q0])
    unlock_queues(broker, "G", "one", [Q1])
    assert lock_queues(broker, "G", "two", [Q0, Q1]) == {Q1}
    memory.clock.advance(LOCK_LIFE_MILLIS + 1)
    assert lock_queues(broker, "G", "two", [Q0]) == {Q0}


def test_length_of_names_is_limited() -> None:
    broker = MemoryBroker(options={"max_name_length": 20}).broker
    with pytest.raises(OperationError) as refused:
        lock_queues(broker, "G" * 21, "one", [Q0])
    assert refused.value.reason is Reason.SYSTEM_ERROR
    assert lock_queues(broker, "G", "one", [Q0, MessageQueue("T" * 21, "b", 0)]) == {Q0}
