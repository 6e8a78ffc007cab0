"""Credentials of SCRAM: the keys of the RFCs, and their form in files."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from mqgateway.engine.errors import ConfigError
from mqgateway.gateway.access.scram import SCRAM_MECHANISMS, ScramCredential
from mqgateway.gateway.access.users import User

SHA_256 = SCRAM_MECHANISMS["SCRAM-SHA-256"]
SALT = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
CREDENTIAL = SHA_256.credential(SHA_256.salted("pencil", SALT, 4096), SALT, 4096)


def test_keys_are_those_of_rfc_7677() -> None:
    signed = (
        b"n=user,r=rOprNGfwEbeRWgbNEkqO,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
        b"s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    )
    signature = SHA_256.hmac(CREDENTIAL.server_key, signed)
    assert base64.b64encode(signature) == b"6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def test_credential_survives_a_file_and_is_not_shown() -> None:
    user = User("alice", "secret", scram=(CREDENTIAL,))
    assert User.from_json(user.to_json()) == user
    assert user.scram_credential("SCRAM-SHA-256") == CREDENTIAL
    assert user.scram_credential("SCRAM-SHA-512") is None
    assert "scramCredentials" not in User("alice", "secret").to_json()
    assert "scram" not in repr(user) and "stored_key" not in repr(CREDENTIAL)


@pytest.mark.parametrize(
    ("name", "value"), [("mechanism", "PLAIN"), ("salt", "*"), ("iterations", "many"), ("storedKey", None)]
)
def test_credential_of_a_file_that_cannot_be_read_is_an_error(name: str, value: Any) -> None:
    with pytest.raises(ConfigError):
        ScramCredential.from_json({**CREDENTIAL.to_json(), name: value})
