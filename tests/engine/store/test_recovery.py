"""Starts after clean stops, killed processes and power cuts."""

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.errors import CorruptFile
from mqgateway.engine.store.file_queue import file_name
from mqgateway.engine.store.log_files import MissingLogFiles
from mqgateway.engine.store.message_store import MessageStore
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.worker import InlineWorker
from tests.support.engine.store.stores import HOST, Bench, drain, message, options

BODIES = [b"%d " % i + b"x" * (i % 7 * 50) for i in range(60)]


def filled(**changes: object) -> Bench:
    bench = Bench(**changes)  # type: ignore[arg-type]
    for i, body in enumerate(BODIES):
        bench.put(message(queue_id=i % 3, body=body, properties={"KEYS": f"k{i}", "TAGS": "a"}))
    return bench


def bodies(bench: Bench) -> list[bytes]:
    """Return all messages in the order of the log, after a check that the queues are in order."""
    found = []
    for queue_id in range(3):
        queue = drain(bench.store, "orders", queue_id)
        assert [m.queue_offset for m in queue] == list(range(len(queue)))
        found += queue
    return [m.body for m in sorted(found, key=lambda m: m.physical_offset)]


def assert_whole(bench: Bench) -> None:
    assert bodies(bench) == BODIES
    for i in (0, 33, 59):
        (record,) = bench.store.query("orders", f"k{i}", 9, 0, 1 << 60).records
        assert BODIES[i] in record
    assert bench.put(message(queue_id=0)) == [20]


def test_an_empty_store_starts_and_stops() -> None:
    bench = Bench().restart().restart()
    assert bench.report.clean and bench.report.end_offset == 0
    assert not bench.kill().report.clean


def test_after_a_clean_stop_everything_is_there_and_nothing_is_repeated() -> None:
    again = filled().restart()
    assert again.report.clean
    assert again.report.dispatched == 0
    assert again.report.scanned_bytes < 1000
    assert_whole(again)


def test_a_clean_stop_removes_abort_and_a_running_store_has_it() -> None:
    bench = filled()
    assert bench.disk.read_bytes("/store/abort").isdigit()
    assert bench.disk.read_bytes("/store/lock") == b"lock"
    bench.store.stop()
    bench.store.stop()
    assert not bench.disk.exists("/store/abort")


def test_after_the_process_died_everything_is_there() -> None:
    again = filled().kill()
    assert not again.report.clean
    assert again.report.dispatched == 60
    assert_whole(again)


def test_only_records_after_the_checkpoint_are_dispatched_again() -> None:
    bench = filled()
    bench.clock.advance(60_000)
    bench.store.tick()
    bench.put(*[message(queue_id=7) for _ in range(5)])
    again = bench.kill()
    assert again.report.dispatched == 6
    assert again.store.max_offset("orders", 7) == 5
    assert_whole(again)


def test_records_that_were_not_dispatched_are_dispatched_by_a_clean_start() -> None:
    """RocketMQ may leave them so."""
    bench = filled()
    bench.store.put(message(queue_id=1, body=b"late"))
    bench.store._dispatch.waiting.clear()
    again = bench.restart()
    assert again.report.clean and again.report.dispatched == 1
    assert drain(again.store, "orders", 1)[-1].body == b"late"


def test_lost_queues_and_index_are_built_again() -> None:
    bench = filled()
    bench.store.stop()
    bench.disk.rmtree("/store/consumequeue")
    bench.disk.rmtree("/store/index")
    again = bench.again()
    assert again.report.dispatched == 60
    assert_whole(again)


def test_queues_lost_in_a_crash_are_built_again_from_the_first_record() -> None:
    bench = filled()
    bench.clock.advance(60_000)
    bench.store.tick()
    bench.disk.rmtree("/store/consumequeue")
    bench.disk.rmtree("/store/index")
    assert_whole(bench.kill())


def test_a_torn_record_and_all_after_it_are_forgotten_for_good() -> None:
    bench = filled()
    end = bench.store.max_physical_offset
    units = bench.store.consume_queue_units("orders", 57 % 3, 19, 1)
    torn = units[0][0]
    start = torn // 4096 * 4096
    bench.disk.open(f"/store/commitlog/{file_name(start)}").write(torn - start + 90, b"\xff")
    again = bench.kill()
    assert again.report.end_offset == torn < end
    assert "CRC" in again.report.ended_by
    assert bodies(again) == BODIES[:57]
    # A record of the same length must not bring back the one after it.
    again.put(message(queue_id=0, body=BODIES[57], properties={"KEYS": "k57", "TAGS": "a"}))
    last = again.kill()
    assert bodies(last) == BODIES[:58]


def test_without_crc_check_only_the_form_counts() -> None:
    bench = filled(check_crc_on_recover=False, check_crc_on_read=False)
    units = bench.store.consume_queue_units("orders", 0, 19, 1)
    start = units[0][0] // 4096 * 4096
    bench.disk.open(f"/store/commitlog/{file_name(start)}").write(units[0][0] - start + 90, b"\xff")
    assert len(bodies(bench.kill())) == 60


def content(disk: CrashDisk) -> dict[str, tuple[bytes, int]]:
    """Return every file of the store, with its content and the time of its last write."""
    return {path: (disk.read_bytes(path), disk.modified(path)) for path in disk.files("/store")}


@pytest.mark.parametrize("lost", [[4096], [4096, 8192], [8192], [12288]])
def test_a_lost_log_file_is_refused_and_nothing_is_changed(lost: list[int]) -> None:
    """After it is restored all is as before; until then the setting allows to serve the other files."""
    bench = filled()
    bench.store.stop()
    names = [file_name(start) for start in lost]
    kept = [bench.disk.read_bytes(f"/store/commitlog/{name}") for name in names]
    for name in names:
        bench.disk.lose(f"/store/commitlog/{name}")
    before = content(bench.disk)
    bench.clock.advance(1000)
    with pytest.raises(MissingLogFiles) as refusal:
        bench.again()
    for word in (*names, f"between {lost[0]} and {lost[-1] + 4096}", "store check", "nothing was changed"):
        assert word in str(refusal.value)
    assert content(bench.disk) == before
    for name, data in zip(names, kept, strict=True):
        bench.disk.open(f"/store/commitlog/{name}", create=True).write(0, data)
    assert_whole(bench.again())


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("lost", [8192, 12288])
def test_with_the_setting_an_empty_file_takes_the_place_of_a_lost_one(lost: int, clean: bool) -> None:
    bench = filled(start_with_missing_log_files=True)
    bench.clock.advance(60_000)
    bench.store.tick()
    if clean:
        bench.store.stop()
    bench.disk.lose(f"/store/commitlog/{file_name(lost)}")
    rest = b"".join(bench.disk.read_bytes(path) for path in bench.disk.files("/store/commitlog"))
    again = bench.kill()
    found = {m.body for i in range(3) for m in drain(again.store, "orders", i)}
    assert found == {body for body in BODIES if body in rest}
    assert len(found) < 60
    # After an unclean stop the number of files at the log's end is unknown.
    assert again.put(message(queue_id=0)) == [20 if clean or lost == 8192 else 16]
    more = again.restart()
    assert {m.body for i in range(3) for m in drain(more.store, "orders", i)} == found | {b"hello"}


def test_a_lost_log_is_refused_and_an_empty_one_may_take_its_place() -> None:
    bench = filled()
    bench.store.stop()
    bench.disk.rmtree("/store/commitlog")
    with pytest.raises(MissingLogFiles, match="is missing: consume queues know records up to"):
        bench.again()
    bench.changes["start_with_missing_log_files"] = True
    again = bench.again()
    assert drain(again.store) == []
    assert again.put(message(body=b"new")) == [20]
    assert [m.body for m in drain(again.store)][-1] == b"new"


def test_a_log_whose_first_files_went_is_as_good_as_any() -> None:
    bench = filled()
    bench.store.stop()
    for name in bench.disk.listdir("/store/commitlog")[:2]:
        bench.disk.lose(f"/store/commitlog/{name}")
    again = bench.again()
    assert again.store.min_physical_offset == 8192
    assert drain(again.store)[-1].body == BODIES[57]


def test_wrong_file_length_is_reported_with_its_path() -> None:
    bench = filled()
    bench.store.stop()
    with pytest.raises(CorruptFile, match="settings say 8192"):
        Bench(bench.disk, bench.clock, mapped_file_size_commit_log=8192)


def test_an_old_checkpoint_without_an_offset_is_trusted_by_time() -> None:
    """Stores of 5.3 and before; their queue units may be older than the checkpoint's times."""
    bench = Bench()
    for body in BODIES:
        bench.clock.advance(1000)
        bench.put(message(body=body))
    bench.clock.advance(60_000)
    bench.store.tick()
    checkpoint = bench.disk.open("/store/checkpoint")
    checkpoint.write(40, bytes(8))
    again = bench.kill()
    assert 0 < again.report.dispatched < 60
    assert [m.body for m in drain(again.store)] == BODIES


def test_a_checkpoint_beyond_the_log_falls_back_to_whole_files() -> None:
    bench = filled()
    bench.clock.advance(60_000)
    bench.store.tick()
    bench.disk.open("/store/checkpoint").write(40, (5000).to_bytes(8, "big"))
    again = bench.kill()
    assert again.report.dispatched > 0
    assert_whole(again)


def test_a_misleading_old_unit_is_found_out() -> None:
    """Bytes of an earlier use of the file behind the end of a queue."""
    bench = filled()
    bench.clock.advance(60_000)
    bench.store.tick()
    file = bench.disk.open(f"/store/consumequeue/orders/0/{file_name(400)}", create=True)
    file.truncate(200)
    for number in range(10):
        file.write(number * 20, bytes(7) + b"\1" + b"\0\0\0\7" + bytes(8))
    assert_whole(bench.kill())


def test_a_large_record_is_read_at_once() -> None:
    bench = Bench(mapped_file_size_commit_log=16 << 20, max_message_size=8 << 20)
    big = b"x" * (5 << 20)
    bench.put(message(body=b"a"), message(body=big), message(body=b"b"))
    again = bench.kill()
    assert [len(m.body) for m in drain(again.store)] == [1, len(big), 1]


def test_progress_is_reported() -> None:
    bench = filled()
    bench.disk.kill()
    notified: list[tuple[int, int]] = []
    fresh = MessageStore(
        options(), disk=bench.disk, clock=ManualClock(), worker=InlineWorker(), store_host=HOST
    )
    fresh.start(lambda done, total: notified.append((done, total)))
    assert notified[0][0] == 0 and notified[-1][0] > 0
    assert all(done <= total for done, total in notified)
