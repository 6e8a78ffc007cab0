"""Key sets: which keys are taken, and for which algorithms."""

from __future__ import annotations

import json
from typing import Any

import pytest
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, HMACAlgorithm, OKPAlgorithm, RSAAlgorithm

from mqgateway.gateway.kafka.sasl.key_set import InvalidKeySet, KeySet
from tests.support.gateway.kafka.access_tokens import IdentityProvider

PROVIDER = IdentityProvider()


def key_set(*entries: Any) -> KeySet:
    """Return the keys of a document with these entries."""
    return KeySet.parse(json.dumps({"keys": list(entries)}).encode())


def rsa_entry(bits: int) -> dict[str, Any]:
    """Return an entry with an RSA key."""
    key = rsa.generate_private_key(65537, bits).public_key()
    return {"kid": "rsa", **RSAAlgorithm.to_jwk(key, as_dict=True)}


def test_key_verifies_the_algorithms_of_its_type_only() -> None:
    edwards = OKPAlgorithm.to_jwk(ed25519.Ed25519PrivateKey.generate().public_key(), as_dict=True)
    wide = ECAlgorithm.to_jwk(ec.generate_private_key(ec.SECP384R1()).public_key(), as_dict=True)
    keys = key_set(PROVIDER.entry(), {"kid": "e", **edwards}, {"kid": "w", **wide}, rsa_entry(2048))
    found = {
        (key_id, algorithm)
        for key_id in ("first", "e", "w", "rsa")
        for algorithm in ("ES256", "ES384", "EdDSA", "RS256", "PS512", "HS256", "none")
        if keys.find(key_id, algorithm) is not None
    }
    assert found == {
        *(("first", "ES256"), ("e", "EdDSA"), ("w", "ES384")),
        *(("rsa", "RS256"), ("rsa", "PS512")),
    }


@pytest.mark.parametrize(
    "entry",
    [
        PROVIDER.entry(use="enc"),
        PROVIDER.entry(key_ops=["sign"]),
        PROVIDER.entry(key_ops=7),
        PROVIDER.entry(alg="HS256"),
        PROVIDER.entry(alg="ES384"),
        PROVIDER.entry(crv="P-999"),
        PROVIDER.entry(crv=["P-256"]),
        PROVIDER.entry(kty="RSA"),
        PROVIDER.entry(kty=["EC"]),
        PROVIDER.entry(x="!"),
        PROVIDER.entry(x=7),
        PROVIDER.entry(kid=7),
        PROVIDER.entry(d="AQ"),
        {"kid": "secret", **HMACAlgorithm.to_jwk("a secret of many bytes, shared", as_dict=True)},
        {"kty": "EC"},
        {},
        7,
        None,
    ],
)
def test_key_that_cannot_verify_a_signature_is_left_out(entry: Any) -> None:
    keys = key_set(entry, IdentityProvider("other").entry())
    assert len(keys) == 1 and keys.find("other", "ES256") is not None


def test_key_of_a_kind_that_this_machine_does_not_support_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(data: bytes) -> Any:
        raise UnsupportedAlgorithm("ed25519 is not supported by this version of OpenSSL")

    edwards = OKPAlgorithm.to_jwk(ed25519.Ed25519PrivateKey.generate().public_key(), as_dict=True)
    monkeypatch.setattr(ed25519.Ed25519PublicKey, "from_public_bytes", refuse)
    keys = key_set({"kid": "e", **edwards}, PROVIDER.entry())
    assert len(keys) == 1 and keys.find("first", "ES256") is not None


def test_short_rsa_key_is_left_out() -> None:
    assert not key_set(rsa_entry(1024))


def test_token_without_key_id_is_verified_by_the_only_key_of_its_algorithm() -> None:
    other = IdentityProvider("other").entry()
    assert key_set(PROVIDER.entry()).find(None, "ES256") is not None
    assert key_set(PROVIDER.entry(), other).find(None, "ES256") is None


@pytest.mark.parametrize("document", [b"", b"[]", b"{}", b'{"keys": 1}', b"\xff", b"[" * 100_000])
def test_document_that_is_no_key_set_is_refused(document: bytes) -> None:
    with pytest.raises(InvalidKeySet):
        KeySet.parse(document)
