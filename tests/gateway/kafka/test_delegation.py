"""Delegation tokens by settings."""

from __future__ import annotations

from mqgateway.gateway.kafka.delegation import delegation_tokens
from tests.gateway.kafka.api.test_metadata import ACCESS
from tests.support.gateway.kafka.broker import KafkaBroker
from tests.support.gateway.kafka.client import kafka_scene


def test_tokens_need_a_secret_key_and_users() -> None:
    assert (
        delegation_tokens(KafkaBroker(options={"kafka_delegation_token_secret_key": "key"}).operations)
        is None
    )
    with kafka_scene(**ACCESS) as scene:
        assert delegation_tokens(scene.operations) is None
    with kafka_scene(**ACCESS, kafka_delegation_token_secret_key="key") as scene:
        tokens = delegation_tokens(scene.operations)
        assert tokens is not None and tokens.is_enabled
