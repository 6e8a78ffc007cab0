"""Secrets in files: only the key that closed them opens them."""

from __future__ import annotations

import base64

import pytest

from mqgateway.engine.errors import ConfigError
from mqgateway.gateway.access.sealing import Seal

KEY = base64.b64encode(bytes(range(200, 232))).decode()
OTHER = base64.b64encode(bytes(32)).decode()


@pytest.mark.parametrize("secret", ["secret", "schlüssel", "", "\ud800"])
def test_what_was_closed_is_opened(secret: str) -> None:
    closed = Seal(KEY).close(secret)
    assert secret not in closed or not secret
    assert Seal(KEY + "\n").open(closed) == secret


def test_either_kind_of_base64_is_a_key() -> None:
    assert "/" in KEY or "+" in KEY
    assert Seal(KEY.replace("+", "-").replace("/", "_")).open(Seal(KEY).close("x")) == "x"


@pytest.mark.parametrize("sealed", ["", "nonsense", "\xff"])
def test_another_key_opens_nothing(sealed: str) -> None:
    with pytest.raises(ConfigError, match="another key"):
        Seal(OTHER).open(sealed or Seal(KEY).close("secret"))


@pytest.mark.parametrize("key", ["", "short", "not base64 at all!", base64.b64encode(bytes(31)).decode()])
def test_what_is_no_key(key: str) -> None:
    with pytest.raises(ConfigError, match="openssl rand") as raised:
        Seal(key)
    assert not key or key not in str(raised.value)
