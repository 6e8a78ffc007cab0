"""Servers with access control (ACL 2.0), and the normal user in whose name loads sign."""

import json
from collections.abc import Mapping
from pathlib import Path

from compat_tests.support.processes import wait_until
from compat_tests.support.raw import RawConnection
from compat_tests.support.servers import BROKER_NAME, START_SECONDS, Server
from mqgateway.gateway.access.signature import Credentials
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand

ROOT, LOAD = Credentials("root", "root-secret"), Credentials("load", "load-secret")

_LOCAL = "org.apache.rocketmq.auth.{0}.provider.Local{1}MetadataProvider"
ACCESS = (
    ("authenticationEnabled", "true"),
    ("authenticationMetadataProvider", _LOCAL.format("authentication", "Authentication")),
    ("authorizationEnabled", "true"),
    ("authorizationMetadataProvider", _LOCAL.format("authorization", "Authorization")),
    ("initAuthenticationUser", json.dumps({"username": ROOT.access_key, "password": ROOT.secret_key})),
    ("innerClientAuthenticationCredentials", '{"accessKey":"inner","secretKey":"inner-secret"}'),
)
POLICY = {
    "policyType": "Custom",
    "entries": [{"resource": "Topic:*", "actions": ["Pub", "Sub", "Get"], "decision": "Allow"}],
}


class GuardedServer(Server):
    """A server that authenticates its clients; its name server does too if it is ours."""

    def __init__(self, kind: str, work: Path, *, production: bool = False) -> None:
        super().__init__(kind, work, dict(ACCESS), production=production)

    def start(self) -> "GuardedServer":
        """Start the server and create the user of the loads. Raises `RuntimeError` if the broker refuses."""
        super().start()
        for command in making_the_load():
            with RawConnection(self.broker_address) as connection:
                answer = connection.ask(command.code, command.ext_fields, command.body)
            if answer is None or answer.code:
                raise RuntimeError(f"the {self.kind} broker would not make {LOAD.access_key}: {answer}")
        return self

    def wait_until_registered(self) -> None:
        """Wait until the name server, queried as a super user, lists the broker."""

        def knows() -> bool:
            command = signed(RequestCode.GET_BROKER_CLUSTER_INFO, {})
            with RawConnection(self.namesrv_address) as connection:
                answer = connection.ask(command.code, command.ext_fields)
            return answer is not None and BROKER_NAME.encode() in answer.body

        wait_until(knows, START_SECONDS, f"{BROKER_NAME} registered")


def signed(code: int, fields: Mapping[str, str], body: bytes = b"") -> RemotingCommand:
    """Return a request that the super user has signed."""
    command = RemotingCommand(code, ext_fields=dict(fields), body=body)
    ROOT.sign(command)
    return command


def making_the_load() -> list[RemotingCommand]:
    """Return the requests that create the user of the loads and its policy."""
    name, subject = LOAD.access_key, f"User:{LOAD.access_key}"
    user, policies = {"password": LOAD.secret_key}, {"subject": subject, "policies": [POLICY]}
    return [
        signed(RequestCode.AUTH_CREATE_USER, {"username": name}, json.dumps(user).encode()),
        signed(RequestCode.AUTH_CREATE_ACL, {"subject": subject}, json.dumps(policies).encode()),
    ]


def as_load() -> list[str]:
    """Return the JVM properties that make a load sign its requests."""
    return [f"-Dbench.accessKey={LOAD.access_key}", f"-Dbench.secretKey={LOAD.secret_key}"]
