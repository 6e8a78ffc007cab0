"""The settings, services and mechanisms that the sessions of a server share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from twisted.internet.defer import Deferred

from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.worker import Worker
from mqgateway.gateway.access.scram import SCRAM_MECHANISMS, ScramMechanism
from mqgateway.gateway.access.throttling import Pause
from mqgateway.gateway.broker.operations import Operations
from mqgateway.gateway.kafka.dispatch import KafkaDispatcher
from mqgateway.gateway.kafka.sasl.exchange import Mechanism, SaslClient, SaslExchange
from mqgateway.gateway.kafka.sasl.plain import PlainExchange
from mqgateway.gateway.kafka.sasl.scram_credentials import ScramCredentials
from mqgateway.gateway.kafka.sasl.scram_exchange import ScramExchange


def has_sasl(options: BrokerOptions) -> bool:
    """Return True if Kafka clients have to authenticate themselves."""
    return options.authentication_enabled


def no_user(transport: object) -> None:
    """Return None: certificates stand for no users."""


class Authentication:
    """Authentication of the connections of one server.

    `seconds` is the time of the loop, `pause` makes delays. ApiVersions before authentication is carried out
    by the `dispatcher`. `user_of` returns the user that the certificate of a TLS transport stands for.
    `worker` derives keys; without one they are derived at once.
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
    ) -> None:
        options = operations.options
        self.dispatcher = dispatcher
        self.seconds = seconds
        self.user_of = user_of
        self.request_limit = options.kafka_max_request_size
        """Bytes of the largest request after authentication."""
        self.session_limit = options.kafka_connections_max_reauth_millis
        """Longest session, ms; 0 for no limit."""
        self.mechanisms = _mechanisms(operations, worker)
        """The mechanisms that clients may use, by name."""
        self._pause = pause
        self._delay = options.kafka_failed_authentication_delay_millis / 1000

    def refusal_delay(self, until: Deferred[None] | None) -> Deferred[None]:
        """Return a Deferred that fires when a refusal is sent: after the delay, and not before `until`."""
        delay = self._pause(self._delay)
        return delay if until is None else delay.addCallback(lambda _: until)


def _mechanisms(operations: Operations, worker: Worker | None) -> Mapping[str, Mechanism]:
    """Return the mechanisms that the settings name."""
    access, authenticate = operations.access, operations.gate.authenticate
    if access is None:
        return {}
    credentials = ScramCredentials(access.tables.users, worker)

    def scram(mechanism: ScramMechanism) -> Mechanism:
        def begin(client: SaslClient) -> SaslExchange:
            return ScramExchange(mechanism, client, credentials.find, authenticate)

        return begin

    known: dict[str, Mechanism] = {"PLAIN": lambda client: PlainExchange(client, authenticate)}
    known |= {name: scram(mechanism) for name, mechanism in SCRAM_MECHANISMS.items()}
    words = operations.options.kafka_sasl_mechanisms.split(",")
    return {name: known[name] for name in map(str.strip, words)}
