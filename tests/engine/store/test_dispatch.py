"""From stored messages to units, index entries and arrivals."""

from collections.abc import Sequence

import pytest

from mqgateway.engine.message import SCHEDULE_TOPIC, SysFlag, java_hash
from mqgateway.engine.store.dispatch import Dispatch
from mqgateway.engine.store.dispatch_request import DispatchRequest
from mqgateway.engine.store.results import Arrival
from mqgateway.engine.store.views.view import View
from tests.support.engine.store.stores import Bench, message, parts_of
from tests.support.gateway.broker.helpers import batch_body, split_records


class Recording(View):
    """Records which of its methods are called."""

    def __init__(self, takes_records: bool) -> None:
        self._takes_records = takes_records
        self.calls: list[str] = []

    @property
    def takes_records(self) -> bool:
        return self._takes_records

    def append(self, run: Sequence[DispatchRequest], arrivals: list[Arrival] | None) -> None:
        self.calls.append(f"append {len(run)}")

    def settle(self, now: int) -> None:
        self.calls.append(f"settle {now}")


def test_view_that_takes_no_records_is_not_called() -> None:
    views = Recording(True), Recording(False)
    dispatch = Dispatch(views)
    dispatch.add(DispatchRequest("orders", None, {}, 0, 0, 0, 100, 5))
    assert dispatch.apply(100, None)
    assert [view.calls for view in views] == [["append 1"], []]


def test_view_that_ignores_plain_messages_is_called_for_others_only() -> None:
    bench, view = Bench(), Recording(True)
    bench.put(message())
    queue = bench.store._queues.get("orders", 0)
    view.ignores_plain = True
    dispatch = Dispatch([view])
    dispatch.add(DispatchRequest("orders", queue, {}, 0, 0, 0, 100, 5))
    assert dispatch.apply(100, None)
    assert (view.calls, view.last) == ([], 0)
    dispatch.add(DispatchRequest("orders", queue, {}, 0, 1, 100, 100, 5))
    dispatch.add(DispatchRequest("orders", None, {}, 0, 0, 200, 100, 5))
    assert dispatch.apply(300, None)
    assert (view.calls, view.last) == (["append 2"], 200)


def test_view_settles_only_if_it_is_full() -> None:
    view = Recording(True)
    dispatch = Dispatch([view])
    dispatch.settle()
    assert view.calls == []
    view.is_full = True
    dispatch.settle()
    assert view.calls == ["settle 0"]


def test_arrival_reports_what_a_waiting_reader_needs() -> None:
    bench = Bench()
    bench.put(message(queue_id=2, properties={"TAGS": "blue", "KEYS": "k"}))
    (arrival,) = bench.arrivals
    assert parts_of(arrival) == (
        "orders",
        2,
        1,
        java_hash("blue"),
        bench.clock.millis(),
        {"TAGS": "blue", "KEYS": "k"},
    )


def test_tags_code_is_the_hash_and_0_without_tags() -> None:
    bench = Bench()
    bench.put(message(properties={"TAGS": "синий"}), message(properties={}))
    codes = [unit[2] for unit in bench.store.consume_queue_units("orders", 0, 0, 9)]
    assert codes == [java_hash("синий"), 0]


@pytest.mark.parametrize(("level", "delay"), [("1", 1000), ("18", 7_200_000), ("99", 7_200_000)])
def test_a_delayed_message_s_code_is_its_delivery_time(level: str, delay: int) -> None:
    bench = Bench()
    bench.put(message(topic=SCHEDULE_TOPIC, properties={"DELAY": level, "TAGS": "a"}))
    (unit,) = bench.store.consume_queue_units(SCHEDULE_TOPIC, 0, 0, 1)
    assert unit[2] == bench.clock.millis() + delay


@pytest.mark.parametrize(
    "properties", [{"TAGS": "a"}, {"TAGS": "a", "DELAY": "0"}, {"TAGS": "a", "DELAY": "x"}]
)
def test_without_a_level_the_delay_topic_is_like_any_other(properties: dict[str, str]) -> None:
    bench = Bench()
    bench.put(message(topic=SCHEDULE_TOPIC, properties=properties))
    (unit,) = bench.store.consume_queue_units(SCHEDULE_TOPIC, 0, 0, 1)
    assert unit[2] == java_hash("a")


def test_prepared_messages_are_in_the_log_and_the_index_only() -> None:
    bench = Bench()
    prepared = bench.store.put(message(properties={"KEYS": "p"}, sys_flag=SysFlag.TRANSACTION_PREPARED))
    rolled = bench.store.put(message(properties={"KEYS": "r"}, sys_flag=SysFlag.TRANSACTION_ROLLBACK))
    bench.put(message(properties={"KEYS": "c"}, sys_flag=SysFlag.TRANSACTION_COMMIT))
    assert (prepared.queue_offset, rolled.queue_offset) == (0, 0)
    assert bench.store.max_offset("orders", 0) == 1
    assert [len(bench.store.query("orders", key, 9, 0, 1 << 60).records) for key in "prc"] == [1, 0, 1]
    assert len(bench.arrivals) == 1


def test_tails_of_busy_queues_are_written_out_and_the_index_is_filled_in_groups() -> None:
    bench = Bench(mapped_file_size_consume_queue=6000)
    for _ in range(3):
        bench.put(*[message(properties={"KEYS": "k"}) for _ in range(500)])
    queue = bench.store._queues.get("orders", 0)
    assert queue is not None and queue.tail_start == 1500
    assert bench.store._index is not None and len(bench.store._index.pending) < 1500
    assert bench.store.admin.dispatch_behind_bytes == 0


def test_request_is_dispatched_once_whole_record_is_confirmed() -> None:
    bench = Bench()
    put = bench.store.put(message(properties={"TAGS": "a"}))
    dispatch = bench.store._dispatch
    (request,) = dispatch.waiting
    assert (request.topic, request.queue_offset, request.physical_offset) == ("orders", 0, 0)
    assert (request.size, request.store_timestamp) == (put.end_offset, put.store_timestamp)
    dispatch.apply(put.end_offset - 1, None)
    assert (len(dispatch.waiting), dispatch.offset) == (1, 0)
    dispatch.apply(put.end_offset, None)
    assert (len(dispatch.waiting), dispatch.offset) == (0, put.end_offset)
    assert bench.store.max_offset("orders", 0) == 1


def test_pending_requests_of_forgotten_topic_are_dropped() -> None:
    bench = Bench()
    for topic in ("orders", "bills"):
        bench.store.put(message(topic=topic))
    bench.store._dispatch.forget("orders")
    bench.store.dispatch()
    assert [bench.store.max_offset(topic, 0) for topic in ("orders", "bills")] == [0, 1]


@pytest.mark.parametrize("properties", [{}, {"TAGS": "blue"}])
def test_last_start_is_that_of_the_last_message_of_a_batch(properties: dict[str, str]) -> None:
    bench = Bench()
    bench.put(message())
    bodies = (b"a", b"bb", b"ccc")
    bench.store.put_batch(message(), batch_body(*((body, properties) for body in bodies)))
    bench.store.dispatch()
    [last] = split_records(bench.store.get("orders", 0, 3, 1).body)
    assert (last.body, bench.store._dispatch.last_start) == (b"ccc", last.physical_offset)
