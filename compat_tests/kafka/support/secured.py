"""Servers that authenticate their clients by SASL, and clients that do so.

Both servers have the super user `root`, and end sessions after some seconds.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from compat_tests.kafka.support.builds import python_of_the_clients
from compat_tests.kafka.support.servers import KafkaServer
from compat_tests.support.servers import Part, Settings

ROOT, ROOT_PASSWORD = "root", "root-secret"
SESSION_MILLIS = 4000
PROTOCOL = "SASL_PLAINTEXT"
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
CLIENT_SECONDS = 180
PROGRAM = Path(__file__).parents[1] / "secured" / "client.py"

_LISTENER = "listener.name.sasl_plaintext"
_SECURITY = "org.apache.kafka.common.security"
_LOGIN = f'username="{ROOT}" password="{ROOT_PASSWORD}"'
APACHE_SETTINGS = {
    "inter.broker.listener.name": PROTOCOL,
    "listener.security.protocol.map": f"CONTROLLER:PLAINTEXT,{PROTOCOL}:{PROTOCOL}",
    "sasl.enabled.mechanisms": ",".join(MECHANISMS),
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    f"{_LISTENER}.plain.sasl.jaas.config": f"{_SECURITY}.plain.PlainLoginModule required {_LOGIN} "
    f'user_{ROOT}="{ROOT_PASSWORD}";',
    **{
        f"{_LISTENER}.scram-sha-{size}.sasl.jaas.config": f"{_SECURITY}.scram.ScramLoginModule required;"
        for size in (256, 512)
    },
    "connections.max.reauth.ms": str(SESSION_MILLIS),
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    # The controller's own listener has no users.
    "super.users": f"User:{ROOT};User:ANONYMOUS",
}
OUR_SETTINGS = {
    "authenticationEnabled": "true",
    "authorizationEnabled": "true",
    "initAuthenticationUser": json.dumps({"username": ROOT, "password": ROOT_PASSWORD}),
    "kafkaConnectionsMaxReauthMillis": str(SESSION_MILLIS),
}


class SecuredServer(KafkaServer):
    """A server of one kind that authenticates its clients."""

    def _apache(self, settings: Settings) -> Part:
        controller = f"CONTROLLER://127.0.0.1:{self.port + 1}"
        listeners = {"listeners": f"{PROTOCOL}://{self.address},{controller}"}
        return super()._apache({**APACHE_SETTINGS, **listeners, **settings})

    def _ours(self, settings: Settings) -> Part:
        return super()._ours({**OUR_SETTINGS, **settings})


def java_properties(folder: Path, mechanism: str, user: str, password: str) -> str:
    """Write the settings of a Java client that authenticates itself; return the path."""
    module = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
    login = f'{_SECURITY}.{module} required username="{user}" password="{password}";'
    path = folder / f"{mechanism}-{user}-{password}.properties"
    path.write_text(f"security.protocol={PROTOCOL}\nsasl.mechanism={mechanism}\nsasl.jaas.config={login}\n")
    return str(path)


def run_client(
    client: str,
    bootstrap: str,
    mechanism: str,
    login: tuple[str, str],
    topic: str,
    values: Sequence[str],
    pause: float = 0.0,
) -> Mapping[str, Any]:
    """Send values with a client and read them; return `values`, or `error`."""
    user, password = login
    request = {"client": client, "bootstrap": bootstrap, "mechanism": mechanism, "topic": topic}
    request |= {"user": user, "password": password}
    text = json.dumps({**request, "values": list(values), "pause": pause})
    command = [str(python_of_the_clients()), str(PROGRAM), text]
    done = subprocess.run(command, capture_output=True, check=True, timeout=CLIENT_SECONDS)
    outcome: Mapping[str, Any] = json.loads(done.stdout)
    return outcome
