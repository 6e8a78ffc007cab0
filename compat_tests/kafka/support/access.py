"""Servers of both kinds with access control: the same users, who sign in by SASL PLAIN."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from compat_tests.kafka.support.commands import Commands, Output
from compat_tests.kafka.support.servers import KafkaServer
from compat_tests.kafka.support.wire import Connection
from mqgateway.engine.clock import SystemClock
from mqgateway.engine.real_disk import RealDisk
from mqgateway.gateway.access.tables import AccessTables
from mqgateway.gateway.access.users import User, UserType

ADMIN = "admin"
USERS = (ADMIN, "stranger", "reader", "writer", "owner", "manager", "denied")
"""The users; `admin` may do everything."""

OUR_SETTINGS = {
    "authenticationEnabled": "true",
    "authorizationEnabled": "true",
    "innerClientAuthenticationCredentials": '{"accessKey":"inner","secretKey":"inner-secret"}',
}
_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"


def secret(user: str) -> str:
    """Return the password of a user."""
    return f"{user}-secret"


def login(user: str) -> str:
    """Return the setting with which a client of Java signs in."""
    return f'{_LOGIN} username="{user}" password="{secret(user)}";'


def _apache_settings() -> dict[str, str]:
    users = " ".join(f'user_{user}="{secret(user)}"' for user in USERS)
    listener = "listener.name.plaintext.plain.sasl.jaas.config"
    return {
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        listener: f'{_LOGIN} username="{ADMIN}" password="{secret(ADMIN)}" {users};',
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": f"User:{ADMIN};User:ANONYMOUS",
    }


def guarded_server(kind: str, work: Path) -> KafkaServer:
    """Return a server with access control, which is not started."""
    if kind == "apache":
        return KafkaServer(kind, work, _apache_settings())
    server = KafkaServer(kind, work, OUR_SETTINGS)
    tables = AccessTables(RealDisk(), str(server.folder / "store" / "config"), SystemClock(), None)
    tables.users.put(
        *(User(one, secret(one), UserType.SUPER if one == ADMIN else UserType.NORMAL) for one in USERS)
    )
    tables.close()
    return server


def signed_in(address: str, user: str) -> Connection:
    """Return a connection of a user."""
    connection = Connection(address)
    handshake = connection.ask("SaslHandshake", 1, mechanism="PLAIN")
    assert handshake["error_code"] == 0, handshake
    token = f"\0{user}\0{secret(user)}".encode()
    answer = connection.ask("SaslAuthenticate", 2, auth_bytes=token)
    assert answer["error_code"] == 0, answer
    return connection


def client_file(folder: Path, user: str) -> str:
    """Return the path of a file with the settings of a client of Java.

    Args:
        folder: A folder that clients see: in Docker they see the folder of the run only.
    """
    settings: Mapping[str, str] = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": login(user),
    }
    path = folder / f"{user}.properties"
    path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    return str(path)


class AclCommands(Commands):
    """One JVM with `kafka-acls.sh` in it."""

    def run_acls(self, address: str, *arguments: str) -> Output:
        """Run `kafka-acls.sh` against a server."""
        stdin, stdout = self._process.popen.stdin, self._process.popen.stdout
        assert stdin is not None
        assert stdout is not None
        request = {
            "main": "org.apache.kafka.tools.AclCommand",
            "arguments": ["--bootstrap-server", address, *arguments],
            "input": "",
        }
        stdin.write(json.dumps(request).encode() + b"\n")
        stdin.flush()
        return Output(**json.loads(stdout.readline()))
