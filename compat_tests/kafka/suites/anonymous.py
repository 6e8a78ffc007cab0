"""Access control for Kafka clients that do not authenticate themselves: they are the super user ANONYMOUS.

Kafka's own tests of its authorizer run so. This server demands authentication where rights are checked.
"""

from __future__ import annotations

import json
from typing import Final
from unittest.mock import patch

from mqgateway.gateway.broker.operations import ClientConnection
from mqgateway.gateway.kafka.sasl import session
from mqgateway.gateway.kafka.sasl.authentication import Authentication

USER: Final = "ANONYMOUS"
SETTINGS: Final = {
    "authenticationEnabled": "true",
    "authorizationEnabled": "true",
    "initAuthenticationUser": json.dumps({"username": USER, "password": "of no client"}),
}
"""Settings of a server with access control and this user."""


class AnonymousSession(session.SaslSession):
    """A session of a connection that stands for the user, as one with a certificate does."""

    def __init__(self, terms: Authentication, connection: ClientConnection) -> None:
        super().__init__(terms, connection)
        terms.user_of = lambda _: USER
        self.secured(None)


def admit() -> None:
    """Give such sessions to the connections of all servers of the process that demand authentication."""
    patch.object(session, "SaslSession", AnonymousSession).start()
