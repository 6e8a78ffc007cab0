"""Requests are signed as the official client signs them."""

from __future__ import annotations

import pytest

from mqgateway.gateway.client.signing import Credentials
from mqgateway.gateway.codec.command import RemotingCommand
from tests.support.gateway.client.answers import JAVA


@pytest.mark.parametrize("answer", JAVA["signatures"], ids=lambda one: f"{one['token']}/{one['body']}")
def test_the_official_clients_signature(answer: dict[str, dict[str, str]]) -> None:
    command = RemotingCommand(310, ext_fields=dict(answer["fields"]), body=str(answer["body"]).encode())
    Credentials("access", "a secret key", str(answer["token"])).sign(command)
    assert command.ext_fields == answer["signed"]


def test_a_signature_is_made_anew_when_signed_again() -> None:
    command = RemotingCommand(310, ext_fields={"topic": "T"}, body=b"x")
    credentials = Credentials("a", "s")
    credentials.sign(command)
    first = command.ext_fields["Signature"]
    credentials.sign(command)
    assert command.ext_fields["Signature"] == first


def test_secrets_are_not_shown() -> None:
    assert "hidden" not in repr(Credentials("name", "hidden", "hidden"))
