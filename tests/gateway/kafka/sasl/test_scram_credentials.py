"""Credentials that are derived, set, or pretended."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.worker import MemoryWorker
from mqgateway.gateway.access.scram import SCRAM_MECHANISMS, ScramCredential
from mqgateway.gateway.access.tables import UserTable
from mqgateway.gateway.access.users import User
from mqgateway.gateway.kafka.sasl import scram_credentials
from mqgateway.gateway.kafka.sasl.scram_credentials import ScramCredentials

SHA_256, SHA_512 = SCRAM_MECHANISMS.values()
SET = SHA_256.credential(b"salted", b"salt", 5000)


def users(*users: User) -> UserTable:
    """Return a table of users."""
    table = UserTable(CrashDisk(), "users.json", ManualClock(), None, None)
    table.put(*users)
    return table


def found(pending: Deferred[ScramCredential]) -> Any:
    """Return the credential that a Deferred has; None if it has none yet."""
    outcome: list[ScramCredential] = []
    pending.addCallback(outcome.append)
    return outcome[0] if outcome else None


def test_a_credential_is_derived_once_by_the_worker_until_the_password_changes() -> None:
    table, worker = users(User("alice", "secret")), MemoryWorker()
    credentials = ScramCredentials(table, worker)
    pending = credentials.find(SHA_256, "alice")
    assert not pending.called and worker.perform()
    first = found(pending)
    salted = SHA_256.salted("secret", first.salt, 4096)
    assert first == SHA_256.credential(salted, first.salt, 4096)
    assert found(credentials.find(SHA_256, "alice")) is first and not worker.waiting
    table.put(User("alice", "other"))
    assert found(credentials.find(SHA_256, "alice")) is None and worker.waiting == 1


def test_a_credential_that_was_set_counts_for_its_mechanism() -> None:
    credentials = ScramCredentials(users(User("alice", "secret", scram=(SET,))), None)
    assert found(credentials.find(SHA_256, "alice")) is SET
    assert found(credentials.find(SHA_512, "alice")).mechanism == "SCRAM-SHA-512"


def test_unknown_users_have_a_salt_that_stays_and_no_password() -> None:
    credentials = ScramCredentials(users(), None)
    one, two = (found(credentials.find(SHA_256, "zed")) for _ in range(2))
    other = found(credentials.find(SHA_256, "zeb"))
    assert one.salt == two.salt != other.salt and one.stored_key != two.stored_key
    assert (len(one.salt), one.iterations) == (16, 4096)


def test_no_more_derived_credentials_are_kept_than_allowed(monkeypatch: Any) -> None:
    monkeypatch.setattr(scram_credentials, "DERIVED_MAX", 1)
    credentials = ScramCredentials(users(User("a", "x"), User("b", "y")), None)
    first = found(credentials.find(SHA_256, "a"))
    found(credentials.find(SHA_256, "b"))
    assert found(credentials.find(SHA_256, "a")) is not first
