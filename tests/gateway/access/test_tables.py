"""Users and policies survive a restart; secrets are encrypted with a key."""

from __future__ import annotations

import json

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.gateway.access.encryption import SecretCipher
from mqgateway.gateway.access.policies import (
    EVERYTHING,
    Acl,
    Action,
    Decision,
    Policy,
    PolicyEntry,
    PolicyType,
)
from mqgateway.gateway.access.tables import AccessTables, take_over
from mqgateway.gateway.access.users import User
from tests.gateway.access.test_encryption import KEY, OTHER

FOLDER = "/store/config"
ALICE = User("alice", "her secret")
ACL = Acl("alice", {PolicyType.CUSTOM: Policy([PolicyEntry(EVERYTHING, (Action.ALL,), Decision.ALLOW)])})


def tables(disk: CrashDisk, key: str = "", own: User | None = None) -> AccessTables:
    cipher = SecretCipher(key) if key else None
    made = AccessTables(disk, FOLDER, ManualClock(1_700_000_000_000), None, cipher, own)
    made.load()
    return made


def all_text(disk: CrashDisk) -> str:
    return "".join(disk.read_bytes(f"{FOLDER}/{name}").decode("latin1") for name in disk.listdir(FOLDER))


def test_users_and_policies_survive_restart() -> None:
    disk = CrashDisk()
    made = tables(disk)
    made.users.put(ALICE)
    made.acls.put(ACL)
    again = tables(disk)
    assert again.users.get("alice") == ALICE and again.acl_of("alice") == ACL
    assert again.acl_of("bob") is None
    made.close()
    assert (
        json.loads(disk.read_bytes(f"{FOLDER}/users.json"))["userTable"]["alice"]["password"] == "her secret"
    )
    assert (
        json.loads(disk.read_bytes(f"{FOLDER}/acls.json"))["aclTable"]["User:alice"]["subject"]
        == "User:alice"
    )


def test_secrets_are_encrypted_with_key() -> None:
    disk = CrashDisk()
    made = tables(disk, KEY)
    made.users.put(ALICE)
    made.users.put(User("bob", "his secret"))
    made.close()
    assert "encryptedPassword" in all_text(disk) and "secret" not in all_text(disk)
    assert tables(disk, KEY).users.get("bob") == User("bob", "his secret")


def test_plain_secrets_are_encrypted_once_key_is_set() -> None:
    disk = CrashDisk()
    made = tables(disk)
    made.users.put(ALICE)
    made.close()
    again = tables(disk, KEY)
    again.close()
    assert "her secret" not in all_text(disk)
    assert tables(disk, KEY).users.get("alice") == ALICE


def test_encrypted_secrets_require_their_key() -> None:
    disk = CrashDisk()
    made = tables(disk, KEY)
    made.users.put(ALICE)
    made.close()
    with pytest.raises(ConfigError, match="authKeyFile is needed"):
        tables(disk)
    with pytest.raises(ConfigError, match="another key"):
        tables(disk, OTHER)
    assert tables(disk, KEY).users.get("alice") == ALICE


def test_failed_write_is_retried() -> None:
    disk = CrashDisk()
    made = tables(disk)
    disk.fail_next("write", "users.json", times=3)
    made.users.put(ALICE)
    made.retry()
    made.close()
    assert tables(disk).users.get("alice") == ALICE


def test_unknown_members_of_newer_file_are_kept() -> None:
    disk = CrashDisk()
    made = tables(disk)
    made.users.put(ALICE)
    made.close()
    text = disk.read_bytes(f"{FOLDER}/users.json").replace(b'"username"', b'"since":5,"username"')
    file = disk.open(f"{FOLDER}/users.json")
    file.truncate(0)
    file.write(0, text)
    again = tables(disk)
    again.users.put(User("alice", "new"))
    again.close()
    assert b'"since":5' in disk.read_bytes(f"{FOLDER}/users.json")


def test_different_list_of_apache_master_is_adopted() -> None:
    made = tables(CrashDisk())
    made.users.put(User("bob", "gone"))
    document = json.dumps([ALICE.to_json()]).encode()
    take_over(made.users, document)
    assert list(made.users.all()) == [ALICE]
    before = made.users.data_version.counter
    take_over(made.users, document)
    assert made.users.data_version.counter == before
    take_over(made.acls, json.dumps([ACL.to_json()]).encode())
    assert made.acl_of("alice") == ACL


@pytest.mark.parametrize(
    "document", [b"{", b'[{"username":"alice"}]', b"[1]", b'{"userTable":{"a":{}}}', b"7"]
)
def test_malformed_table_changes_nothing(document: bytes) -> None:
    made = tables(CrashDisk())
    made.users.put(ALICE)
    with pytest.raises((ConfigError, ValueError, TypeError, AttributeError)):
        take_over(made.users, document)
    assert list(made.users.all()) == [ALICE]


def test_own_user_of_process_is_not_stored_or_listed() -> None:
    disk = CrashDisk()
    own = User("serve-1", "unknown")
    made = tables(disk, own=own)
    assert made.users.get("serve-1") == own and "serve-1" in made.users
    made.users.put(ALICE)
    assert list(made.users.all()) == [ALICE]
    made.close()
    assert "serve-1" not in all_text(disk)
