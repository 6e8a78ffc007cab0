"""Access tokens of a server by its settings. The modules that verify them are loaded only if it has any."""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

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
    """Return the function that verifies tokens; None if the settings do not name OAUTHBEARER and a key set.

    `reactor` is that of `ThreadedLoop`; `worker` reads a key set in a file.
    """
    options = operations.options
    url = options.kafka_oauthbearer_jwks_url
    if MECHANISM not in mechanism_names(options):
        return None
    if not url:
        log.warning("%s is not offered: kafkaOauthbearerJwksUrl is not set", MECHANISM)
        return None
    from mqgateway.gateway.kafka.sasl.access_tokens import AccessTokens
    from mqgateway.gateway.kafka.sasl.published_keys import FetchThreads, PublishedKeys, read_key_set

    reading = (worker or InlineWorker()) if url.startswith("file:") else FetchThreads(reactor)
    keys = PublishedKeys(partial(read_key_set, url), reading, schedule.seconds)
    schedule.every(0, options.kafka_oauthbearer_jwks_refresh_millis / 1000, keys.refresh)
    audiences = (word.strip() for word in options.kafka_oauthbearer_expected_audience.split(","))
    rules = ClaimRules(
        frozenset(filter(None, audiences)),
        options.kafka_oauthbearer_expected_issuer,
        options.kafka_oauthbearer_sub_claim_name,
        options.kafka_oauthbearer_scope_claim_name,
        options.kafka_oauthbearer_clock_skew_seconds,
    )
    return AccessTokens(keys, rules, operations.clock.millis).verify
