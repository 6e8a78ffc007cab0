"""Rules are in force when they are read, and stay when they cannot be."""

from __future__ import annotations

import errno
import logging
from typing import Any

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.tables.jsonfile import write_table
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.worker import MemoryWorker
from mqgateway.gateway.access.errors import AccessError
from mqgateway.gateway.access.plain.keeper import AclRulesKeeper
from mqgateway.gateway.codec.version_4 import AclDataVersion, PlainAccessConfig

MAIN = "/rmq/conf/plain_acl.yml"
ONE = b"accounts: [{accessKey: account-1, secretKey: secret-1}]\n"
TWO = b"accounts: [{accessKey: account-2, secretKey: secret-2}]\n"


class Kept:
    """A keeper whose worker is stepped by hand."""

    def __init__(self, text: bytes | None = ONE) -> None:
        self.clock = ManualClock()
        self.disk = CrashDisk(millis=self.clock.millis)
        if text is not None:
            self.write(text)
        self.worker = MemoryWorker()
        self.keeper = AclRulesKeeper(BrokerOptions(rocketmq_home="/rmq"), self.disk, self.worker, self.clock)

    def write(self, text: bytes, path: str = MAIN) -> None:
        self.clock.advance(1)
        write_table(self.disk, path, text)

    def look(self) -> None:
        self.keeper.look()
        self.worker.perform_all()

    def names(self) -> list[str]:
        return sorted(self.keeper.rules.path_of)

    def outcome(self, done: Any) -> str:
        """Return the refusal of a change; empty after success."""
        assert done is not None
        self.worker.perform_all()
        outcomes: list[Any] = []
        done.addBoth(outcomes.append)
        (outcome,) = outcomes
        return "" if outcome is None else str(outcome.value)


@pytest.fixture
def kept() -> Kept:
    kept = Kept()
    kept.keeper.load()
    return kept


def put(kept: Kept, name: str, **members: Any) -> str:
    return kept.outcome(kept.keeper.put_account(PlainAccessConfig(name, "a-secret", **members)))


def test_a_file_that_cannot_be_used_is_no_start() -> None:
    with pytest.raises(ConfigError, match=rf"{MAIN}:2: "):
        Kept(b"accounts: [").keeper.load()
    broken = Kept()
    broken.disk.fail_next("read", MAIN, errno.EIO)
    with pytest.raises(ConfigError, match="cannot be read"):
        broken.keeper.load()


def test_without_accounts_the_log_says_where_they_are_written(caplog: pytest.LogCaptureFixture) -> None:
    kept = Kept(None)
    kept.keeper.load()
    assert f"create {MAIN}" in caplog.text
    assert put(kept, "account-9") == ""
    assert kept.names() == ["account-9"] and kept.disk.mode(MAIN) & 0o077 == 0


def test_changed_file_is_in_force_after_the_next_look(kept: Kept) -> None:
    kept.write(TWO)
    assert kept.names() == ["account-1"]
    kept.look()
    assert kept.names() == ["account-2"]


def test_a_file_that_becomes_unreadable_keeps_its_rules_and_says_so(
    kept: Kept, caplog: pytest.LogCaptureFixture
) -> None:
    kept.write(b"accounts:\n- {accessKey: abc}\n")
    kept.look()
    kept.look()
    assert kept.names() == ["account-1"]
    (record,) = [one for one in caplog.records if one.levelno == logging.ERROR]
    assert record.getMessage().startswith(f"{MAIN}:2: The accessKey=abc and secretKey=null")
    assert "remain in effect" in record.getMessage()
    kept.write(TWO)
    kept.look()
    assert kept.names() == ["account-2"]


def test_disk_that_fails_for_a_while_is_reported_once(kept: Kept, caplog: pytest.LogCaptureFixture) -> None:
    kept.write(TWO)
    for _ in range(3):
        kept.disk.fail_next("read", MAIN, errno.EIO)
        kept.look()
    assert kept.names() == ["account-1"]
    assert len([one for one in caplog.records if one.levelno == logging.ERROR]) == 1
    kept.look()
    assert kept.names() == ["account-2"]


def test_looks_do_not_pile_up(kept: Kept) -> None:
    for _ in range(3):
        kept.keeper.look()
    assert kept.worker.waiting == 1


def test_a_change_is_in_the_file_and_in_force_when_it_is_answered(kept: Kept) -> None:
    done = kept.keeper.put_account(PlainAccessConfig("account-2", "secret-2", topic_perms=["t=PUB"]))
    assert kept.names() == ["account-1"] and not done.called
    assert kept.outcome(done) == ""
    assert kept.names() == ["account-1", "account-2"]
    again = AclRulesKeeper(BrokerOptions(rocketmq_home="/rmq"), kept.disk, kept.worker, kept.clock)
    again.load()
    assert sorted(again.rules.path_of) == ["account-1", "account-2"]
    assert kept.outcome(kept.keeper.delete_account("account-1")) == ""
    assert kept.names() == ["account-2"] and kept.keeper.delete_account("account-1") is None


def test_an_account_is_changed_in_its_own_file(kept: Kept) -> None:
    other = "/rmq/conf/acl/other.yml"
    kept.write(TWO, other)
    kept.look()
    assert put(kept, "account-2", admin=True) == ""
    assert kept.keeper.rules.path_of["account-2"] == other
    assert b"admin: true" in kept.disk.read_bytes(other) and kept.disk.read_bytes(MAIN) == ONE


def test_changes_and_looks_come_in_order(kept: Kept) -> None:
    kept.keeper.look()
    done = kept.keeper.put_account(PlainAccessConfig("account-2", "secret-2"))
    late = kept.keeper.put_account(PlainAccessConfig("account-3", "secret-3"))
    kept.keeper.look()
    assert kept.outcome(late) == "" and done.called
    kept.look()
    assert kept.names() == ["account-1", "account-2", "account-3"]


def test_failed_write_is_refused_and_changes_nothing(kept: Kept) -> None:
    kept.disk.fail_next("write", MAIN, errno.ENOSPC)
    assert "28" in put(kept, "account-2") or "space" in put(kept, "account-4")
    assert "account-2" not in kept.names() and kept.disk.read_bytes(MAIN) == ONE


def test_a_file_that_is_broken_is_not_written_over(kept: Kept) -> None:
    kept.write(b"accounts: [")
    assert put(kept, "account-2").startswith(f"{MAIN}:2: ")
    assert kept.disk.read_bytes(MAIN) == b"accounts: ["


def test_invalid_account_and_address_are_refused_at_once(kept: Kept) -> None:
    with pytest.raises(AccessError, match="length should longer than 6"):
        kept.keeper.put_account(PlainAccessConfig("abc", "a-secret"))
    with pytest.raises(AccessError, match=r"netaddress is 1\.2"):
        kept.keeper.put_account(PlainAccessConfig("account-2", "a-secret", "1.2"))
    with pytest.raises(AccessError, match=r"netaddress is 1\.2\.3"):
        kept.keeper.put_addresses(["1.2.3"], "")
    assert kept.worker.waiting == 0


def test_white_addresses_are_put_into_known_files_only(kept: Kept) -> None:
    assert kept.outcome(kept.keeper.put_addresses(["10.0.0.1", "10.0.1.*"], "")) == ""
    assert kept.keeper.rules.is_white("10.0.1.7")
    assert kept.outcome(kept.keeper.put_addresses([], MAIN)) == ""
    assert not kept.keeper.rules.is_white("10.0.1.7")
    for path in ("/rmq/conf/acl/none.yml", "/rmq/conf/../../etc/passwd", "/etc/passwd"):
        assert kept.keeper.put_addresses(["*"], path) is None


def test_all_values_in_force_are_reported_with_versions(kept: Kept) -> None:
    other = "/rmq/conf/acl/other.yml"
    kept.write(
        TWO + b"globalWhiteRemoteAddresses: ['*']\n" + b"dataVersion: [{counter: 7, timestamp: 9}]\n", other
    )
    kept.write(b"accounts: [{accessKey: account-2, secretKey: not-this-one}]\n")
    kept.look()
    result = kept.keeper.config()
    assert result.global_white_addrs == ["*"]
    assert [(one.access_key, one.secret_key) for one in result.plain_access_configs] == [
        ("account-2", "secret-2")
    ]
    first, every = kept.keeper.versions()
    assert first == every[MAIN] == AclDataVersion(0, kept.clock.millis())
    assert every[other] == AclDataVersion(7, 9)
    assert Kept(None).keeper.versions() == (AclDataVersion(0, ManualClock().millis()), {})


def test_key_that_is_in_two_files_is_reported(kept: Kept, caplog: pytest.LogCaptureFixture) -> None:
    kept.write(ONE, "/rmq/conf/acl/other.yml")
    kept.look()
    assert f"{MAIN}: accessKey account-1 is in /rmq/conf/acl/other.yml already" in caplog.text
