"""The view of consume queues; its recovery and flushing are shown with those of the store."""

from mqgateway.engine.store.consume_queue import UNIT
from mqgateway.engine.store.views.view import NOTHING
from tests.support.engine.store.kafka_batches import fill_kafka, kafka_batch, put_kafka, read_all
from tests.support.engine.store.stores import ROOT, Bench, message


def test_state_has_the_units_of_each_queue_that_are_still_in_the_log() -> None:
    bench = Bench()
    bench.put(message(properties={}), message(queue_id=1, properties={}), message(properties={}))
    units = bench.store.consume_queue_units("orders", 0, 0, 9)
    view = bench.store._views[0]
    state = view.state(0)
    assert isinstance(state, dict) and set(state) == {("orders", 0), ("orders", 1)}
    assert state["orders", 0] == [(0, UNIT.pack(*units[0])), (1, UNIT.pack(*units[1]))]
    assert view.state(units[1][0]) == {("orders", 0): [(1, UNIT.pack(*units[1]))]}


def test_truncation_returns_the_newest_record_with_a_unit() -> None:
    bench = Bench()
    bench.put(*[message() for _ in range(3)])
    units = bench.store.consume_queue_units("orders", 0, 0, 9)
    assert bench.store._views[0].truncate(units[2][0]) == units[1][0]
    assert bench.store._views[0].truncate(0) == NOTHING


def test_files_on_disk_report_the_newest_record_before_they_are_loaded() -> None:
    bench = Bench()
    bench.put(*[message() for _ in range(3)])
    assert bench.store._views[0].newest_on_disk() == NOTHING
    bench.clock.advance(2000)
    bench.store.tick()
    assert bench.store._views[0].newest_on_disk() == bench.store.consume_queue_units("orders", 0, 2, 1)[0][0]


def test_rebuild_makes_queues_of_batches_for_an_unknown_topic() -> None:
    bench = Bench()
    fill_kafka(bench, 3, 2)
    disk = bench.disk.kill()
    disk.rmtree(f"{ROOT}/batchconsumequeue")
    rebuilt = Bench(disk, bench.clock, knows_topics=False)
    assert put_kafka(rebuilt.store, kafka_batch(b"next")).queue_offset == 5
    assert [one.base_offset for one in read_all(rebuilt.store)] == [0, 3, 5]
