"""Access tokens by settings: rules of claims, and the interval of reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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


def test_no_tokens_without_the_mechanism(tmp_path: Path) -> None:
    operations = KafkaBroker(options={"kafka_oauthbearer_jwks_url": "file:///keys.json"}).operations
    assert token_verifier(operations, Schedule(Clock()), Clock(), None) is None
