"""Settings and services that the connections of Kafka clients share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mqgateway.gateway.broker.operations import ClientConnection
from mqgateway.gateway.kafka.dispatch import KafkaDispatcher, Session
from mqgateway.gateway.remoting.connection_settings import ConnectionSettings as RemotingSettings
from mqgateway.gateway.remoting.pending_input import PendingInput


@dataclass(slots=True)
class KafkaConnectionSettings:
    """Values and services that the Kafka connections of a server share. Sizes in bytes, times in seconds.

    `sessions` makes the sessions of connections; None if clients are not authenticated.
    """

    dispatcher: KafkaDispatcher
    remoting: RemotingSettings
    pending: PendingInput
    request_limit: int
    in_flight_limit: int
    idle_seconds: float
    sessions: Callable[[ClientConnection], Session] | None = None
