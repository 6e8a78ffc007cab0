"""A delegation token in files."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.engine.errors import ConfigError
from mqgateway.gateway.access.delegation_token import DelegationToken

TOKEN = DelegationToken("id", "bob", ("carol",), 1000, 2000, 3000)


def test_token_is_read_as_it_was_written() -> None:
    assert DelegationToken.from_json(TOKEN.to_json()) == TOKEN


def test_token_is_expired_after_its_time() -> None:
    assert [TOKEN.is_expired(now) for now in (2000, 2001)] == [False, True]


@pytest.mark.parametrize("value", [{}, {"tokenId": "t"}, 7, {"tokenId": "t", "issueTimestamp": "x"}])
def test_token_that_cannot_be_read_is_refused(value: Any) -> None:
    with pytest.raises(ConfigError):
        DelegationToken.from_json(value)
