"""Resources that have settings, as administrators list them."""

from __future__ import annotations

import pytest

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.list_config_resources_request import ListConfigResourcesRequest
from tests.gateway.kafka.api.test_configs import SET, changed
from tests.gateway.kafka.api.test_metadata import ACCESS, create
from tests.support.gateway.kafka.client import KafkaClient, kafka_scene

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32


def listed(client: KafkaClient, *types: int) -> list[tuple[int, str]]:
    """Return types and names."""
    answer = client.ask(ListConfigResourcesRequest(types))
    assert answer.error_code == 0
    return [(one.resource_type, one.resource_name) for one in answer.config_resources]


def test_resources_of_the_named_types_are_listed() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "a")
        changed(client, METRICS, "m", ("metrics", SET, "x"))
        changed(client, GROUP, "g.1", ("share.session.timeout.ms", SET, "50000"))
        everything = [(TOPIC, "a"), (BROKER, "1"), (LOGGER, "1"), (METRICS, "m"), (GROUP, "g.1")]
        assert listed(client) == everything
        assert listed(client, METRICS, TOPIC, TOPIC) == [(TOPIC, "a"), (METRICS, "m")]
        assert listed(client, GROUP) == [(GROUP, "g.1")]


def test_first_version_lists_client_metrics() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "a")
        changed(client, METRICS, "m", ("metrics", SET, "x"))
        answer = client.ask(ListConfigResourcesRequest(), 0)
        assert [one.resource_name for one in answer.config_resources] == ["m"]


@pytest.mark.parametrize("kind", [0, 1, 99])
def test_unknown_type_is_refused(kind: int) -> None:
    with kafka_scene() as scene:
        answer = scene.client().ask(ListConfigResourcesRequest([TOPIC, kind]))
        assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION and not answer.config_resources


def test_with_access_control_nothing_is_listed() -> None:
    with kafka_scene(**ACCESS) as scene:
        answer = scene.client().ask(ListConfigResourcesRequest())
        assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
