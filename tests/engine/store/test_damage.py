"""Torn, lost or corrupted files: a start restores what it can, reports the damage, and invents nothing."""

import os
import random
from collections.abc import Callable

import pytest

from mqgateway.engine.errors import CorruptFile
from mqgateway.engine.store.file_queue import file_name
from mqgateway.engine.testing.crash_disk import CrashDisk
from tests.support.engine.store.stores import Bench, drain, message

SEEDS = int(os.environ.get("MQGATEWAY_CRASH_SEEDS", "25"))
COUNT = 45
LOG = "/store/commitlog"
QUEUE = "/store/consumequeue/orders/0"


def body_of(number: int) -> bytes:
    return b"%d " % number + b"x" * (number % 5 * 60)


def filled(**changes: object) -> Bench:
    """Return a store with messages in three queues, all flushed, the checkpoint at the last message but
    five.
    """
    bench = Bench(**changes)  # type: ignore[arg-type]
    for i in range(COUNT):
        if i == COUNT - 5:
            bench.clock.advance(60_000)
            bench.store.tick()
        bench.clock.advance(10)
        bench.put(message(queue_id=i % 3, body=body_of(i), properties={"KEYS": f"k{i}", "TAGS": "a"}))
    bench.clock.advance(20_000)
    bench.store.tick()
    bench.clock.advance(20_000)
    bench.store.tick()
    return bench


def numbers(bench: Bench) -> list[int]:
    """Return the numbers of the existing messages, after a check that they are intact and at their
    offsets.
    """
    found = []
    for queue_id in range(3):
        for each in drain(bench.store, "orders", queue_id):
            number = int(each.body.split()[0])
            assert each.body == body_of(number) and number % 3 == queue_id
            assert each.queue_offset == number // 3
            assert each.properties["KEYS"] == f"k{number}"
            found.append(number)
    return sorted(found)


def assert_whole(bench: Bench) -> None:
    assert numbers(bench) == list(range(COUNT))
    for number in range(COUNT):
        assert len(bench.store.query("orders", f"k{number}", 9, 0, 1 << 60).records) == 1, number
    assert bench.put(message(queue_id=0, body=b"after")) == [COUNT // 3]


def overwrite(path: str, offset: int, data: bytes) -> Callable[[CrashDisk], None]:
    return lambda disk: disk.open(path).write(offset, data)


def shorten(path: str, size: int) -> Callable[[CrashDisk], None]:
    return lambda disk: disk.open(path).truncate(size)


def shorten_index(disk: CrashDisk) -> None:
    name = disk.listdir("/store/index")[-1]
    disk.open(f"/store/index/{name}").truncate(400)


def spoil_index(disk: CrashDisk) -> None:
    for name in disk.listdir("/store/index"):
        disk.open(f"/store/index/{name}").write(0, b"\xff" * 200)


def lose_all_derived(disk: CrashDisk) -> None:
    disk.rmtree("/store/consumequeue")
    disk.rmtree("/store/index")


DERIVED: dict[str, Callable[[CrashDisk], None]] = {
    "queues lost": lambda disk: disk.rmtree("/store/consumequeue"),
    "index lost": lambda disk: disk.rmtree("/store/index"),
    "queues and index lost": lose_all_derived,
    "queue file cut": shorten(f"{QUEUE}/{file_name(200)}", 30),
    "queue file empty": shorten(f"{QUEUE}/{file_name(200)}", 0),
    "queue tail zeroed": overwrite(f"{QUEUE}/{file_name(200)}", 20, bytes(180)),
    "queue tail of noise": overwrite(f"{QUEUE}/{file_name(200)}", 60, b"\x5a" * 140),
    "last index cut": shorten_index,
    "index headers of noise": spoil_index,
    "checkpoint lost": lambda disk: disk.unlink("/store/checkpoint"),
    "checkpoint empty": shorten("/store/checkpoint", 0),
    "checkpoint from the future": overwrite("/store/checkpoint", 0, b"\0\0\x7f" * 16),
    "checkpoint beyond the log": overwrite("/store/checkpoint", 40, (1 << 40).to_bytes(8, "big")),
    "checkpoint negative": overwrite("/store/checkpoint", 0, b"\xff" * 48),
}


@pytest.mark.parametrize("damage", DERIVED.values(), ids=DERIVED.keys())
def test_derived_files_are_rebuilt_after_unclean_stop(damage: Callable[[CrashDisk], None]) -> None:
    bench = filled()
    damage(bench.disk)
    assert_whole(bench.kill())


@pytest.mark.parametrize("damage", ["queues lost", "index lost", "queues and index lost", "checkpoint lost"])
def test_lost_derived_files_are_rebuilt_after_clean_stop(damage: str) -> None:
    bench = filled()
    bench.store.stop()
    DERIVED[damage](bench.disk)
    again = bench.again()
    assert again.report.clean
    assert_whole(again)


def test_units_missing_in_the_middle_have_the_whole_log_read_again(caplog: pytest.LogCaptureFixture) -> None:
    """The checkpoint is wrong: queue 0 lacks units before it."""
    bench = filled()
    bench.disk.open(f"{QUEUE}/{file_name(0)}").write(80, bytes(120))
    bench.disk.open(f"{QUEUE}/{file_name(200)}").write(0, bytes(200))
    assert_whole(bench.kill())
    assert "lack units" in caplog.text


@pytest.mark.parametrize("number", [3, 20, 41])
def test_damaged_record_costs_itself_and_is_reported_with_file_and_byte(
    number: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Records after it are kept, as later records are known to have been on disk."""
    bench = filled()
    position, _, _ = bench.store.consume_queue_units("orders", number % 3, number // 3, 1)[0]
    start = position // 4096 * 4096
    bench.disk.flip(f"{LOG}/{file_name(start)}", position - start + 91)
    DERIVED["checkpoint lost" if number == 3 else "queues lost"](bench.disk)
    if number == 3:
        bench.disk.open("/store/checkpoint", create=True).write(0, (1 << 60).to_bytes(8, "big"))
    again = bench.kill()
    assert numbers(again) == [each for each in range(COUNT) if each != number]
    assert f"{LOG}/{file_name(start)} at byte {position - start}" in caplog.text
    assert numbers(again.kill()) == [each for each in range(COUNT) if each != number]


def test_a_damaged_end_of_a_file_does_not_hide_the_next(caplog: pytest.LogCaptureFixture) -> None:
    bench = filled()
    DERIVED["queues lost"](bench.disk)
    bench.disk.open(f"{LOG}/{file_name(0)}").write(3000, b"\x5a" * 1096)
    found = numbers(bench.kill())
    assert found[-1] == COUNT - 1 and COUNT - 12 < len(found) < COUNT
    assert "are skipped" in caplog.text


def test_a_log_that_lost_its_end_says_so(caplog: pytest.LogCaptureFixture) -> None:
    bench = filled()
    last = bench.disk.listdir(LOG)[-1]
    bench.disk.open(f"{LOG}/{last}").write(0, bytes(4096))
    found = numbers(bench.kill())
    assert found == list(range(len(found)))
    assert "no valid record follows" in caplog.text


@pytest.mark.parametrize("clean", [True, False])
def test_a_flipped_bit_anywhere_serves_nothing_that_was_not_put(
    clean: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Records have a checksum of all their bytes here; without it some of their fields are not covered."""
    lost = 0
    for seed in range(SEEDS):
        choose = random.Random(seed)
        bench = filled(enabled_append_prop_crc=True)
        if clean:
            bench.store.stop()
        names = [
            f"{folder}/{name}"
            for folder in (LOG, "/store/index", "/store", *(f"{QUEUE[:-1]}{i}" for i in range(3)))
            for name in bench.disk.listdir(folder)
            if not bench.disk.is_dir(f"{folder}/{name}")
        ]
        path = choose.choice(names)
        bench.disk.flip(path, choose.randrange(max(1, bench.disk.size(path))), choose.randrange(8))
        caplog.clear()
        try:
            again = bench.again() if clean else bench.kill()
        except CorruptFile as error:
            assert path in str(error)
            continue
        found = numbers(again)
        assert len(found) >= COUNT - 1, (seed, path)
        if len(found) < COUNT:
            lost += 1
            assert path in caplog.text or "consumequeue" in path, (seed, path)
        for number in (0, 17, COUNT - 1):
            for record in again.store.query("orders", f"k{number}", 9, 0, 1 << 60).records:
                assert again.store.look_up(int.from_bytes(record[28:36], "big")) is not None
    assert lost > 5
