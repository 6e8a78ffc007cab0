"""File lengths: those of an existing store, those set, or for a new store RocketMQ's or small ones."""

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.message import Message, pack_host
from mqgateway.engine.options import OptionSet, Setting, StoreOptions
from mqgateway.engine.store.message_store import MessageStore
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.worker import InlineWorker
from mqgateway.gateway.cli.sizes import SMALL, assume_file_sizes

HOST = pack_host("127.0.0.1", 10911)


def settings(*pairs: tuple[str, str]) -> tuple[StoreOptions, OptionSet]:
    store = StoreOptions()
    options = OptionSet(store)
    assert not options.apply([Setting("storePathRootDir", "/s"), *(Setting(*pair) for pair in pairs)])
    return store, options


def lengths(options: OptionSet) -> list[object]:
    return [options.get(name) for name in SMALL]


def written(store: StoreOptions, topic: str = "orders") -> CrashDisk:
    """Return the disk of a store with one message, created with these settings."""
    disk = CrashDisk()
    made = MessageStore(
        store,
        disk=disk,
        clock=ManualClock(),
        worker=InlineWorker(),
        store_host=HOST,
        is_batch_topic=lambda name: name == "batched",
    )
    made.start()
    made.put(Message(topic, 0, b"x", {"TAGS": "a"}, 0, HOST, HOST))
    made.stop()
    return disk


def test_new_store_has_the_lengths_of_rocketmq() -> None:
    _, options = settings()
    assume_file_sizes(options, CrashDisk(), small=False)
    assert lengths(options) == [1 << 30, 6_000_000, 5_000_000, 20_000_000]
    assert options.get("cleanForciblyKeepSize") == 0


def test_a_new_store_for_trying_things_out_has_small_files_also_the_next_time() -> None:
    store, options = settings()
    assume_file_sizes(options, CrashDisk(), small=True)
    assert lengths(options) == list(SMALL.values())
    assert store.clean_file_forcibly_enable and store.clean_forcibly_keep_size == 1 << 30
    disk = written(store)
    for small in (True, False):
        _, again = settings()
        assume_file_sizes(again, disk, small)
        assert lengths(again) == list(SMALL.values())
        assert again.get("cleanForciblyKeepSize") == (1 << 30 if small else 0)
    assert again.origin("mappedFileSizeCommitLog") == "length of /s/commitlog/00000000000000000000"


def test_one_length_that_was_set_keeps_the_others_as_in_rocketmq() -> None:
    store, options = settings(("mappedFileSizeCommitLog", "16m"))
    assume_file_sizes(options, CrashDisk(), small=True)
    assert lengths(options) == [16 << 20, 6_000_000, 5_000_000, 20_000_000]
    assert store.clean_forcibly_keep_size == 0


def test_a_length_that_was_set_wins_over_the_files() -> None:
    store, options = settings()
    assume_file_sizes(options, CrashDisk(), small=True)
    disk = written(store)
    _, again = settings(("mappedFileSizeCommitLog", "16m"))
    assume_file_sizes(again, disk, small=True)
    assert lengths(again) == [16 << 20, *list(SMALL.values())[1:]]


@pytest.mark.parametrize("topic", ["orders", "batched"])
def test_store_with_the_lengths_of_rocketmq_keeps_them(topic: str) -> None:
    store, _ = settings(("mapperFileSizeBatchConsumeQueue", "4600"))
    disk = written(store, topic)
    disk.open("/s/commitlog/00000000001073741824", create=True)
    disk.makedirs("/s/index/0")
    _, again = settings()
    assume_file_sizes(again, disk, small=True)
    assert lengths(again) == [1 << 30, 6_000_000, 5_000_000, 20_000_000]
    assert again.get("mapperFileSizeBatchConsumeQueue") == (4600 if topic == "batched" else 13_800_000)


def test_an_index_of_another_shape_is_not_guessed_at() -> None:
    store, _ = settings(("maxHashSlotNum", "10"), ("maxIndexNum", "77"))
    disk = written(store)
    _, again = settings()
    assume_file_sizes(again, disk, small=False)
    assert lengths(again)[2:] == [5_000_000, 20_000_000]
