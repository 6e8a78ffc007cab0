"""State of consumers."""

from mqgateway.engine.clock import elapsed_millis
from tests.support.gateway.broker.helpers import MemoryBroker


def held(memory: MemoryBroker) -> object:
    """A pull that waits for up to ten seconds."""
    memory.add_topic("T", queues=1)
    memory.subscribe("G", "T")
    return memory.pull("T", sys_flag=2 | 4, suspend_timeout_millis=10_000)


def test_held_pull_reads_an_arriving_message() -> None:
    memory = MemoryBroker()
    pull = held(memory)
    assert len(memory.broker.consume.held_pulls) == 1
    memory.send("T", queue_id=0)
    assert [message.body for message in pull.messages] == [b"hello"]  # type: ignore[attr-defined]
    assert len(memory.broker.consume.held_pulls) == 0


def test_held_pull_is_answered_when_its_time_is_up() -> None:
    memory = MemoryBroker()
    held(memory)
    consume, store = memory.broker.consume, memory.broker.store
    begun = elapsed_millis(memory.clock)
    consume.answer_due(begun + 9_800, store)
    assert len(consume.held_pulls) == 1
    consume.answer_due(begun + 10_100, store)
    assert len(consume.held_pulls) == 0
