"""What is kept of those who read."""

from mqgateway.engine.clock import elapsed_millis
from tests.support.gateway.broker.helpers import MemoryBroker


def held(memory: MemoryBroker) -> object:
    """A pull that waits for up to ten seconds."""
    memory.add_topic("T", queues=1)
    memory.subscribe("G", "T")
    return memory.pull("T", sys_flag=2 | 4, suspend_timeout_millis=10_000)


def test_who_waits_reads_what_arrives() -> None:
    memory = MemoryBroker()
    pull = held(memory)
    assert len(memory.broker.consume.held_pulls) == 1
    memory.send("T", queue_id=0)
    assert [message.body for message in pull.messages] == [b"hello"]  # type: ignore[attr-defined]
    assert len(memory.broker.consume.held_pulls) == 0


def test_who_has_waited_long_enough_is_answered() -> None:
    memory = MemoryBroker()
    held(memory)
    consume, store = memory.broker.consume, memory.broker.store
    begun = elapsed_millis(memory.clock)
    consume.answer_due(begun + 9_800, store)
    assert len(consume.held_pulls) == 1
    consume.answer_due(begun + 10_100, store)
    assert len(consume.held_pulls) == 0
