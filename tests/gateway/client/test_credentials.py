"""Sources of a client's keys, and their change while the client runs."""

from __future__ import annotations

import logging

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.gateway.access.signature import Credentials
from mqgateway.gateway.client.credentials import LOOK_SECONDS, CredentialsFile, credentials_of
from mqgateway.gateway.client.errors import BadArgument
from mqgateway.gateway.client.options import ClientOptions

PATH = "/conf/tools.yml"
ENVIRONMENT = {"ROCKETMQ_ACCESS_KEY": "env", "ROCKETMQ_SECRET_KEY": "env's"}


def disk_with(text: str) -> CrashDisk:
    disk = CrashDisk()
    disk.makedirs("/conf")
    write(disk, text)
    return disk


def write(disk: CrashDisk, text: str) -> None:
    file = disk.open(PATH, create=True)
    file.truncate(0)
    file.write(0, text.encode())
    file.close()


def test_settings_come_before_the_file_and_the_file_before_the_environment() -> None:
    disk, clock = disk_with("accessKey: file\nsecretKey: 'file''s'\n"), ManualClock()
    both = ClientOptions(access_key="set", secret_key="s", credentials_file=PATH)
    assert credentials_of(both, ENVIRONMENT, disk, clock) == Credentials("set", "s")
    file = credentials_of(ClientOptions(credentials_file=PATH), ENVIRONMENT, disk, clock)
    assert isinstance(file, CredentialsFile) and file.current().access_key == "file"
    assert credentials_of(ClientOptions(), ENVIRONMENT, disk, clock) == Credentials("env", "env's")
    assert credentials_of(ClientOptions(), {"ROCKETMQ_ACCESS_KEY": "env"}, disk, clock) is None


def test_new_keys_are_used_soon_and_a_broken_file_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    disk, clock = disk_with("accessKey: old\nsecretKey: o\n"), ManualClock()
    file = CredentialsFile(PATH, disk, clock)
    write(disk, "# rolled over\naccessKey: new\nsecretKey: n\n")
    assert file.current() == Credentials("old", "o")
    clock.advance(round(LOOK_SECONDS * 1000))
    assert file.current() == Credentials("new", "n")
    write(disk, "accessKey: half")
    for _ in range(3):
        clock.advance(round(LOOK_SECONDS * 1000))
        assert file.current() == Credentials("new", "n")
    assert [record.levelno for record in caplog.records].count(logging.ERROR) == 1


@pytest.mark.parametrize("text", ["", "accessKey: a\n", "secretKey: s\n", "accessKey:\nsecretKey: s\n"])
def test_a_file_without_both_is_refused_at_the_start(text: str) -> None:
    with pytest.raises(BadArgument, match=PATH):
        CredentialsFile(PATH, disk_with(text), ManualClock())
    with pytest.raises(BadArgument, match="nowhere"):
        CredentialsFile("/nowhere", CrashDisk(), ManualClock())
