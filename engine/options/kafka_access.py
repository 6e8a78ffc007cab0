"""Settings of access tokens (OAUTHBEARER) and delegation tokens of Kafka clients.

Standard: `BrokerSecurityConfigs`, `DelegationTokenManagerConfigs` of Apache Kafka.
"""

from mqgateway.engine.options import checks
from mqgateway.engine.options.option import INT_MAX, LONG_MAX, Effect, option
from mqgateway.engine.options.option_set import Options


class KafkaAccessOptions(Options):
    """Access tokens: the keys that verify them, and the claims that they must have."""

    kafka_oauthbearer_jwks_url: str = option(
        "",
        "URL of the key set that verifies access tokens of Kafka clients, `https:`, `http:` or `file:` "
        "(`sasl.oauthbearer.jwks.endpoint.url`). OAUTHBEARER in kafkaSaslMechanisms needs it.",
        ours=True,
        effect=Effect.RESTART,
        check=checks.url("https", "http", "file"),
    )
    kafka_oauthbearer_jwks_refresh_millis: int = option(
        3_600_000,
        "Interval at which the key set is read again (`sasl.oauthbearer.jwks.endpoint.refresh.ms`).",
        unit="ms",
        low=1000,
        ours=True,
        effect=Effect.RESTART,
    )
    kafka_oauthbearer_expected_audience: str = option(
        "",
        "Audiences of which an access token must name one (`sasl.oauthbearer.expected.audience`), separated "
        "by commas. OAUTHBEARER needs it.",
        ours=True,
        effect=Effect.RESTART,
    )
    kafka_oauthbearer_allow_unverified_audience: bool = option(
        False,
        "Accept access tokens for any audience (`sasl.oauthbearer.allow.unverified.audience`).",
        ours=True,
        effect=Effect.RESTART,
    )
    kafka_oauthbearer_expected_issuer: str = option(
        "",
        "Issuer that an access token must name (`sasl.oauthbearer.expected.issuer`). OAUTHBEARER needs it.",
        ours=True,
        effect=Effect.RESTART,
    )
    kafka_oauthbearer_allow_unverified_issuer: bool = option(
        False,
        "Accept access tokens of any issuer that signs with a key of the key set "
        "(`sasl.oauthbearer.allow.unverified.issuer`).",
        ours=True,
        effect=Effect.RESTART,
    )
    kafka_oauthbearer_sub_claim_name: str = option(
        "sub",
        "Claim of an access token that names the user (`sasl.oauthbearer.sub.claim.name`).",
        ours=True,
        effect=Effect.RESTART,
    )
    kafka_oauthbearer_scope_claim_name: str = option(
        "scope",
        "Claim of an access token that has its scopes (`sasl.oauthbearer.scope.claim.name`).",
        ours=True,
        effect=Effect.RESTART,
    )
    kafka_oauthbearer_clock_skew_seconds: int = option(
        30,
        "Difference of the clocks of broker and identity provider that is tolerated "
        "(`sasl.oauthbearer.clock.skew.seconds`).",
        unit="s",
        high=INT_MAX,
        ours=True,
        effect=Effect.RESTART,
    )


class DelegationTokenOptions(Options):
    """Delegation tokens of Kafka clients (KIP-48)."""

    kafka_delegation_token_secret_key: str = option(
        "",
        "Secret key from which delegation tokens of Kafka clients are derived "
        "(`delegation.token.secret.key`), the same for all members of a group. Empty: no tokens.",
        ours=True,
        secret=True,
        effect=Effect.RESTART,
    )
    kafka_delegation_token_max_lifetime_millis: int = option(
        604_800_000,
        "Longest lifetime of a delegation token, however often it is renewed "
        "(`delegation.token.max.lifetime.ms`).",
        unit="ms",
        low=1,
        high=LONG_MAX,
        ours=True,
        effect=Effect.RESTART,
    )
    kafka_delegation_token_expiry_time_millis: int = option(
        86_400_000,
        "Time after which a delegation token must be renewed (`delegation.token.expiry.time.ms`).",
        unit="ms",
        low=1,
        high=LONG_MAX,
        ours=True,
        effect=Effect.RESTART,
    )
