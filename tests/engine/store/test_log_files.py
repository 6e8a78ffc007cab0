"""The check that all files of the log exist."""

import pytest

from mqgateway.engine.errors import CorruptFile
from mqgateway.engine.store.consume_queue import queues_of
from mqgateway.engine.store.file_queue import FilePool, FileQueue, file_name
from mqgateway.engine.store.log_files import MissingLogFiles, fill, look_for_lost, newest_place
from mqgateway.engine.testing.crash_disk import CrashDisk
from tests.support.engine.store.stores import Bench, message, options


def stopped(count: int = 30) -> Bench:
    bench = Bench()
    bench.put(*[message(queue_id=i % 2, body=b"x" * 400) for i in range(count)], message("batched"))
    bench.store.stop()
    return bench


def look(disk: CrashDisk, checkpoint: int, repair: bool = False) -> None:
    files = FileQueue(FilePool(disk), "/store/commitlog", 4096)
    queues = queues_of(options(), disk, "/store", None, disk.unlink)
    look_for_lost(files, lambda: newest_place(queues), checkpoint, repair)


def test_a_whole_log_passes() -> None:
    bench = stopped()
    look(bench.disk, 12_000)
    look(bench.disk, 0)
    look(CrashDisk(), 0)


def test_the_refusal_names_files_range_and_what_can_be_done() -> None:
    disk = stopped(80).disk
    for start in range(4096, 8 * 4096, 4096):
        disk.lose(f"/store/commitlog/{file_name(start)}")
    with pytest.raises(MissingLogFiles) as refusal:
        look(disk, 0)
    assert refusal.value.starts == list(range(4096, 8 * 4096, 4096))
    text = str(refusal.value)
    assert f"/store/commitlog/{file_name(4096)}, " in text and "and 2 more are missing" in text
    assert f"{file_name(8 * 4096)} is the next file" in text and "between 4096 and 32768" in text
    assert "startWithMissingLogFiles=true" in text and "mqgateway store check" in text


def test_the_end_is_lost_only_if_checkpoint_and_queues_say_so() -> None:
    bench = stopped()
    queues = queues_of(options(), bench.disk, "/store", None, bench.disk.unlink)
    newest = newest_place(queues)
    last = bench.disk.listdir("/store/commitlog")[-1]
    assert newest >= int(last)
    look(bench.disk, 1 << 40)  # a damaged checkpoint
    bench.disk.lose(f"/store/commitlog/{last}")
    look(bench.disk, int(last) - 1)
    with pytest.raises(MissingLogFiles, match=f"know records up to {newest}"):
        look(bench.disk, newest)
    bench.disk.rmtree("/store/consumequeue")
    bench.disk.rmtree("/store/batchconsumequeue")
    assert newest_place(queues) == -1
    look(bench.disk, newest)


def test_a_log_of_one_record_is_missed_after_a_clean_stop_only() -> None:
    bench = Bench()
    bench.put(message())
    bench.store.stop()
    bench.disk.lose(f"/store/commitlog/{file_name(0)}")
    with pytest.raises(MissingLogFiles):
        look(bench.disk, 0)
    look(bench.disk, 0, repair=True)


def test_wrong_length_is_reported_before_anything_else() -> None:
    disk = stopped().disk
    disk.open(f"/store/commitlog/{file_name(4096)}").truncate(100)
    with pytest.raises(CorruptFile, match="100 bytes"):
        look(disk, 0)
    look(disk, 0, repair=True)


def test_a_file_in_the_place_of_another_has_no_record() -> None:
    disk = stopped().disk
    disk.lose(f"/store/commitlog/{file_name(4096)}")
    files = FileQueue(FilePool(disk), "/store/commitlog", 4096)
    fill(files, [4096])
    assert disk.read_bytes(f"/store/commitlog/{file_name(4096)}").startswith(b"\0\0\x10\0\xcb\xd4\x31\x94")
    assert disk.crash(3).size(f"/store/commitlog/{file_name(4096)}") == 4096
    look(disk, 0)
