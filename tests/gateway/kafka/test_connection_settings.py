"""Settings of Kafka connections."""

from __future__ import annotations

from typing import Any

from mqgateway.gateway.kafka.connection_settings import KafkaConnectionSettings


def test_clients_have_no_sessions_unless_they_are_authenticated() -> None:
    service: Any = None
    terms = KafkaConnectionSettings(service, service, service, 100, 5, 600.0)
    assert terms.sessions is None
