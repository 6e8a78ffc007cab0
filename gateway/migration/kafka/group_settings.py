"""Settings of groups of a cluster (`kafka-configs.sh --group`), set in another one.

Source: `ConfigResource.Type.GROUP`, `GroupConfig`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.describe_configs_request import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from mqgateway.gateway.kafka.codec.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from mqgateway.gateway.kafka.codec.messages.list_config_resources_request import ListConfigResourcesRequest
from mqgateway.gateway.migration.kafka.cluster import KafkaCluster
from mqgateway.gateway.migration.kafka.connection import check

GROUP_RESOURCE: Final = 32
OF_THE_GROUP: Final = 8
"""`config_source` of a setting that was made for a group."""
SET: Final = 0
LISTED_SINCE: Final = 1
"""Version of ListConfigResources that lists groups: Kafka 4.1."""

GroupSettings = Mapping[str, Mapping[str, str]]
"""Settings of groups, by the group and the name of the setting."""


def read_group_settings(cluster: KafkaCluster) -> dict[str, dict[str, str]]:
    """Return the groups that have settings of their own, with these.

    Groups of a cluster before Kafka 4.1 cannot be listed by their settings, and are left out. Raises
    `ClientError`.
    """
    connection, key = cluster.connection(cluster.nodes()[0]), ListConfigResourcesRequest.KEY
    if not connection.knows(key) or connection.version(key) < LISTED_SINCE:
        return {}
    answer = cluster.ask_at(cluster.controller(), ListConfigResourcesRequest([GROUP_RESOURCE]))
    check(answer.error_code, "groups with settings")
    return settings_of(cluster, sorted(one.resource_name for one in answer.config_resources))


def settings_of(cluster: KafkaCluster, names: list[str]) -> dict[str, dict[str, str]]:
    """Return the settings of groups that were made for them. Raises `ClientError`."""
    if not names:
        return {}
    resources = [DescribeConfigsResource(GROUP_RESOURCE, name, None) for name in names]
    found: dict[str, dict[str, str]] = {}
    for result in cluster.ask_at(cluster.controller(), DescribeConfigsRequest(resources)).results:
        check(result.error_code, f"settings of group {result.resource_name}", result.error_message)
        found[result.resource_name] = {
            one.name: one.value
            for one in result.configs
            if one.config_source == OF_THE_GROUP and one.value is not None
        }
    return {name: settings for name, settings in found.items() if settings}


def set_group_settings(
    cluster: KafkaCluster, groups: GroupSettings, *, is_trial: bool = False
) -> dict[str, str]:
    """Set settings of groups; other settings remain. Return the refusals by group.

    In a trial nothing is changed. Raises `ClientError`.
    """
    if not groups:
        return {}
    resources = [
        AlterConfigsResource(
            GROUP_RESOURCE, name, [AlterableConfig(key, SET, value) for key, value in settings.items()]
        )
        for name, settings in groups.items()
    ]
    request = IncrementalAlterConfigsRequest(resources, is_trial)
    return {
        one.resource_name: one.error_message or ErrorCode(one.error_code).name
        for one in cluster.ask_at(cluster.controller(), request).responses
        if one.error_code
    }


def different_settings(cluster: KafkaCluster, groups: GroupSettings) -> dict[str, str]:
    """Return what differs in a cluster from planned settings, by group. Raises `ClientError`."""
    present = settings_of(cluster, sorted(groups))
    problems: dict[str, str] = {}
    for name, settings in sorted(groups.items()):
        own = present.get(name, {})
        wrong = [
            f"{key} is {own.get(key, 'not set')}, not {value}"
            for key, value in sorted(settings.items())
            if own.get(key) != value
        ]
        if wrong:
            problems[name] = "; ".join(wrong)
    return problems
