"""Access tokens of a server by its settings. The modules that verify them are loaded only if it has any."""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.worker import InlineWorker, Worker
from mqgateway.gateway.broker.operations import Operations
from mqgateway.gateway.kafka.sasl.authentication import mechanism_names
from mqgateway.gateway.kafka.sasl.oauthbearer import MECHANISM, VerifyToken
from mqgateway.gateway.kafka.sasl.token_claims import ClaimRules
from mqgateway.gateway.runtime.schedule import Schedule

log = logging.getLogger(__name__)


def token_verifier(
    operations: Operations, schedule: Schedule, reactor: Any, worker: Worker | None
) -> VerifyToken | None:
    """Return the function that verifies tokens; None if the settings lack the mechanism or a part of it.

    `reactor` is that of `ThreadedLoop`; `worker` reads a key set in a file.
    """
    options = operations.options
    url = options.kafka_oauthbearer_jwks_url
    if MECHANISM not in mechanism_names(options):
        return None
    missing = _missing(options)
    if missing:
        log.warning("%s is not offered: %s is not set", MECHANISM, missing)
        return None
    from mqgateway.gateway.kafka.sasl.access_tokens import AccessTokens
    from mqgateway.gateway.kafka.sasl.published_keys import FetchThreads, PublishedKeys, read_key_set

    reading = (worker or InlineWorker()) if url.startswith("file:") else FetchThreads(reactor)
    keys = PublishedKeys(partial(read_key_set, url), reading, schedule.seconds)
    schedule.every(0, options.kafka_oauthbearer_jwks_refresh_millis / 1000, keys.refresh)
    rules = ClaimRules(
        frozenset() if options.kafka_oauthbearer_allow_unverified_audience else _audiences(options),
        ""
        if options.kafka_oauthbearer_allow_unverified_issuer
        else options.kafka_oauthbearer_expected_issuer,
        options.kafka_oauthbearer_sub_claim_name,
        options.kafka_oauthbearer_scope_claim_name,
        options.kafka_oauthbearer_clock_skew_seconds,
    )
    return AccessTokens(keys, rules, operations.clock.millis).verify


def _audiences(options: BrokerOptions) -> frozenset[str]:
    """Return the audiences that are expected."""
    words = options.kafka_oauthbearer_expected_audience.split(",")
    return frozenset(filter(None, map(str.strip, words)))


def _missing(options: BrokerOptions) -> str:
    """Return the name of a setting that is not set and must be, as with Apache Kafka; empty for none."""
    if not options.kafka_oauthbearer_jwks_url:
        return "kafkaOauthbearerJwksUrl"
    if not (_audiences(options) or options.kafka_oauthbearer_allow_unverified_audience):
        return "kafkaOauthbearerExpectedAudience"
    if not (options.kafka_oauthbearer_expected_issuer or options.kafka_oauthbearer_allow_unverified_issuer):
        return "kafkaOauthbearerExpectedIssuer"
    return ""
