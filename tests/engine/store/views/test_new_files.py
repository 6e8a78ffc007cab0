"""The first files of many new queues; how they are written is shown in `tests/engine/store/test_flush.py`."""

from mqgateway.engine.store.views.new_files import NEW_QUEUES_A_STEP, NEW_QUEUES_MANY
from mqgateway.engine.worker import MemoryWorker
from tests.support.engine.store.stores import Bench, message


def test_few_new_queues_are_left_to_the_next_write() -> None:
    aside = MemoryWorker()
    bench = Bench(aside=aside)
    bench.put(*[message(topic=f"t{number}") for number in range(NEW_QUEUES_MANY - 1)])
    bench.clock.advance(100)
    bench.store.tick()
    assert aside.waiting == 0


def test_truncation_waits_while_files_are_made() -> None:
    aside = MemoryWorker()
    bench = Bench(aside=aside)
    bench.put(*[message(topic=f"t{number}") for number in range(NEW_QUEUES_MANY)])
    end = bench.store.max_physical_offset
    bench.put(message())
    bench.clock.advance(100)
    bench.store.tick()
    assert NEW_QUEUES_MANY < NEW_QUEUES_A_STEP
    assert aside.waiting and not bench.store.cut(end)
