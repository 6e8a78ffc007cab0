"""Quotas of clients, as administrators describe and change them, and as clients meet them."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.alter_client_quotas_request import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from mqgateway.gateway.kafka.codec.messages.describe_client_quotas_request import (
    ComponentData,
    DescribeClientQuotasRequest,
)
from tests.gateway.kafka.api.test_metadata import ACCESS
from tests.support.gateway.kafka.client import KafkaClient, KafkaScene, kafka_scene

Entity = dict[str, str | None]
APP: Entity = {"client-id": "app"}


def entry(entity: Entity, **limits: float | None) -> EntryData:
    """Return changes of an entity; None removes a limit."""
    ops = [OpData(key, value or 0.0, value is None) for key, value in limits.items()]
    return EntryData([EntityData(*one) for one in entity.items()], ops)


def altered(client: KafkaClient, *entries: EntryData, **more: Any) -> list[tuple[int, str | None]]:
    """Change quotas, and return code and message of each entity."""
    answer = client.ask(AlterClientQuotasRequest(entries, **more))
    return [(one.error_code, one.error_message) for one in answer.entries]


def quota(scene: KafkaScene, entity: Entity, **limits: float | None) -> None:
    """Set or remove limits of an entity."""
    assert altered(scene.client("admin"), entry(entity, **limits)) == [(0, None)]


def described(client: KafkaClient, *components: Any, version: int = 1) -> dict[Any, dict[str, float]]:
    """Return the limits by entity, each as pairs."""
    request = DescribeClientQuotasRequest([ComponentData(*one) for one in components])
    answer = client.ask(request, version)
    assert (answer.error_code, answer.error_message) == (0, "")
    return {
        tuple((each.entity_type, each.entity_name) for each in one.entity): {
            each.key: each.value for each in one.values
        }
        for one in answer.entries
    }


@pytest.mark.parametrize("version", [0, 1])
def test_quotas_are_set_described_and_removed(version: int) -> None:
    with kafka_scene() as scene:
        client = scene.client()
        both: Entity = {"user": "u", "client-id": None}
        entries = [
            entry(APP, request_percentage=12.5, producer_byte_rate=5),
            entry(both, consumer_byte_rate=7),
        ]
        answer = client.ask(AlterClientQuotasRequest(entries), version)
        names = [[(each.entity_type, each.entity_name) for each in one.entity] for one in answer.entries]
        assert names == [[("client-id", "app")], [("client-id", None), ("user", "u")]]
        assert described(client, version=version) == {
            (("client-id", "app"),): {"producer_byte_rate": 5, "request_percentage": 12.5},
            (("client-id", None), ("user", "u")): {"consumer_byte_rate": 7},
        }
        assert list(described(client, ("user", 0, "u"))) == [(("client-id", None), ("user", "u"))]
        altered(client, entry(APP, request_percentage=None), entry(both, consumer_byte_rate=None))
        assert described(client) == {(("client-id", "app"),): {"producer_byte_rate": 5}}


def test_refused_and_checked_changes_change_nothing() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        refused = [(ErrorCode.INVALID_REQUEST, "Invalid configuration key no_such")]
        assert altered(client, entry(APP, producer_byte_rate=1, no_such=2)) == refused
        assert altered(client, entry(APP, producer_byte_rate=1), validate_only=True) == [(0, None)]
        assert altered(client, entry(APP, no_such=2), validate_only=True) == refused
        assert described(client) == {}


def test_filter_that_is_refused_has_a_reason_and_no_entries() -> None:
    with kafka_scene() as scene:
        answer = scene.client().ask(DescribeClientQuotasRequest([ComponentData("group", 0, "g")]))
        assert (answer.error_code, answer.entries) == (ErrorCode.UNSUPPORTED_VERSION, None)
        assert answer.error_message == "Unsupported entity type group"


def test_more_entities_than_allowed_are_refused() -> None:
    with kafka_scene() as scene:
        entries = [entry({"user": str(number)}, producer_byte_rate=1) for number in range(10_001)]
        answers = altered(scene.client(), *entries)
        assert {code for code, _ in answers} == {ErrorCode.INVALID_REQUEST} and len(answers) == 10_001


def test_with_access_control_quotas_are_neither_shown_nor_changed() -> None:
    denied = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    with kafka_scene(**ACCESS) as scene:
        client = scene.client()
        assert client.ask(DescribeClientQuotasRequest()).error_code == denied
        [(code, _)] = altered(client, entry(APP, producer_byte_rate=1))
        assert code == denied and not scene.operations.client_quotas.all()
