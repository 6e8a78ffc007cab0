"""Client-metrics resources, as administrators describe and change them."""

from __future__ import annotations

from typing import Any

from mqgateway.engine.tables.client_metrics import RESOURCES_MAX
from mqgateway.gateway.broker.operations import Use
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages import incremental_alter_configs_request as incremental
from mqgateway.gateway.kafka.codec.messages.alter_configs_request import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
)
from tests.gateway.kafka.api.test_configs import APPEND, DELETE, SET, changed, described
from tests.gateway.kafka.api.test_metadata import ACCESS
from tests.support.gateway.kafka.client import KafkaClient, kafka_scene

RESOURCE = 16
OWN, DEFAULT = 7, 5


def values(client: KafkaClient, name: str) -> dict[str, tuple[str, int]]:
    """Return value and source of each setting."""
    result = described(client, RESOURCE, name)
    assert result.error_code == 0
    return {config.name: (config.value, config.config_source) for config in result.configs}


def test_unknown_resource_has_the_defaults() -> None:
    with kafka_scene() as scene:
        assert values(scene.client(), "a") == {
            "interval.ms": ("300000", DEFAULT),
            "match": ("", DEFAULT),
            "metrics": ("", DEFAULT),
        }


def test_settings_are_set_and_deleted() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        assert changed(client, RESOURCE, "a", ("metrics", SET, " x, y"), ("match", SET, "")).error_code == 0
        assert values(client, "a")["metrics"] == ("x,y", OWN) and values(client, "a")["match"] == ("", OWN)
        assert changed(client, RESOURCE, "a", ("match", DELETE, None)).error_code == 0
        result = described(client, RESOURCE, "a", include_synonyms=True, include_documentation=True)
        rows = {config.name: config for config in result.configs}
        [synonym] = rows["metrics"].synonyms
        assert (synonym.name, synonym.value, synonym.source) == ("metrics", "x,y", OWN)
        assert not rows["match"].synonyms and all(config.documentation for config in result.configs)


def test_replacing_gives_the_other_settings_their_defaults() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        changed(client, RESOURCE, "a", ("metrics", SET, "x"))
        resource = AlterConfigsResource(RESOURCE, "a", [AlterableConfig("interval.ms", "500")])
        [result] = client.ask(AlterConfigsRequest([resource])).responses
        assert result.error_code == 0
        assert values(client, "a")["metrics"] == ("", DEFAULT)
        assert values(client, "a")["interval.ms"] == ("500", OWN)


def test_refused_changes_change_nothing() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        refused, invalid = ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_CONFIG
        assert changed(client, RESOURCE, "", ("metrics", SET, "x")).error_code == refused
        assert changed(client, RESOURCE, "a", ("no.such", SET, "x")).error_code == refused
        assert changed(client, RESOURCE, "a", ("metrics", APPEND, "x")).error_code == invalid
        assert described(client, RESOURCE, "").error_code == refused
        assert not scene.operations.client_metrics.names()


def test_checked_changes_are_not_made() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        resource: Any = AlterConfigsResource(RESOURCE, "a", [AlterableConfig("metrics", "x")])
        [result] = client.ask(AlterConfigsRequest([resource], True)).responses
        assert result.error_code == 0 and not scene.operations.client_metrics.names()


def test_resource_that_is_named_twice_is_refused() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        replaced = AlterConfigsResource(RESOURCE, "a", [AlterableConfig("metrics", "x")])
        other = incremental.AlterConfigsResource(RESOURCE, "a")
        for request in (
            AlterConfigsRequest([replaced] * 2),
            incremental.IncrementalAlterConfigsRequest([other] * 2),
        ):
            codes = [result.error_code for result in client.ask(request).responses]
            assert codes == [ErrorCode.INVALID_REQUEST] * 2


def test_number_of_resources_is_limited() -> None:
    with kafka_scene() as scene:
        permit = scene.operations.gate.internal(Use.CONFIGURE)
        for number in range(RESOURCES_MAX):
            scene.operations.client_metrics.put(permit, str(number), {"metrics": "x"})
        result = changed(scene.client(), RESOURCE, "more", ("metrics", SET, "x"))
        assert result.error_code == ErrorCode.INVALID_CONFIG and "already" in result.error_message


def test_with_access_control_resources_are_neither_shown_nor_changed() -> None:
    denied = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    with kafka_scene(**ACCESS) as scene:
        client = scene.client()
        assert described(client, RESOURCE, "a").error_code == denied
        assert changed(client, RESOURCE, "a", ("metrics", SET, "x")).error_code == denied
