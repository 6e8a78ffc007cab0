"""The access control of a server that is no broker: none, its own, or that of another server."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options.namesrv import NamesrvOptions
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.worker import InlineWorker
from mqgateway.gateway.access.server_access import ServerAccess
from mqgateway.gateway.access.server_needs import OF_NAME_SERVER
from mqgateway.gateway.access.tables import AccessTables
from mqgateway.gateway.codec.codes import RequestCode
from tests.gateway.access.test_control import waits

USER = '{"username":"root","password":"secret"}'
SIGNER = '{"accessKey":"inner","secretKey":"secret"}'
TABLE = {RequestCode.GET_KV_CONFIG: lambda context, call: None}


def access(disk: CrashDisk, shared: AccessTables | None = None, **options: Any) -> ServerAccess:
    return ServerAccess(
        NamesrvOptions(**options),
        OF_NAME_SERVER,
        disk=disk,
        folder="/ns",
        clock=ManualClock(),
        worker=InlineWorker(),
        pause=waits,
        shared=shared,
    )


def test_without_authentication_there_are_no_users() -> None:
    disk = CrashDisk()
    none = access(disk)
    assert (none.control, none.administration, none.tables, none.sign, none.hooks) == (None,) * 4 + ([],)
    assert set(none.requests(TABLE)) == set(TABLE)
    none.retry()
    none.close()
    assert not disk.exists("/ns/users.json")


def test_with_authentication_users_are_kept_in_the_folder() -> None:
    disk = CrashDisk()
    own = access(disk, authentication_enabled=True, init_authentication_user=USER)
    assert own.hooks == [own.control] and own.administration is not None
    assert RequestCode.AUTH_LIST_USER in own.requests(TABLE)
    own.retry()
    own.close()
    again = access(disk, authentication_enabled=True)
    assert again.tables is not None and "root" in again.tables.users


def test_shared_users_are_those_of_another_server() -> None:
    first = access(CrashDisk(), authentication_enabled=True, init_authentication_user=USER)
    disk = CrashDisk()
    second = access(disk, first.tables, authentication_enabled=True)
    assert second.tables is first.tables
    assert not disk.exists("/ns/users.json")


def test_requests_to_others_are_signed_even_without_authentication() -> None:
    assert access(CrashDisk(), inner_client_authentication_credentials=SIGNER).sign is not None


def test_contradictory_settings_are_refused() -> None:
    with pytest.raises(ConfigError, match="authenticationEnabled"):
        access(CrashDisk(), authorization_enabled=True)
