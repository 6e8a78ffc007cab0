"""Secrets in files: only the key that encrypted them decrypts them."""

from __future__ import annotations

import base64

import pytest

from mqgateway.engine.errors import ConfigError
from mqgateway.gateway.access.sealing import Seal

KEY = base64.b64encode(bytes(range(200, 232))).decode()
OTHER = base64.b64encode(bytes(32)).decode()


@pytest.mark.parametrize("secret", ["secret", "schlüssel", "", "\ud800"])
def test_encrypted_secret_is_decrypted(secret: str) -> None:
    closed = Seal(KEY).close(secret)
    assert secret not in closed or not secret
    assert Seal(KEY + "\n").open(closed) == secret


def test_key_accepts_both_base64_alphabets() -> None:
    assert "/" in KEY or "+" in KEY
    assert Seal(KEY.replace("+", "-").replace("/", "_")).open(Seal(KEY).close("x")) == "x"


@pytest.mark.parametrize("sealed", ["", "nonsense", "\xff"])
def test_other_key_is_refused(sealed: str) -> None:
    with pytest.raises(ConfigError, match="another key"):
        Seal(OTHER).open(sealed or Seal(KEY).close("secret"))


@pytest.mark.parametrize("key", ["", "short", "not base64 at all!", base64.b64encode(bytes(31)).decode()])
def test_invalid_key_is_refused_without_revealing_it(key: str) -> None:
    with pytest.raises(ConfigError, match="openssl rand") as raised:
        Seal(key)
    assert not key or key not in str(raised.value)
