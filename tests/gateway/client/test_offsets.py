"""Consumed offsets, and the file that keeps them for broadcasting."""

from __future__ import annotations

import pytest

from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.gateway.client.errors import ClientError
from mqgateway.gateway.client.offsets import ConsumedOffsets, LocalOffsets
from mqgateway.gateway.codec.bodies import MessageQueue

A, B = MessageQueue("T", "broker-a", 0), MessageQueue("U", "broker-a", 1)


def test_offsets_go_up_or_wherever_they_are_told() -> None:
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


def test_a_file_that_cannot_be_read_at_all_is_an_error() -> None:
    disk = CrashDisk()
    offsets = LocalOffsets(disk, "/o", "c", "G")
    offsets.save({A: 3})
    disk.open(offsets.path).truncate(5)
    with pytest.raises(ClientError, match="cannot be read"):
        LocalOffsets(disk, "/o", "c", "G").load()


def test_nothing_is_written_when_nothing_changed() -> None:
    disk = CrashDisk()
    offsets = LocalOffsets(disk, "/o", "c", "G")
    offsets.save({A: 3})
    disk.unlink(offsets.path)
    offsets.save({A: 3})
    assert not disk.exists(offsets.path)
    offsets.save({A: 3}, inline=True)
    assert disk.exists(offsets.path)
