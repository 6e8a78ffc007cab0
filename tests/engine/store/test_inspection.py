"""Records damaged on the disk are never delivered by any read; the others are."""

import logging

import pytest

from mqgateway.engine.store.file_queue import file_name
from mqgateway.engine.store.results import GetStatus
from tests.support.engine.store.stores import Bench, batch, drain, message, records

BODIES = [b"%d " % i + b"x" * 40 for i in range(9)]


def stopped(**changes: object) -> Bench:
    """Return a store with nine messages in one queue, stopped cleanly."""
    bench = Bench(**changes)  # type: ignore[arg-type]
    bench.put(*[message(body=body, properties={"KEYS": f"k{i}"}) for i, body in enumerate(BODIES)])
    bench.store.stop()
    return bench


def place(bench: Bench, offset: int) -> tuple[int, int]:
    """Return the log offset and the size of a message."""
    position, size, _ = bench.store.consume_queue_units("orders", 0, offset, 1)[0]
    return position, size


def flip(bench: Bench, position: int, bit: int = 0) -> None:
    start = position // 4096 * 4096
    bench.disk.flip(f"/store/commitlog/{file_name(start)}", position - start, bit)


def test_flipped_bit_in_a_body_takes_one_message_out_and_is_reported_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bench = stopped()
    again = bench.again()
    position, _ = place(again, 4)
    flip(again, position + 90)
    with caplog.at_level(logging.ERROR):
        for _ in range(2):
            assert [m.body for m in drain(again.store)] == BODIES[:4] + BODIES[5:]
    assert len(caplog.records) == 1
    assert f"/store/commitlog/{file_name(0)} at byte {position}" in caplog.text
    assert "CRC" in caplog.text


def test_reader_that_meets_only_a_damaged_message_continues_after_it() -> None:
    again = stopped().again()
    flip(again, place(again, 4)[0] + 90)
    found = again.store.get("orders", 0, 4, 1)
    assert (found.status, found.next_offset) == (GetStatus.MESSAGE_WAS_REMOVING, 5)
    chosen = again.store.get("orders", 0, 4, 1, accept=lambda _: True)
    assert [m.body for m in records(chosen)] == [BODIES[5]]


def test_damaged_message_is_returned_by_no_other_read() -> None:
    again = stopped().again()
    position, _ = place(again, 4)
    flip(again, position + 90)
    assert again.store.record_at(position) is None
    assert again.store.look_up(position) is None
    assert again.store.query("orders", "k4", 9, 0, 1 << 60).records == []
    assert len(again.store.query("orders", "k5", 9, 0, 1 << 60).records) == 1


def test_a_unit_that_leads_to_the_message_of_another_queue_is_found_out() -> None:
    bench = Bench()
    bench.put(message(body=b"mine"), message("other", body=b"not mine"))
    bench.store.stop()
    queue, other = (f"/store/consumequeue/{topic}/0/{file_name(0)}" for topic in ("orders", "other"))
    bench.disk.open(queue).write(0, bench.disk.open(other).read(0, 20))
    assert drain(bench.again().store) == []


def test_a_unit_that_rotted_gives_no_wrong_message() -> None:
    for byte in range(12):
        for bit in range(8):
            bench = stopped()
            bench.disk.flip(f"/store/consumequeue/orders/0/{file_name(0)}", 3 * 20 + byte, bit)
            found = [m.body for m in drain(bench.again().store)]
            assert found in (BODIES[:3] + BODIES[4:], BODIES[:3]), (byte, bit)


def test_with_a_checksum_of_all_no_byte_can_rot_unseen() -> None:
    bench = stopped(enabled_append_prop_crc=True)
    again = bench.again()
    position, size = place(again, 4)
    for at in range(size):
        flip(again, position + at, at % 8)
        assert [m.body for m in drain(again.store)] == BODIES[:4] + BODIES[5:], at
        flip(again, position + at, at % 8)
    assert [m.body for m in drain(again.store)] == BODIES


def test_fresh_records_are_not_inspected() -> None:
    bench = Bench()
    bench.put(*[message(body=body) for body in BODIES])
    flip(bench, place(bench, 4)[0] + 90)
    assert len(drain(bench.store)) == 9


def test_records_beyond_newest_bytes_are_inspected() -> None:
    bench = Bench(newest_log_bytes=200)
    bench.put(*[message(body=body) for body in BODIES])
    flip(bench, place(bench, 4)[0] + 90)
    assert len(drain(bench.store)) == 8


def test_it_can_be_switched_off() -> None:
    again = Bench(stopped().disk, check_crc_on_read=False)
    flip(again, place(again, 4)[0] + 90)
    assert len(drain(again.store)) == 9


def test_batches_are_inspected_too() -> None:
    bench = Bench()
    bench.put(message("batched", body=b"alone"))
    bench.store.put_inner_batch(message("batched", body=batch(b"a", b"b"), properties={"INNER_NUM": "2"}))
    bench.store.stop()
    again = bench.again()
    position = again.store.consume_queue_units("batched", 0, 1, 1)[0][0]
    flip(again, position + 92)
    assert [m.body for m in drain(again.store, "batched")] == [b"alone"]
