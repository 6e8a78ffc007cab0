"""The settings, services and mechanisms that the sessions of a server share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from twisted.internet.defer import Deferred

from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.worker import Worker
from mqgateway.gateway.access.audit import Audit
from mqgateway.gateway.access.delegation import OwnedToken
from mqgateway.gateway.access.scram import SCRAM_MECHANISMS, ScramMechanism
from mqgateway.gateway.access.throttling import Pause
from mqgateway.gateway.broker.operations import Operations
from mqgateway.gateway.kafka.delegation import delegation_tokens
from mqgateway.gateway.kafka.dispatch import KafkaDispatcher
from mqgateway.gateway.kafka.sasl.exchange import Mechanism, SaslClient, SaslExchange
from mqgateway.gateway.kafka.sasl.oauthbearer import MECHANISM, OAuthBearerExchange, VerifyToken
from mqgateway.gateway.kafka.sasl.plain import PlainExchange
from mqgateway.gateway.kafka.sasl.scram_credentials import ScramCredentials
from mqgateway.gateway.kafka.sasl.scram_exchange import ScramExchange


def has_sasl(options: BrokerOptions) -> bool:
    """Return True if Kafka clients have to authenticate themselves."""
    return options.authentication_enabled


def no_user(transport: object) -> None:
    """Return None: certificates stand for no users."""


def mechanism_names(options: BrokerOptions) -> list[str]:
    """Return the names of the mechanisms in the settings."""
    return [name.strip() for name in options.kafka_sasl_mechanisms.split(",")]


class Authentication:
    """Authentication of the connections of one server.

    `seconds` is the time of the loop, `pause` makes delays. ApiVersions before authentication is carried out
    by the `dispatcher`. `user_of` returns the user that the certificate of a TLS transport stands for.
    `worker` derives keys; without one they are derived at once. `verify` checks access tokens; without it
    there is no mechanism for them.
    """

    def __init__(
        self,
        operations: Operations,
        dispatcher: KafkaDispatcher,
        *,
        seconds: Callable[[], float],
        pause: Pause,
        user_of: Callable[[Any], str | None] = no_user,
        worker: Worker | None = None,
        verify: VerifyToken | None = None,
    ) -> None:
        options = operations.options
        self.dispatcher = dispatcher
        self.seconds = seconds
        self.user_of = user_of
        self.request_limit = options.kafka_max_request_size
        """Bytes of the largest request after authentication."""
        self.audit = Audit(options.audit_log_format)
        self.mechanisms = _mechanisms(operations, worker, verify, self.audit)
        """The mechanisms that clients may use, by name."""
        self._session_limit = options.kafka_connections_max_reauth_millis
        self._now = operations.clock.millis
        self._pause = pause
        self._delay = options.kafka_failed_authentication_delay_millis / 1000

    def lifetime(self, expires: int | None) -> int | None:
        """Return the longest session, ms, of a proof that ends at a wall time, ms; None for no limit."""
        limits = [self._session_limit] if self._session_limit else []
        if expires is not None:
            limits.append(max(0, expires - self._now()))
        return min(limits, default=None)

    def refusal_delay(self, until: Deferred[None] | None) -> Deferred[None]:
        """Return a Deferred that fires when a refusal is sent: after the delay, and not before `until`."""
        delay = self._pause(self._delay)
        return delay if until is None else delay.addCallback(lambda _: until)


def _mechanisms(
    operations: Operations, worker: Worker | None, verify: VerifyToken | None, audit: Audit
) -> Mapping[str, Mechanism]:
    """Return the mechanisms that the settings name and that are there."""
    access, authenticate = operations.access, operations.gate.authenticate
    if access is None:
        return {}
    credentials, tokens = ScramCredentials(access.tables.users, worker), delegation_tokens(operations)

    def find_token(token_id: str) -> OwnedToken | None:
        return None if tokens is None else tokens.find(token_id)

    def scram(mechanism: ScramMechanism) -> Mechanism:
        def begin(client: SaslClient) -> SaslExchange:
            return ScramExchange(mechanism, client, credentials, find_token, authenticate)

        return begin

    known: dict[str, Mechanism] = {"PLAIN": lambda client: PlainExchange(client, authenticate)}
    known |= {name: scram(mechanism) for name, mechanism in SCRAM_MECHANISMS.items()}
    if verify is not None:
        known[MECHANISM] = lambda client: OAuthBearerExchange(client, verify, authenticate, audit)
    return {name: known[name] for name in mechanism_names(operations.options) if name in known}
