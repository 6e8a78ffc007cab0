"""The two files with a broker's identity."""

from __future__ import annotations

import pytest

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.ha.identity import Application, BrokerNameAndId, IdentityFiles
from mqgateway.engine.testing.crash_disk import CrashDisk

PATH = "/store/brokerIdentity"


def files(disk: CrashDisk) -> IdentityFiles:
    return IdentityFiles(disk, PATH, "CL", "brk")


def test_the_files_are_those_of_the_standard() -> None:
    disk = CrashDisk()
    assert files(disk).read() is None
    assert files(disk).applied() is None
    applied = files(disk).apply(2, "127.0.0.1:10911;1700000000000")
    assert disk.read_bytes(f"{PATH}-temp") == b"CL#brk#2#127.0.0.1:10911;1700000000000"
    assert (
        files(disk).applied()
        == applied
        == Application(BrokerNameAndId("CL", "brk", 2), "127.0.0.1:10911;1700000000000")
    )
    files(disk).keep(applied.identity)
    assert disk.read_bytes(PATH) == b"CL#brk#2"
    assert not disk.exists(f"{PATH}-temp")
    assert files(disk).read() == BrokerNameAndId("CL", "brk", 2)


def test_application_survives_power_cut() -> None:
    disk = CrashDisk()
    applied = files(disk).apply(2, "a;1")
    disk = disk.crash(1)
    assert files(disk).applied() == applied
    files(disk).keep(applied.identity)
    assert files(disk.crash(2)).read() == applied.identity


def test_another_brokers_file_is_not_ours() -> None:
    disk = CrashDisk()
    IdentityFiles(disk, PATH, "CL", "other").keep(BrokerNameAndId("CL", "other", 3))
    with pytest.raises(ConfigError, match="is of the broker other of the cluster CL"):
        files(disk).read()


@pytest.mark.parametrize("text", [b"", b"CL#brk", b"CL#brk#x", b"CL#brk#0"])
def test_a_damaged_file_is_said_to_be_one(text: bytes) -> None:
    disk = CrashDisk()
    disk.makedirs("/store")
    for path in (PATH, f"{PATH}-temp"):
        file = disk.open(path, create=True)
        file.write(0, text)
    with pytest.raises(ConfigError, match="not a broker's identity"):
        files(disk).read()
    assert files(disk).applied() is None
