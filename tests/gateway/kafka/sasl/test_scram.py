"""Messages of SCRAM."""

from __future__ import annotations

import base64

import pytest

from mqgateway.gateway.access.scram import SCRAM_MECHANISMS
from mqgateway.gateway.kafka.sasl.scram import (
    is_proved,
    read_client_final,
    read_client_first,
    server_final,
    server_first,
)

SHA_256 = SCRAM_MECHANISMS["SCRAM-SHA-256"]
SALT = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
CREDENTIAL = SHA_256.credential(SHA_256.salted("pencil", SALT, 4096), SALT, 4096)
NONCE = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"


def test_the_example_of_rfc_7677() -> None:
    first = read_client_first(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO")
    assert first == ("user", "", "rOprNGfwEbeRWgbNEkqO", b"n,,", "n=user,r=rOprNGfwEbeRWgbNEkqO", False)
    answer = server_first(NONCE, CREDENTIAL)
    assert answer == f"r={NONCE},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    proof = "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    final = read_client_final(f"c=biws,r={NONCE},p={proof}".encode())
    assert final is not None and final.binding == b"n,," and final.nonce == NONCE
    signed = f"{first.bare},{answer},{final.unproved}"
    assert is_proved(SHA_256, CREDENTIAL, signed, final.proof)
    assert not is_proved(SHA_256, CREDENTIAL, signed + " ", final.proof)
    assert not is_proved(SHA_256, CREDENTIAL, signed, final.proof[1:])
    assert server_final(SHA_256, CREDENTIAL, signed) == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def test_names_are_unescaped_and_extensions_ignored() -> None:
    first = read_client_first("n,a=b=2Cc,n=b=2Cc=3D,r=x,tokenauth=false,z=ü".encode())
    assert first is not None
    assert (first.user, first.authorization_id, first.binding) == ("b,c=", "b,c", b"n,a=b=2Cc,")
    assert not first.has_token


@pytest.mark.parametrize("extensions", [b",tokenauth=true", b",z=1,tokenauth=TRUE,y=2"])
def test_first_message_may_name_a_delegation_token(extensions: bytes) -> None:
    first = read_client_first(b"n,,n=id,r=x" + extensions)
    assert first is not None and first.has_token


@pytest.mark.parametrize(
    "token",
    [b"", b"n,,n=,r=x", b"n,,n=a=b,r=x", b"n,,n=a", b"y,,n=a,r=x", b"p=tls-unique,,n=a,r=x", b"n,,n=a,r=x y"],
)
def test_first_message_that_cannot_be_read_is_none(token: bytes) -> None:
    assert read_client_first(token) is None


@pytest.mark.parametrize("token", [b"", b"c=biws,r=x", b"c=biws,r=x,p=a", b"c=*,r=x,p=AAAA", b"r=x,p=AAAA"])
def test_final_message_that_cannot_be_read_is_none(token: bytes) -> None:
    assert read_client_final(token) is None
