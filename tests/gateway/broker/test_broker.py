"""The container: what request functions are promised to find."""

from tests.support.gateway.broker.helpers import STORE_HOST, MemoryBroker


def test_states_share_the_same_parts() -> None:
    """The store reports arrivals to the held pulls of the same broker, in its own name."""
    memory = MemoryBroker()
    memory.add_topic("T")
    memory.subscribe("G", "T")
    pull = memory.pull(sys_flag=2)
    memory.send()
    (arrival,) = memory.arrivals
    assert (arrival.topic, arrival.queue_id, arrival.next_offset) == ("T", 0, 1)
    assert pull.messages[0].store_host == memory.broker.store_host == STORE_HOST
