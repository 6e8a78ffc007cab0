"""LMQ queues: which messages enter them, refusals, and recovery after any stop."""

import pytest

from mqgateway.engine.message import Message
from mqgateway.engine.store.lmq import lmq_offsets
from mqgateway.engine.store.message_store import PutStatus
from tests.support.engine.store.stores import Bench, batch, drain, message, records

ON = {"enable_lmq": True, "enable_multi_dispatch": True}
A, B = "%LMQ%a", "%LMQ%b"


def sent(names: str, **more: object) -> Message:
    """Return a message for LMQ queues."""
    return message(properties={"INNER_MULTI_DISPATCH": names, "TAGS": "t"}, **more)


def bodies(bench: Bench, queue: str) -> list[bytes]:
    """Return the bodies that a reader of an LMQ queue gets."""
    return [found.body for found in drain(bench.store, queue)]


def test_a_message_is_stored_once_and_read_from_all_its_queues() -> None:
    bench = Bench(**ON)
    bench.put(sent(f"{A},{B}", body=b"1"), message(body=b"2"), sent(B, body=b"3"))
    assert (bodies(bench, "orders"), bodies(bench, A), bodies(bench, B)) == (
        [b"1", b"2", b"3"],
        [b"1"],
        [b"1", b"3"],
    )
    (found,) = records(bench.store.get(B, 0, 1, 9))
    assert (found.topic, found.queue_offset) == ("orders", 2)
    assert found.properties["INNER_MULTI_QUEUE_OFFSET"] == "1"
    assert [(each.topic, each.queue_id, each.next_offset) for each in bench.arrivals] == [
        ("orders", 0, 1),
        (A, 0, 1),
        (B, 0, 1),
        ("orders", 0, 2),
        ("orders", 0, 3),
        (B, 0, 2),
    ]


def test_a_name_that_comes_twice_counts_once_and_others_have_no_offset() -> None:
    bench = Bench(**ON)
    bench.put(sent(f"{A},x,{A}"), sent(A))
    first, second = drain(bench.store, A)
    assert first.properties["INNER_MULTI_QUEUE_OFFSET"] == "0,,0"
    assert second.properties["INNER_MULTI_QUEUE_OFFSET"] == "1"
    assert "x" not in bench.store.queues()


@pytest.mark.parametrize("settings", [{}, {"enable_lmq": True}, {"enable_multi_dispatch": True}])
def test_without_both_settings_nothing_enters(settings: dict[str, bool]) -> None:
    bench = Bench(**settings)
    bench.put(sent(A))
    assert bench.store.max_offset(A, 0) == 0


@pytest.mark.parametrize("topic", ["%RETRY%g", "%DLQ%g", "rmq_sys_x", "RMQ_SYS_TRANS_HALF_TOPIC"])
def test_messages_that_come_once_more_later_do_not_enter(topic: str) -> None:
    bench = Bench(**ON)
    held = message(topic, properties={"INNER_MULTI_DISPATCH": A, "INNER_MULTI_QUEUE_OFFSET": "7"})
    bench.put(held)
    assert bench.store.max_offset(A, 0) == 0
    assert "INNER_MULTI_QUEUE_OFFSET" not in drain(bench.store, topic)[0].properties


def test_offsets_sent_by_client_are_ignored() -> None:
    bench = Bench(**ON)
    bench.put(message(properties={"INNER_MULTI_DISPATCH": A, "INNER_MULTI_QUEUE_OFFSET": "99"}))
    element = f"INNER_MULTI_DISPATCH\1{A}\2INNER_MULTI_QUEUE_OFFSET\x0150\2".encode()
    assert bench.store.put_batch(message(), batch(b"x", properties=element)).status is PutStatus.PUT_OK
    bench.store.dispatch()
    assert (bench.store.min_offset(A, 0), bench.store.max_offset(A, 0)) == (0, 1)


@pytest.mark.parametrize("name", ["%LMQ%" + "x" * 251, "%LMQ%a\0b"])
def test_a_name_that_is_no_folder_is_refused(name: str) -> None:
    bench = Bench(**ON)
    assert bench.store.put(sent(name)).status is PutStatus.MESSAGE_ILLEGAL
    assert bench.store.max_offset("orders", 0) == 0


def test_more_queues_than_the_quota_are_refused_and_a_deleted_one_makes_room() -> None:
    bench = Bench(**ON, enable_lmq_quota=True, max_lmq_consume_queue_num=1)
    bench.put(sent(A))
    assert bench.store.put(sent(B)).status is PutStatus.LMQ_CONSUME_QUEUE_NUM_EXCEEDED
    bench.put(sent(A))
    bench.store.admin.delete_topics([A])
    bench.put(sent(B))
    assert (bench.store.max_offset(B, 0), bench.store.max_offset("orders", 0)) == (1, 3)


def test_they_continue_after_a_stop_a_kill_and_a_power_cut() -> None:
    bench = Bench(**ON)
    bench.put(*[sent(A, body=bytes([number])) for number in range(30)])
    for seed, begin in enumerate((Bench.restart, Bench.kill, lambda old: old.crash(1), Bench.restart)):
        bench = begin(bench)
        kept = bench.store.max_offset("orders", 0)
        assert bodies(bench, A) == bodies(bench, "orders")
        assert bench.store.max_offset(A, 0) == kept
        bench.put(sent(A, body=bytes([100 + seed])))
        assert bodies(bench, A)[-1] == bytes([100 + seed])


def test_they_are_rebuilt_from_the_log() -> None:
    bench = Bench(**ON)
    bench.put(*[sent(f"{A},{B}" if number % 2 else A, body=bytes([number])) for number in range(20)])
    before = bodies(bench, A), bodies(bench, B)
    disk = bench.disk.kill()
    for name in ("orders", A, B):
        disk.rmtree(f"/store/consumequeue/{name}")
    bench = bench.again(disk)
    assert (bodies(bench, A), bodies(bench, B)) == before


@pytest.mark.parametrize("offsets", ["", "1,2", "x", "-1", str(1 << 50), "٣"])
def test_places_that_no_store_wrote_are_none(offsets: str) -> None:
    properties = {"INNER_MULTI_DISPATCH": A, "INNER_MULTI_QUEUE_OFFSET": offsets}
    assert lmq_offsets("orders", properties) == []
