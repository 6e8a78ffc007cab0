"""Delegation tokens of a broker's users, by its settings."""

from __future__ import annotations

from mqgateway.gateway.access.delegation import DelegationTokens
from mqgateway.gateway.broker.operations import Operations


def delegation_tokens(operations: Operations) -> DelegationTokens | None:
    """Return the tokens of a broker's users; None if the settings have no secret key."""
    options, access = operations.options, operations.access
    if access is None or not options.kafka_delegation_token_secret_key:
        return None
    return DelegationTokens(
        access.tables.users,
        options.kafka_delegation_token_secret_key,
        operations.clock.millis,
        options.kafka_delegation_token_max_lifetime_millis,
        options.kafka_delegation_token_expiry_time_millis,
    )
