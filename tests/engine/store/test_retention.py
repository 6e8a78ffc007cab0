"""Deletion of old files, and refusal of writes while the disk is full."""

from datetime import datetime

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.store.results import PutStatus
from mqgateway.engine.worker import MemoryWorker
from tests.support.engine.store.stores import Bench, drain, message

HOUR = 3_600_000


def at_hour(hour: int) -> ManualClock:
    """Return a clock at an hour of the local day."""
    return ManualClock(int(datetime(2024, 5, 6, hour, 30).timestamp() * 1000))


def filled(clock: ManualClock, **changes: object) -> Bench:
    """Return a store of five log files, one written each hour."""
    bench = Bench(clock=clock, **changes)  # type: ignore[arg-type]
    for _ in range(5):
        bench.put(*[message(body=b"x" * 800, properties={"KEYS": "k"}) for _ in range(4)])
        clock.advance(HOUR)
    return bench


def look(bench: Bench, ticks: int = 10) -> None:
    bench.clock.advance(10_000)
    for _ in range(ticks):
        bench.store.tick()
        bench.clock.advance(100)


def files(bench: Bench) -> int:
    return len(bench.disk.listdir("/store/commitlog"))


def test_expired_files_go_at_the_hour_and_queues_follow() -> None:
    bench = filled(at_hour(23), file_reserved_time=3)
    assert files(bench) == 5
    look(bench)
    assert files(bench) == 3
    assert bench.store.min_physical_offset == 8192
    assert bench.store.min_offset("orders", 0) == 8
    assert len(drain(bench.store)) == 12
    assert len(bench.store.query("orders", "k", 64, 0, 1 << 60).records) == 12
    again = bench.restart()
    assert again.store.min_offset("orders", 0) == 8
    assert len(drain(again.store)) == 12


def test_files_that_a_view_needs_are_kept_unless_they_go_by_force() -> None:
    bench = filled(at_hour(23), file_reserved_time=3)
    bench.store.compacted_parts.keep_from = 5000
    look(bench)
    assert files(bench) == 4 and bench.store.min_physical_offset == 4096
    bench.store.compacted_parts.keep_from = 8192
    look(bench)
    assert bench.store.min_physical_offset == 8192
    bench.store.compacted_parts.keep_from = 0
    look(bench)
    assert bench.store.min_physical_offset == 8192
    bench.disk.used = bench.disk.total * 92 // 100
    look(bench)
    assert files(bench) == 1


def test_nothing_goes_at_other_hours_unless_ordered() -> None:
    bench = filled(at_hour(10), file_reserved_time=3)
    look(bench)
    assert files(bench) == 5
    bench.store.admin.delete_expired_files()
    look(bench, 3)
    assert files(bench) < 5


def test_a_clock_set_forward_makes_no_file_old() -> None:
    bench = filled(at_hour(23), file_reserved_time=12)
    bench.store.tick()
    bench.clock.set_wall(bench.clock.millis() + 24 * HOUR)
    look(bench)
    assert files(bench) == 5


def test_a_clock_set_back_keeps_no_file_longer() -> None:
    bench = filled(at_hour(23), file_reserved_time=3)
    bench.store.tick()
    bench.clock.set_wall(bench.clock.millis() - 24 * HOUR)
    look(bench)
    assert files(bench) == 3


def test_young_files_stay() -> None:
    bench = filled(at_hour(23))
    look(bench)
    assert files(bench) == 5


def test_files_that_replicas_have_not_confirmed_stay() -> None:
    bench = filled(at_hour(23), file_reserved_time=3, agrees=True)
    agreement = bench.store.agreement
    assert agreement is not None
    agreement.limit = 5000
    look(bench)
    assert files(bench) == 4
    agreement.limit = None
    look(bench)
    assert files(bench) == 3


def test_a_filling_disk_deletes_what_expired_at_any_hour() -> None:
    bench = filled(at_hour(10), file_reserved_time=3)
    bench.disk.used = bench.disk.total * 80 // 100
    look(bench)
    assert files(bench) == 3


def test_a_nearly_full_disk_deletes_by_force_and_refuses_writes_until_there_is_room() -> None:
    bench = filled(at_hour(10), disk_free_space_min=200 << 30)
    bench.disk.used = bench.disk.total * 92 // 100
    look(bench, 2)
    refused = bench.store.put(message())
    assert refused.status is PutStatus.SERVICE_NOT_AVAILABLE
    for part in ("/store/commitlog", "92.0 %", "diskSpaceWarningLevelRatio is 90 %", "diskFreeSpaceMin"):
        assert part in refused.remark
    assert "81.9 GiB are free" in refused.remark and "is 200.0 GiB" in refused.remark
    look(bench)
    assert files(bench) == 1
    bench.disk.used = bench.disk.total // 2
    bench.clock.advance(1000)
    bench.store.tick()
    assert bench.store.put(message()).status is PutStatus.PUT_OK


def test_gigabytes_free_are_enough_however_full_the_disk_is() -> None:
    bench = filled(at_hour(10))
    bench.disk.used = bench.disk.total - (1 << 30)
    look(bench, 1)
    assert bench.store.put(message()).status is PutStatus.PUT_OK
    bench.disk.used += 1
    look(bench, 1)
    assert bench.store.put(message()).status is PutStatus.SERVICE_NOT_AVAILABLE


def test_a_small_empty_disk_is_not_full() -> None:
    bench = filled(at_hour(10))
    bench.disk.total = 1 << 20
    look(bench, 1)
    assert bench.store.put(message()).status is PutStatus.PUT_OK


def test_forced_deletion_can_be_switched_off() -> None:
    bench = filled(at_hour(10), clean_file_forcibly_enable=False)
    bench.disk.used = bench.disk.total * 92 // 100
    look(bench)
    assert files(bench) == 5


def test_the_newest_part_of_the_log_is_kept_from_deletion_by_force() -> None:
    """It is still deleted when it is old."""
    bench = filled(at_hour(10), clean_forcibly_keep_size=8192)
    bench.disk.used = bench.disk.total * 92 // 100
    look(bench)
    assert files(bench) == 3
    bench.clock.advance(100 * HOUR)
    look(bench)
    assert files(bench) == 1


def test_file_that_was_removed_is_given_up() -> None:
    bench = filled(at_hour(23), file_reserved_time=3)
    bench.disk.unlink("/store/commitlog/" + bench.disk.listdir("/store/commitlog")[0])
    look(bench)
    assert bench.store.min_physical_offset == 8192
    assert bench.store.put(message()).status is PutStatus.PUT_OK


def test_files_go_some_time_apart_and_at_most_so_many_a_look() -> None:
    bench = filled(at_hour(10), delete_commit_log_files_interval=300, delete_file_batch_max=3)
    bench.disk.used = bench.disk.total * 88 // 100
    counts = []
    bench.clock.advance(10_000)
    for _ in range(10):
        bench.store.tick()
        counts.append(files(bench))
        bench.clock.advance(100)
    assert counts == [4, 4, 4, 3, 3, 3, 2, 2, 2, 2]


def test_files_are_removed_on_the_worker_and_reads_no_longer_see_them() -> None:
    aside = MemoryWorker()
    bench = filled(at_hour(23), file_reserved_time=3, aside=aside)
    look(bench)
    assert (files(bench), bench.store.min_offset("orders", 0)) == (5, 8)
    aside.perform_all()
    assert files(bench) == 3
    bench.store.stop()


def test_pending_removals_are_done_when_store_stops() -> None:
    aside = MemoryWorker()
    bench = filled(at_hour(23), file_reserved_time=3, aside=aside)
    look(bench)
    assert files(bench) == 5
    bench.store.stop()
    aside.perform_all()
    assert files(bench) == 3


def test_nothing_goes_while_a_file_cannot_be_removed() -> None:
    """The log must not get a gap."""
    bench = filled(at_hour(10))
    bench.disk.used = bench.disk.total * 88 // 100
    bench.disk.fail_next("unlink", "/commitlog")
    look(bench, 100)
    assert (files(bench), bench.store.min_physical_offset) == (5, 4096)
    bench.clock.advance(120_000)
    look(bench)
    assert files(bench) == 1


def test_many_queues_are_swept_in_portions() -> None:
    bench = Bench(clock=at_hour(10), file_reserved_time=0)
    for queue_id in range(450):
        bench.put(message(queue_id=queue_id))
    bench.store.admin.delete_expired_files()
    look(bench, 40)
    oldest = bench.store.min_physical_offset
    assert oldest > 0
    for queue_id in range(450):
        wanted = 0 if bench.store.get("orders", queue_id, 0, 1).status.name == "FOUND" else 1
        assert bench.store.min_offset("orders", queue_id) == wanted


def test_files_are_kept_until_they_are_saved() -> None:
    """Neither the hour nor a full disk deletes them."""
    bench = filled(at_hour(23), file_reserved_time=3, tiered_store_path="file:///tier")
    look(bench)
    assert files(bench) == 5
    bench.disk.used = bench.disk.total * 92 // 100
    look(bench)
    assert files(bench) == 5
    bench.store.admin.saved.saved_to = 4096 + 4095
    look(bench)
    assert bench.store.min_physical_offset == 4096
    bench.store.admin.saved.saved_to = 12288
    look(bench)
    assert bench.store.min_physical_offset == 12288


def test_files_go_by_their_own_rules_if_they_may_be_lost() -> None:
    bench = filled(at_hour(23), file_reserved_time=3, tiered_store_path="file:///tier", tiered_may_lose=True)
    look(bench)
    assert files(bench) == 3
