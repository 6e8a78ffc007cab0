"""GetTelemetrySubscriptions, PushTelemetry: metrics of clients (KIP-714), if `kafkaClientTelemetry` is on.

Kafka: `KafkaApis`, `ClientMetricsInstanceMetadata`.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from mqgateway.engine.clock import elapsed_millis
from mqgateway.gateway.broker.operations import ClientConnection, Operations
from mqgateway.gateway.kafka.api import Handlers
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.get_telemetry_subscriptions_request import (
    GetTelemetrySubscriptionsRequest,
)
from mqgateway.gateway.kafka.codec.messages.get_telemetry_subscriptions_response import (
    GetTelemetrySubscriptionsResponse,
)
from mqgateway.gateway.kafka.codec.messages.push_telemetry_request import PushTelemetryRequest
from mqgateway.gateway.kafka.codec.messages.push_telemetry_response import PushTelemetryResponse
from mqgateway.gateway.kafka.codec.schema import NO_UUID
from mqgateway.gateway.kafka.ids import new_id, text_of_id
from mqgateway.gateway.kafka.telemetry import COMPRESSIONS, PUSH_BYTES_MAX, Attributes, Telemetry

EXPIRY_CHECK_MILLIS: Final = 60_000


class Software(NamedTuple):
    """Name and version of a client's library."""

    name: str
    version: str


class TelemetryRequests:
    """Requests of clients about their metrics, and the library of each connection."""

    def __init__(self, operations: Operations) -> None:
        resources = operations.client_metrics
        self._is_on = operations.options.kafka_client_telemetry
        self._clock = operations.clock
        self._software: dict[ClientConnection, Software] = {}
        self._next_check = 0
        self.telemetry = Telemetry(
            lambda: [resources.configs(name) for name in resources.names()], lambda: resources.version
        )

    def handlers(self) -> Handlers:
        """Return the functions by API key; none if the broker receives no metrics."""
        if not self._is_on:
            return {}
        return {GetTelemetrySubscriptionsRequest.KEY: self.subscriptions, PushTelemetryRequest.KEY: self.push}

    def note_software(self, connection: ClientConnection, name: str, version: str) -> None:
        """Note the library of a connection, as ApiVersions reports it."""
        if not self._is_on:
            return
        if connection not in self._software:
            connection.on_lost(self._forget)
        self._software[connection] = Software(name, version)

    def _forget(self, connection: Any) -> None:
        self._software.pop(connection, None)

    def tick(self) -> None:
        """Forget silent clients, once a minute."""
        now = elapsed_millis(self._clock)
        if now >= self._next_check:
            self._next_check = now + EXPIRY_CHECK_MILLIS
            self.telemetry.expire(now)

    def subscriptions(
        self, call: KafkaCall, request: GetTelemetrySubscriptionsRequest
    ) -> GetTelemetrySubscriptionsResponse:
        """Answer GetTelemetrySubscriptions."""
        instance_id = request.client_instance_id
        if instance_id == NO_UUID:
            instance_id = new_id()
        attributes = self._attributes(call, instance_id)
        found = self.telemetry.get(instance_id, attributes, elapsed_millis(self._clock))
        if isinstance(found, ErrorCode):
            return GetTelemetrySubscriptionsResponse(error_code=found)
        return GetTelemetrySubscriptionsResponse(
            client_instance_id=found.id,
            subscription_id=found.subscription_id,
            accepted_compression_types=COMPRESSIONS,
            push_interval_ms=found.interval,
            telemetry_max_bytes=PUSH_BYTES_MAX,
            delta_temporality=True,
            requested_metrics=found.metrics,
        )

    def push(self, call: KafkaCall, request: PushTelemetryRequest) -> PushTelemetryResponse:
        """Answer PushTelemetry."""
        code = self.telemetry.push(
            request.client_instance_id,
            self._attributes(call, request.client_instance_id),
            elapsed_millis(self._clock),
            subscription_id=request.subscription_id,
            compression=request.compression_type,
            size=len(request.metrics),
            is_last=request.terminating,
        )
        return PushTelemetryResponse(error_code=code)

    def _attributes(self, call: KafkaCall, instance_id: bytes) -> Attributes:
        software = self._software.get(call.connection, Software("", ""))
        return {
            "client_id": call.client_id,
            "client_instance_id": text_of_id(instance_id),
            "client_software_name": software.name,
            "client_software_version": software.version,
            "client_source_address": call.client_host,
            "client_source_port": call.connection.address.rpartition(":")[2],
        }
