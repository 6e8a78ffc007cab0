"""ListConfigResources: what DescribeConfigs has settings of. Kafka: `KafkaApis.handleListConfigResources`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from mqgateway.engine.steps import Steps
from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.broker.operations import Operations
from mqgateway.gateway.kafka.api import Handlers
from mqgateway.gateway.kafka.api.client_metrics import CLIENT_METRICS_RESOURCE
from mqgateway.gateway.kafka.api.group_configs import GROUP_RESOURCE
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.list_config_resources_request import ListConfigResourcesRequest
from mqgateway.gateway.kafka.codec.messages.list_config_resources_response import (
    ConfigResource,
    ListConfigResourcesResponse,
)
from mqgateway.gateway.kafka.group_settings import groups_with_settings
from mqgateway.gateway.kafka.node import Node
from mqgateway.gateway.kafka.rights import cluster_refusal, shows_topic
from mqgateway.gateway.kafka.topics import Topics

TOPIC, BROKER, BROKER_LOGGER = 2, 4, 8
SUPPORTED: Final = (TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS_RESOURCE, GROUP_RESOURCE)
TYPES_SINCE: Final = 1
"""Version from which a client names the types; before, client-metrics resources are listed."""


class ConfigResources:
    """Names of the resources of one broker that have settings."""

    def __init__(self, operations: Operations, topics: Topics, node: Node) -> None:
        self._operations = operations
        self._topics = topics
        self._node = node

    def handlers(self) -> Handlers:
        """Return the functions by API key."""
        return {ListConfigResourcesRequest.KEY: self.list_resources}

    def list_resources(
        self, call: KafkaCall, request: ListConfigResourcesRequest
    ) -> Steps[ListConfigResourcesResponse]:
        """Answer ListConfigResources; without types all are listed."""
        refusal = cluster_refusal(call, self._operations, AclOperation.DESCRIBE_CONFIGS)
        if refusal is not None:
            return ListConfigResourcesResponse(0, refusal[0])
        types = set(request.resource_types) or set(SUPPORTED)
        if call.version < TYPES_SINCE:
            types = {CLIENT_METRICS_RESOURCE}
        if not types <= set(SUPPORTED):
            return ListConfigResourcesResponse(0, ErrorCode.UNSUPPORTED_VERSION)
        found: list[ConfigResource] = []
        for kind in sorted(types):
            for name in self._names(call, kind):
                found.append(ConfigResource(name, kind))
                yield
        return ListConfigResourcesResponse(config_resources=found)

    def _names(self, call: KafkaCall, kind: int) -> Iterable[str]:
        if kind == TOPIC:
            return [topic.name for topic in self._topics if shows_topic(call, topic.store_name)]
        if kind in (BROKER, BROKER_LOGGER):
            return [str(self._node.id)]
        if kind == CLIENT_METRICS_RESOURCE:
            return self._operations.client_metrics.names()
        return groups_with_settings(self._operations)
