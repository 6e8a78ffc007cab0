"""Secrets in files: only the key that encrypted them decrypts them."""

from __future__ import annotations

import base64

import pytest

from mqgateway.engine.errors import ConfigError
from mqgateway.gateway.access.encryption import SecretCipher

KEY = base64.b64encode(bytes(range(200, 232))).decode()
OTHER = base64.b64encode(bytes(32)).decode()


@pytest.mark.parametrize("secret", ["secret", "schlüssel", "", "\ud800"])
def test_encrypted_secret_is_decrypted(secret: str) -> None:
    closed = SecretCipher(KEY).encrypt(secret)
    assert secret not in closed or not secret
    assert SecretCipher(KEY + "\n").decrypt(closed) == secret


def test_key_accepts_both_base64_alphabets() -> None:
    assert "/" in KEY or "+" in KEY
    assert (
        SecretCipher(KEY.replace("+", "-").replace("/", "_")).decrypt(SecretCipher(KEY).encrypt("x")) == "x"
    )


@pytest.mark.parametrize("encrypted", ["", "nonsense", "\xff"])
def test_other_key_is_refused(encrypted: str) -> None:
    with pytest.raises(ConfigError, match="another key"):
        SecretCipher(OTHER).decrypt(encrypted or SecretCipher(KEY).encrypt("secret"))


@pytest.mark.parametrize("key", ["", "short", "not base64 at all!", base64.b64encode(bytes(31)).decode()])
def test_invalid_key_is_refused_without_revealing_it(key: str) -> None:
    with pytest.raises(ConfigError, match="openssl rand") as raised:
        SecretCipher(key)
    assert not key or key not in str(raised.value)
