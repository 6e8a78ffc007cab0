"""The KV configuration and its file."""

import logging

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import NamesrvOptions
from mqgateway.engine.tables.jsonfile import load_table
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.gateway.namesrv.kv import KvConfig, KvFull

PATH = "/ns/kvConfig.json"


def open_kv(disk: CrashDisk, **options: int) -> KvConfig:
    return KvConfig(NamesrvOptions(**options), disk, PATH, ManualClock(0))


def write(disk: CrashDisk, text: bytes) -> None:
    disk.makedirs("/ns")
    file = disk.open(PATH, create=True)
    file.write(0, text)
    file.close()


def test_new_configuration_is_empty_and_writes_no_file() -> None:
    disk = CrashDisk()
    kv = open_kv(disk)
    assert kv.get("ns", "k") is None
    assert kv.values("ns") is None
    assert not disk.exists(PATH)


def test_every_change_is_durable() -> None:
    disk = CrashDisk()
    kv = open_kv(disk)
    kv.put("ns", "k", "v")
    kv.put("ns", "l", "w")
    kv.put("other", "k", "x")
    kv.delete("ns", "k")
    after = open_kv(disk.crash())
    assert (after.values("ns"), after.values("other")) == ({"l": "w"}, {"k": "x"})


def test_file_has_format_of_rocketmq() -> None:
    disk = CrashDisk()
    open_kv(disk).put("ORDER_TOPIC_CONFIG", "T1", "b1:4;b2:4")
    assert load_table(disk, PATH) == {"configTable": {"ORDER_TOPIC_CONFIG": {"T1": "b1:4;b2:4"}}}


def test_file_of_rocketmq_is_read() -> None:
    disk = CrashDisk()
    write(disk, b'{"configTable":{"ns":{"k":"v"}}}')
    assert open_kv(disk).get("ns", "k") == "v"


def test_corrupt_file_is_set_aside_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    disk = CrashDisk()
    write(disk, b"[]")
    assert open_kv(disk).values("ns") is None
    assert disk.read_bytes(PATH + ".broken") == b"[]"
    assert "kvConfig.json.broken. Values must be put again" in caplog.text


def test_no_op_is_durable_at_once() -> None:
    kv, outcomes = open_kv(CrashDisk()), list[OSError | None]()
    kv.delete("ns", "never put")
    kv.when_durable(outcomes.append)
    assert outcomes == [None]


@pytest.mark.parametrize("text", [b'{"configTable":[]}', b'{"configTable":{"ns":7}}'])
def test_file_of_other_format_is_refused_with_its_name(text: bytes) -> None:
    disk = CrashDisk()
    write(disk, text)
    with pytest.raises(ConfigError, match="kvConfig"):
        open_kv(disk)


def test_failed_write_changes_nothing() -> None:
    disk = CrashDisk()
    kv = open_kv(disk)
    kv.put("ns", "k", "v")
    for change in (lambda: kv.put("ns", "k", "w"), lambda: kv.delete("ns", "k")):
        disk.fail_next("write", "kvConfig")
        with pytest.raises(OSError):
            change()
    assert kv.get("ns", "k") == "v"


def test_delete_of_missing_value_writes_nothing() -> None:
    disk = CrashDisk()
    open_kv(disk).delete("ns", "k")
    assert not disk.exists(PATH)


def test_empty_namespace_is_kept() -> None:
    kv = open_kv(CrashDisk())
    kv.put("ns", "k", "v")
    kv.delete("ns", "k")
    assert kv.values("ns") == {}


def test_entries_are_limited_but_can_be_updated() -> None:
    kv = open_kv(CrashDisk(), max_kv_entries=2)
    kv.put("ns", "k", "v")
    kv.put("ns", "l", "v")
    kv.put("ns", "l", "w")
    with pytest.raises(KvFull, match="2 entries"):
        kv.put("ns", "m", "v")


def test_empty_namespaces_count_too() -> None:
    """Otherwise put and delete with ever new namespaces would fill the memory."""
    kv = open_kv(CrashDisk(), max_kv_entries=2)
    for namespace in ("a", "b"):
        kv.put(namespace, "k", "v")
        kv.delete(namespace, "k")
    with pytest.raises(KvFull):
        kv.put("c", "k", "v")


def test_length_of_entry_is_limited() -> None:
    kv = open_kv(CrashDisk(), max_kv_entry_length=4)
    kv.put("ns", "k", "v")
    with pytest.raises(KvFull, match="4 characters"):
        kv.put("ns", "k", "vv")


def test_length_of_all_entries_is_limited() -> None:
    kv = open_kv(CrashDisk(), max_kv_size=20)
    kv.put("ns", "k", "x" * 10)
    with pytest.raises(KvFull, match="20 characters"):
        kv.put("ns", "l", "x" * 10)
    kv.put("ns", "k", "y")
    kv.put("ns", "l", "x" * 10)


def test_log_all_logs_every_value(caplog: pytest.LogCaptureFixture) -> None:
    kv = open_kv(CrashDisk())
    kv.put("ns", "k", "v")
    caplog.clear()
    with caplog.at_level(logging.INFO):
        kv.log_all()
    assert caplog.messages == ["KV configuration: 1 namespaces", "KV configuration: ns k is v"]
