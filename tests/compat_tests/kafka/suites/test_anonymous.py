"""Clients without authentication at a server with access control."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from compat_tests.kafka.suites.anonymous import USER, AnonymousSession
from compat_tests.kafka.suites.servers import Clusters
from mqgateway.gateway.broker.operations import ClientConnection
from mqgateway.gateway.kafka.sasl.authentication import Authentication


def test_session_begins_authenticated() -> None:
    terms = cast(Authentication, SimpleNamespace(request_limit=1000))
    session = AnonymousSession(terms, cast(ClientConnection, None))
    assert session.user == USER
    assert session.size_limits[1] == 1000


def test_server_with_an_authorizer_has_access_control() -> None:
    clusters = Clusters()
    settings = "authorizer.class.name=x", "security.protocol=PLAINTEXT"
    number, _ = clusters.answer("start", "1", *settings).split()
    assert clusters.answer("stop", number) == "done"
