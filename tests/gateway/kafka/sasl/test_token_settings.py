"""Access tokens by settings: rules of claims, and the interval of reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from twisted.internet.task import Clock

from mqgateway.gateway.kafka.sasl.token_settings import token_verifier
from mqgateway.gateway.runtime.schedule import Schedule
from tests.support.gateway.kafka.access_tokens import IdentityProvider
from tests.support.gateway.kafka.broker import KafkaBroker


def outcome(verify: Any, token: str) -> Any:
    """Return the contents of a token, or the text of the exception."""
    found: list[Any] = []
    verify(token).addCallbacks(found.append, lambda failure: found.append(str(failure.value)))
    return found[0]


def test_settings_make_the_rules_and_keys_are_read_at_their_interval(tmp_path: Path) -> None:
    path, provider = tmp_path / "keys.json", IdentityProvider()
    path.write_bytes(provider.document())
    options = {
        "kafka_sasl_mechanisms": "OAUTHBEARER",
        "kafka_oauthbearer_jwks_url": path.as_uri(),
        "kafka_oauthbearer_jwks_refresh_millis": 60_000,
        "kafka_oauthbearer_expected_audience": "kafka, other",
        "kafka_oauthbearer_expected_issuer": "idp",
        "kafka_oauthbearer_sub_claim_name": "email",
        "kafka_oauthbearer_clock_skew_seconds": 0,
    }
    operations = KafkaBroker(options=options).operations
    clock, now = Clock(), operations.clock.millis() // 1000
    schedule = Schedule(clock)
    verify = token_verifier(operations, schedule, clock, None)
    good: dict[str, Any] = {"email": "alice", "iat": now, "exp": now + 9, "aud": "other", "iss": "idp"}
    assert outcome(verify, provider.token(**good)).user == "alice"
    for wrong in ({"aud": "x"}, {"iss": "x"}, {"exp": now}):
        assert isinstance(outcome(verify, provider.token(**good | wrong)), str)
    clock.advance(1)
    path.write_bytes(IdentityProvider("second").document())
    clock.advance(58)
    assert outcome(verify, provider.token(**good)).user == "alice"
    clock.advance(2)
    assert "no key 'first'" in outcome(verify, provider.token(**good))
    schedule.stop()


@pytest.mark.parametrize(
    ("missing", "name"),
    [
        ({"kafka_oauthbearer_jwks_url": ""}, "kafkaOauthbearerJwksUrl"),
        ({"kafka_oauthbearer_expected_audience": " ,"}, "kafkaOauthbearerExpectedAudience"),
        ({"kafka_oauthbearer_expected_issuer": ""}, "kafkaOauthbearerExpectedIssuer"),
        ({"kafka_oauthbearer_expected_issuer": "", "kafka_oauthbearer_allow_unverified_issuer": True}, ""),
        (
            {"kafka_oauthbearer_expected_audience": "", "kafka_oauthbearer_allow_unverified_audience": True},
            "",
        ),
    ],
)
def test_audience_and_issuer_must_be_expected_unless_any_is_allowed(
    missing: dict[str, Any], name: str, caplog: pytest.LogCaptureFixture
) -> None:
    options = {
        "kafka_sasl_mechanisms": "OAUTHBEARER",
        "kafka_oauthbearer_jwks_url": "file:///keys.json",
        "kafka_oauthbearer_expected_audience": "kafka",
        "kafka_oauthbearer_expected_issuer": "idp",
        **missing,
    }
    operations = KafkaBroker(options=options).operations
    verify = token_verifier(operations, Schedule(Clock()), Clock(), None)
    assert (verify is None) == bool(name) and name in caplog.text


def test_no_tokens_without_the_mechanism() -> None:
    operations = KafkaBroker(options={"kafka_oauthbearer_jwks_url": "file:///keys.json"}).operations
    assert token_verifier(operations, Schedule(Clock()), Clock(), None) is None
