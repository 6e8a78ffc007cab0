"""Storage of users and policies in two files.

`users.json` has the secrets in clear text, because signatures are verified with them, or encrypted if a key
is configured. Only its owner may read the file. RocketMQ: `LocalAuthenticationMetadataProvider`,
`LocalAuthorizationMetadataProvider`, which store the same objects in RocksDB.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from mqgateway.engine import lenient_json
from mqgateway.engine.clock import Clock
from mqgateway.engine.disk import Disk
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.tables.config_table import VERSION, ConfigTable, StoredTable
from mqgateway.engine.tables.data_version import DataVersion
from mqgateway.engine.worker import Worker
from mqgateway.gateway.access.bindings import EVERYONE
from mqgateway.gateway.access.encryption import SecretCipher
from mqgateway.gateway.access.policies import Acl
from mqgateway.gateway.access.users import User, subject_of

AS_TABLE = "asTable"
"""Field of a slave's requests 3005 and 3010: the version of its own table, in JSON.

This project's brokers answer with the whole table, or with nothing if it is current. RocketMQ's ignore the
field and return a list.
"""
_EVERYONE = subject_of(EVERYONE)
PASSWORD = "password"
ENCRYPTED_PASSWORD = "encryptedPassword"


class UserTable(ConfigTable[User]):
    """Users by name.

    `own` is the user of the servers of this process among themselves, if none is configured; never written.
    """

    entry = User
    member = "userTable"

    def __init__(
        self,
        disk: Disk,
        path: str,
        clock: Clock,
        worker: Worker | None,
        cipher: SecretCipher | None,
        own: User | None = None,
    ) -> None:
        super().__init__(disk, path, clock, worker, ())
        self._cipher = cipher
        self._own = own
        self._has_open_secrets = False

    def _implied(self, name: str) -> User | None:
        own = self._own
        return own if own is not None and own.username == name else None

    def load(self) -> None:
        """Load the file. Raises `ConfigError`, also for a missing or wrong key."""
        super().load()
        if self._has_open_secrets and self._cipher is not None:
            # Write twice: once for the file, once for its backup, which is the previous file.
            self._changed_all()
            self._changed_all()

    def _read(self, value: Mapping[str, Any]) -> User:
        encrypted = value.get(ENCRYPTED_PASSWORD)
        if encrypted is None:
            self._has_open_secrets = True
            return super()._read(value)
        if self._cipher is None:
            raise ConfigError("users.json has encrypted passwords: authKey or authKeyFile is needed")
        return super()._read({**value, PASSWORD: self._cipher.decrypt(str(encrypted))})

    def _shape(self, name: str, config: User) -> dict[str, Any]:
        shape = super()._shape(name, config)
        shape.pop(ENCRYPTED_PASSWORD, None)
        if self._cipher is not None:
            shape[ENCRYPTED_PASSWORD] = self._cipher.encrypt(shape.pop(PASSWORD))
        return shape


class AclTable(StoredTable[Acl]):
    """Policies by subject."""

    entry = Acl
    member = "aclTable"


def take_over(table: UserTable | AclTable, body: bytes) -> None:
    """Replace a slave's table with the master's answer: a table, or a list of its entries.

    Raises `ConfigError` or `ValueError`, and then changes nothing.
    """
    reported = lenient_json.loads(body)
    if isinstance(reported, list):
        entries = [table.entry.from_json(value) for value in reported]
        if {entry.key: entry for entry in entries} == {entry.key: entry for entry in table.all()}:
            return
        version = table.data_version
        newer = DataVersion(version.counter + 1, version.state_version, version.timestamp)
        reported = {
            VERSION: newer.to_json(),
            table.member: {entry.key: entry.to_json() for entry in entries},
        }
    table.adopt(reported)


class AccessTables:
    """Both tables in one folder. Call `load` first. `own` is that of `UserTable`."""

    def __init__(
        self,
        disk: Disk,
        folder: str,
        clock: Clock,
        worker: Worker | None,
        cipher: SecretCipher | None = None,
        own: User | None = None,
    ) -> None:
        self.users = UserTable(disk, os.path.join(folder, "users.json"), clock, worker, cipher, own)
        self.acls = AclTable(disk, os.path.join(folder, "acls.json"), clock, worker)

    def acl_of(self, username: str) -> Acl | None:
        """Return the policies of a user."""
        return self.acls.get(subject_of(username))

    def acl_of_everyone(self) -> Acl | None:
        """Return the policies that have bindings for all users."""
        return self.acls.get(_EVERYONE)

    def load(self) -> None:
        """Load both files. Raises `ConfigError`."""
        self.users.load()
        self.acls.load()

    def retry(self) -> None:
        """Write pending changes if a retry is due; for a slow periodic task."""
        self.users.retry()
        self.acls.retry()

    def close(self) -> None:
        """Write pending changes now, synchronously."""
        self.users.close()
        self.acls.close()
