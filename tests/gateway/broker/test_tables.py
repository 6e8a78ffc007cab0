"""The shared tables: read at the start, written to RocketMQ's files."""

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.options import BrokerOptions, StoreOptions
from mqgateway.engine.tables.assignment import Mode, RequestMode
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.worker import InlineWorker
from mqgateway.gateway.broker.environment import BrokerEnvironment
from mqgateway.gateway.broker.tables import Tables


def tables(disk: CrashDisk, **store_options: bool) -> Tables:
    """Those of a broker that starts."""
    options = StoreOptions(store_path_root_dir="/store", **store_options)  # type: ignore[arg-type]
    kept = Tables(
        BrokerEnvironment(BrokerOptions(), options, disk, ManualClock(), InlineWorker(), 10911, 10912),
        lambda: (0, 0),
    )
    kept.load_topics()
    kept.load()
    return kept


def filled(disk: CrashDisk, **store_options: bool) -> Tables:
    """With something in them."""
    kept = tables(disk, **store_options)
    kept.topics.put(TopicConfig("T"))
    kept.groups.find("G")
    kept.offsets.commit("G", "T", 0, 7)
    kept.request_modes.set("T", "G", Mode(RequestMode.POP, 0))
    return kept


def test_tables_survive_a_restart() -> None:
    disk = CrashDisk()
    before = filled(disk)
    before.persist()
    before.close()
    after = tables(disk)
    assert "T" in after.topics and "G" in after.groups
    assert after.offsets.query("G", "T", 0) == 7
    assert after.request_modes.get("T", "G") == Mode(RequestMode.POP, 0)


def test_offsets_are_written_periodically() -> None:
    disk = CrashDisk()
    filled(disk)
    assert tables(disk).offsets.query("G", "T", 0) == -1


@pytest.mark.parametrize(
    ("enable_lmq", "name"), [(False, "consumerOffset.json"), (True, "lmqConsumerOffset.json")]
)
def test_lmq_offsets_have_their_own_file(name: str, *, enable_lmq: bool) -> None:
    disk = CrashDisk()
    filled(disk, enable_lmq=enable_lmq).persist()
    assert name in disk.listdir("/store/config")


def test_failed_write_of_a_table_is_retried() -> None:
    disk = CrashDisk()
    kept = tables(disk)
    disk.fail_next("write", "/store/config", times=4)
    kept.topics.put(TopicConfig("T"))
    kept.topics.put(TopicConfig("T", perm=4))
    disk.heal()
    kept.retry()
    kept.close()
    assert "T" in tables(disk).topics
