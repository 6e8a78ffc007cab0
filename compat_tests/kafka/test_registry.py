"""A schema registry that keeps its schemas in topics of the server (Apicurio Registry, KafkaSQL)."""

from __future__ import annotations

import urllib.error
from pathlib import Path
from typing import Any

import pytest

from compat_tests.kafka.support.registry import Registry
from compat_tests.kafka.support.servers import KafkaServer

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]

NUMBER, TEXT = {"name": "number", "type": "int"}, {"name": "text", "type": "string"}


def schema(*fields: dict[str, Any]) -> dict[str, Any]:
    """Return an Avro schema with these fields."""
    return {"type": "record", "name": "Order", "fields": list(fields)}


def test_schemas_survive_a_kill_of_the_registry(server: KafkaServer, name: str, work: Path) -> None:
    subject = f"{name}-value"
    with Registry(server.address, name, work) as registry:
        first = registry.register(subject, schema(NUMBER))
        second = registry.register(subject, schema(NUMBER, {**TEXT, "default": ""}))
        assert first != second
        assert registry.register(subject, schema(NUMBER)) == first
        registry.ask("PUT", f"/config/{subject}", {"compatibility": "BACKWARD"})
        registry.register(f"{name}-gone", schema(NUMBER))
        registry.ask("DELETE", f"/subjects/{name}-gone")
    with Registry(server.address, name, work) as registry:
        assert registry.versions(subject) == [1, 2]
        assert registry.schema(second) == schema(NUMBER, {**TEXT, "default": ""})
        assert f"{name}-gone" not in registry.ask("GET", "/subjects")
        with pytest.raises(urllib.error.HTTPError) as refusal:
            registry.register(subject, schema(NUMBER, {**TEXT, "name": "another"}))
        assert refusal.value.code == 409, "a field without a default breaks readers of old records"


def test_two_registries_have_the_same_schemas(server: KafkaServer, name: str, work: Path) -> None:
    with Registry(server.address, name, work) as one, Registry(server.address, name, work) as other:
        identifier = one.register(name, schema(NUMBER))
        assert other.register(name, schema(NUMBER)) == identifier
        other.register(name, schema(NUMBER, {**TEXT, "default": ""}))
        assert one.register(name, schema(NUMBER)) == identifier
        assert one.versions(name) == other.versions(name) == [1, 2]
