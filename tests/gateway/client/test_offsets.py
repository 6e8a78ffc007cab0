"""Consumed offsets, and the file that keeps them for broadcasting."""

from __future__ import annotations

from pathlib import Path

import pytest

from mqgateway.engine.real_disk import RealDisk
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.gateway.client.offsets import ConsumedOffsets, LocalOffsets
from mqgateway.gateway.codec.bodies import MessageQueue

A, B = MessageQueue("T", "broker-a", 0), MessageQueue("U", "broker-a", 1)


def test_offsets_grow_or_are_set_on_request() -> None:
    table = ConsumedOffsets()
    assert table.get(A) == -1
    table.update(A, 5)
    table.update(A, 3, increase_only=True)
    assert table.get(A) == 5
    table.update(A, 3)
    assert table.get(A) == 3


def test_a_frozen_offset_stays_until_it_is_removed() -> None:
    table = ConsumedOffsets()
    table.freeze(A, 7)
    table.update(A, 9)
    assert table.get(A) == 7
    table.remove(A)
    table.update(A, 9)
    assert table.get(A) == 9


def test_offsets_of_a_topic_and_of_queues_that_are_kept() -> None:
    table = ConsumedOffsets()
    table.update(A, 1)
    table.update(B, 2)
    assert table.of("T") == {A: 1} and table.of() == {A: 1, B: 2}
    table.keep({B})
    assert table.of() == {B: 2}


def test_the_file_is_the_standards_and_in_its_place() -> None:
    disk = CrashDisk()
    offsets = LocalOffsets(disk, "/home/.rocketmq_offsets", "10.0.0.2@DEFAULT", "G")
    assert offsets.load() == {}
    offsets.save({A: 3})
    offsets.save({B: 4})
    assert offsets.path == "/home/.rocketmq_offsets/10.0.0.2@DEFAULT/G/offsets.json"
    text = disk.read_bytes(offsets.path).decode()
    assert '{"brokerName":"broker-a","queueId":0,"topic":"T"}:3' in "".join(text.split())
    again = LocalOffsets(disk, "/home/.rocketmq_offsets", "10.0.0.2@DEFAULT", "G")
    assert again.load() == {A: 3, B: 4} and again.get(A) == 3
    assert again.get(MessageQueue("T", "broker-a", 9)) == -1


def test_the_backup_is_read_when_the_file_is_broken() -> None:
    disk = CrashDisk()
    offsets = LocalOffsets(disk, "/o", "c", "G")
    offsets.save({A: 3})
    offsets.save({A: 4})
    disk.open(offsets.path).truncate(5)
    assert LocalOffsets(disk, "/o", "c", "G").load() == {A: 3}


DAMAGES = {
    "empty": b"",
    "zeros": bytes(64),
    "cut": b'{"offsetTable":{{"brokerName":"broker-a","queueId"',
    "no JSON": b"\xff\xfeoffsets",
    "no object": b"[1, 2]",
    "text for a table": b'{"offsetTable":"none"}',
    "text for an offset": b'{"offsetTable":{{"brokerName":"b","queueId":0,"topic":"T"}:"three"}}',
    "number for a queue": b'{"offsetTable":{"5":3}}',
    "negative": b'{"offsetTable":{{"brokerName":"b","queueId":0,"topic":"T"}:-7}}',
    "too large": b'{"offsetTable":{{"brokerName":"b","queueId":0,"topic":"T"}:99999999999999999999}}',
    "deep": b"[" * 100_000,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damaged_file_is_set_aside_and_nothing_was_kept(
    damage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    disk = CrashDisk()
    offsets = LocalOffsets(disk, "/o", "c", "G")
    offsets.save({A: 3})
    write(disk, offsets.path, damage)
    again = LocalOffsets(disk, "/o", "c", "G")
    assert again.load() == {} and again.get(A) == -1
    assert disk.read_bytes(offsets.path + ".broken") == damage and not disk.exists(offsets.path)
    assert "kept as /o/c/G/offsets.json.broken" in caplog.text
    assert "begins where a new one would" in caplog.text
    again.save({A: 5})
    assert LocalOffsets(disk, "/o", "c", "G").load() == {A: 5}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_backup_is_used_for_any_damage_and_both_may_be_damaged(damage: bytes) -> None:
    disk = CrashDisk()
    offsets = LocalOffsets(disk, "/o", "c", "G")
    offsets.save({A: 3})
    offsets.save({A: 4})
    write(disk, offsets.path, damage)
    assert LocalOffsets(disk, "/o", "c", "G").load() == {A: 3}
    write(disk, offsets.path, damage)
    write(disk, offsets.path + ".bak", damage)
    assert LocalOffsets(disk, "/o", "c", "G").load() == {}
    assert disk.exists(offsets.path + ".broken-2") and disk.exists(offsets.path + ".bak.broken")


def test_file_that_the_disk_does_not_give_is_set_aside(tmp_path: Path) -> None:
    offsets = LocalOffsets(RealDisk(), str(tmp_path), "c", "G")
    offsets.save({A: 3})
    Path(offsets.path).unlink()
    Path(offsets.path).mkdir()  # reading a folder fails, also for root
    assert LocalOffsets(RealDisk(), str(tmp_path), "c", "G").load() == {}
    assert Path(offsets.path + ".broken").is_dir()


def write(disk: CrashDisk, path: str, content: bytes) -> None:
    file = disk.open(path, create=True)
    file.truncate(0)
    file.write(0, content)


def test_nothing_is_written_when_nothing_changed() -> None:
    disk = CrashDisk()
    offsets = LocalOffsets(disk, "/o", "c", "G")
    offsets.save({A: 3})
    disk.unlink(offsets.path)
    offsets.save({A: 3})
    assert not disk.exists(offsets.path)
    offsets.save({A: 3}, inline=True)
    assert disk.exists(offsets.path)
