"""DescribeConfigs, IncrementalAlterConfigs, AlterConfigs: settings of topics, groups and the broker.

Settings of a topic are those of `engine.tables.kafka_configs`; `group_configs` has those of groups, and
`broker_configs` those of the broker, of which two can be changed. Standard: `ConfigHelper`,
`ConfigAdminManager`, `ConfigurationControlManager`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from mqgateway.engine.options import Setting
from mqgateway.engine.steps import Steps, mapped
from mqgateway.engine.tables.kafka_configs import (
    KAFKA_CONFIGS,
    LIST,
    PREFIX,
    KafkaConfig,
    kafka_config,
)
from mqgateway.engine.tables.kafka_group_configs import KAFKA_GROUP_CONFIGS
from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.broker.operations import NotAdmitted, OperationError, Operations, Use
from mqgateway.gateway.kafka.api import Answer, Handlers
from mqgateway.gateway.kafka.api.broker_loggers import BROKER_LOGGER_RESOURCE, BrokerLoggers
from mqgateway.gateway.kafka.api.client_metrics import CLIENT_METRICS_RESOURCE, ClientMetricsConfigs
from mqgateway.gateway.kafka.api.group_configs import GROUP_RESOURCE, GroupConfigs
from mqgateway.gateway.kafka.broker_configs import BROKER_CONFIGS, CHANGEABLE, TYPES, broker_values
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages import alter_configs_response as altered
from mqgateway.gateway.kafka.codec.messages import incremental_alter_configs_response as incremental
from mqgateway.gateway.kafka.codec.messages.alter_configs_request import AlterConfigsRequest
from mqgateway.gateway.kafka.codec.messages.alter_configs_request import (
    AlterConfigsResource as ReplacedResource,
)
from mqgateway.gateway.kafka.codec.messages.describe_configs_request import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from mqgateway.gateway.kafka.codec.messages.describe_configs_response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from mqgateway.gateway.kafka.codec.messages.incremental_alter_configs_request import (
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from mqgateway.gateway.kafka.creation import CreationRejected, check_configs, default_config, limits_of
from mqgateway.gateway.kafka.forwarded import ForeignChanges, after
from mqgateway.gateway.kafka.node import Node
from mqgateway.gateway.kafka.rights import on_cluster, on_topic
from mqgateway.gateway.kafka.topics import Topic, Topics

DESCRIBE_CONFIGS, ALTER_CONFIGS, INCREMENTAL_ALTER_CONFIGS = 32, 33, 44
TOPIC_RESOURCE, BROKER_RESOURCE = 2, 4
TOPIC_SOURCE, STATIC_SOURCE, DEFAULT_SOURCE = 1, 4, 5
SET, DELETE, APPEND, SUBTRACT = range(4)
SETTABLE: Final[Mapping[int, Collection[str]]] = {
    TOPIC_RESOURCE: KAFKA_CONFIGS,
    BROKER_RESOURCE: CHANGEABLE,
    GROUP_RESOURCE: KAFKA_GROUP_CONFIGS,
}
"""Settings that can have values of their own, by type of resource."""
TWICE = "Each resource must appear at most once."


class Configs:
    """Settings of one broker, and of topics. `topics` are those of all broker groups."""

    def __init__(self, operations: Operations, topics: Topics, node: Node) -> None:
        self._operations = operations
        self._topics = topics
        self._node = node
        self._client_metrics = ClientMetricsConfigs(operations)
        self._loggers = BrokerLoggers(operations, node)
        self._groups = GroupConfigs(operations)

    def handlers(self) -> Handlers:
        """Return the functions by API key."""
        return {
            DESCRIBE_CONFIGS: self.describe,
            ALTER_CONFIGS: self.alter,
            INCREMENTAL_ALTER_CONFIGS: self.alter_incrementally,
        }

    def describe(self, call: KafkaCall, request: DescribeConfigsRequest) -> Steps[DescribeConfigsResponse]:
        """Answer DescribeConfigs."""
        results = yield from mapped(
            lambda resource: self._describe(call, resource, request), request.resources, 1
        )
        return DescribeConfigsResponse(results=results)

    def _describe(
        self, call: KafkaCall, resource: DescribeConfigsResource, request: DescribeConfigsRequest
    ) -> DescribeConfigsResult:
        kind, name = resource.resource_type, resource.resource_name
        try:
            if kind == TOPIC_RESOURCE:
                rows = list(self._topic_rows(call, name))
            elif kind == BROKER_RESOURCE:
                rows = list(self._broker_rows(call, name))
            elif kind == BROKER_LOGGER_RESOURCE:
                rows = list(self._loggers.rows(call, name))
            elif kind == CLIENT_METRICS_RESOURCE:
                rows = list(self._client_metrics.rows(call, name))
            elif kind == GROUP_RESOURCE:
                rows = list(self._groups.rows(call, name))
            else:
                raise CreationRejected(ErrorCode.INVALID_REQUEST, f"Unsupported resource type: {kind}")
        except CreationRejected as refusal:
            return DescribeConfigsResult(refusal.code, str(refusal), kind, name)
        wanted = set(resource.configuration_keys or ())
        configs = []
        for row in rows:
            if wanted and row.name not in wanted:
                continue
            if not request.include_synonyms:
                row.synonyms = ()
            if not request.include_documentation:
                row.documentation = None
            configs.append(row)
        return DescribeConfigsResult(0, None, kind, name, configs)

    def _topic_rows(self, call: KafkaCall, name: str) -> Iterator[DescribeConfigsResourceResult]:
        topic = self._topic(call, name, Use.QUERY, AclOperation.DESCRIBE_CONFIGS)
        attributes = topic.config.attributes
        for config in KAFKA_CONFIGS.values():
            default = default_config(self._operations, config.name)
            own = attributes.get(PREFIX + config.name)
            synonyms = list(self._default_synonyms(config, default))
            if own is not None:
                synonyms.insert(0, DescribeConfigsSynonym(config.name, own, TOPIC_SOURCE))
            yield DescribeConfigsResourceResult(
                config.name,
                default if own is None else own,
                False,
                synonyms[0].source if synonyms else DEFAULT_SOURCE,
                False,
                synonyms,
                TYPES[config.kind],
                config.meaning,
            )

    def _default_synonyms(self, config: KafkaConfig, value: str) -> Iterator[DescribeConfigsSynonym]:
        """Yield the broker's settings that a topic's setting has its default from, the first one counts."""
        if config.synonym:
            if value != config.default:
                yield DescribeConfigsSynonym(config.synonym, value, STATIC_SOURCE)
            yield DescribeConfigsSynonym(config.synonym, config.default, DEFAULT_SOURCE)

    def _broker_rows(self, call: KafkaCall, name: str) -> Iterator[DescribeConfigsResourceResult]:
        self._check_broker(call, name, Use.QUERY, AclOperation.DESCRIBE_CONFIGS)
        if not name:
            return  # nothing is set for all brokers of a cluster together
        for key, value in broker_values(self._operations, self._node, call).items():
            config = BROKER_CONFIGS[key]
            synonyms = []
            if value != config.default:
                synonyms.append(DescribeConfigsSynonym(key, value, STATIC_SOURCE))
            if config.default is not None:
                synonyms.append(DescribeConfigsSynonym(key, config.default, DEFAULT_SOURCE))
            yield DescribeConfigsResourceResult(
                key,
                value,
                key not in CHANGEABLE,
                synonyms[0].source if synonyms else DEFAULT_SOURCE,
                False,
                synonyms,
                TYPES[config.kind],
                config.meaning,
            )

    def alter(self, call: KafkaCall, request: AlterConfigsRequest) -> Steps[Answer]:
        """Answer AlterConfigs: what is not named gets its default."""
        results = []
        foreign = ForeignChanges()
        times = _times(request.resources)
        for resource in request.resources:
            yield
            kind, name = resource.resource_type, resource.resource_name
            changes = {config.name: config.value for config in resource.configs}
            outcome: tuple[ErrorCode, str | None] = ErrorCode.INVALID_REQUEST, TWICE
            if times[kind, name] == 1:
                outcome = self._try(call, kind, name, changes, request.validate_only, foreign, replaces=True)
            results.append(foreign.noted(altered.AlterConfigsResourceResponse(*outcome, kind, name)))
        return after(foreign.outcomes, altered.AlterConfigsResponse(responses=results))

    def alter_incrementally(self, call: KafkaCall, request: IncrementalAlterConfigsRequest) -> Steps[Answer]:
        """Answer IncrementalAlterConfigs: what is not named stays as it is."""
        results = []
        foreign = ForeignChanges()
        times = _times(request.resources)
        for resource in request.resources:
            yield
            kind, name = resource.resource_type, resource.resource_name
            try:
                if times[kind, name] > 1:
                    raise CreationRejected(ErrorCode.INVALID_REQUEST, TWICE)
                if kind == BROKER_LOGGER_RESOURCE:
                    self._loggers.change(call, name, resource.configs, only_check=request.validate_only)
                    code, text = ErrorCode.NONE, None
                else:
                    changes = self._changes(kind, name, resource)
                    code, text = self._try(
                        call, kind, name, changes, request.validate_only, foreign, replaces=False
                    )
            except CreationRejected as refusal:
                code, text = refusal.code, str(refusal)
            results.append(foreign.noted(incremental.AlterConfigsResourceResponse(code, text, kind, name)))
        return after(foreign.outcomes, incremental.IncrementalAlterConfigsResponse(responses=results))

    def _changes(self, kind: int, name: str, resource: AlterConfigsResource) -> dict[str, str | None]:
        """Return the new values; None is the default. Raises `CreationRejected`.

        Settings that do not exist have no values to delete.
        """
        changes: dict[str, str | None] = {}
        topic = self._topics.find(name) if kind == TOPIC_RESOURCE else None
        for config in resource.configs:
            key, operation, value = config.name, config.config_operation, config.value
            if key in changes:
                text = f"Error due to duplicate config keys: {key}"
                raise CreationRejected(ErrorCode.INVALID_REQUEST, text)
            if operation not in (SET, DELETE, APPEND, SUBTRACT):
                raise CreationRejected(ErrorCode.INVALID_REQUEST, f"Unknown operation type {operation}")
            if operation != DELETE and value is None:
                text = f"Null value not supported for : {key}"
                raise CreationRejected(ErrorCode.INVALID_REQUEST, text)
            if operation in (APPEND, SUBTRACT):
                known = KAFKA_CONFIGS.get(key) if kind == TOPIC_RESOURCE else None
                word = "append" if operation == APPEND else "subtract"
                if known is None or known.kind != LIST:
                    text = f"Config value {word} is not allowed for config key: {key}"
                    raise CreationRejected(ErrorCode.INVALID_CONFIG, text)
                before = kafka_config(topic.config.attributes if topic else {}, key)
                value = _changed_list(before, value or "", operation)
            changes[key] = None if operation == DELETE else value
        settable = SETTABLE.get(kind)
        if settable is None:
            return changes
        return {key: value for key, value in changes.items() if value is not None or key in settable}

    def _try(
        self,
        call: KafkaCall,
        kind: int,
        name: str,
        changes: Mapping[str, str | None],
        only_check: bool,
        foreign: ForeignChanges,
        *,
        replaces: bool,
    ) -> tuple[ErrorCode, str | None]:
        try:
            if kind == TOPIC_RESOURCE:
                self._change_topic(call, name, changes, only_check, foreign, replaces)
            elif kind == BROKER_RESOURCE:
                self._change_broker(call, name, changes, only_check)
            elif kind == CLIENT_METRICS_RESOURCE:
                self._client_metrics.change(call, name, changes, only_check=only_check, replaces=replaces)
            elif kind == GROUP_RESOURCE:
                self._groups.change(call, name, changes, only_check, foreign, replaces=replaces)
            else:
                raise CreationRejected(ErrorCode.INVALID_REQUEST, f"Unsupported resource type: {kind}")
        except CreationRejected as refusal:
            return refusal.code, str(refusal)
        except OperationError as error:
            return ErrorCode.INVALID_CONFIG, error.message
        return ErrorCode.NONE, None

    def _change_topic(
        self,
        call: KafkaCall,
        name: str,
        changes: Mapping[str, str | None],
        only_check: bool,
        foreign: ForeignChanges,
        replaces: bool,
    ) -> None:
        topic = self._topic(call, name, Use.ADMINISTER, AclOperation.ALTER_CONFIGS)
        check_configs(changes, limits_of(self._operations.store_options))
        attributes = topic.config.attributes
        values = dict.fromkeys(_own(attributes)) | dict(changes) if replaces else dict(changes)
        if only_check or not values:
            return
        permit = call.admit(Use.ADMINISTER, on_topic(topic.store_name, AclOperation.ALTER_CONFIGS))
        wanted = {f"+{PREFIX}{key}": value for key, value in values.items() if value is not None}
        gone = {
            f"-{PREFIX}{key}": ""
            for key, value in values.items()
            if value is None and PREFIX + key in attributes
        }
        config = replace(topic.config, attributes=wanted | gone)
        peers = self._operations.peers
        if peers is not None and topic.group:
            foreign.begun(peers.put_topic(permit, topic.group, config))
        else:
            self._operations.administration.put_topic(permit, config)

    def _change_broker(
        self, call: KafkaCall, name: str, changes: Mapping[str, str | None], only_check: bool
    ) -> None:
        self._check_broker(call, name, Use.CONFIGURE, AclOperation.ALTER_CONFIGS)
        fixed = [key for key in changes if key not in CHANGEABLE]
        if fixed:
            text = f"Cannot update these configs dynamically: [{', '.join(sorted(fixed))}]"
            raise CreationRejected(ErrorCode.INVALID_REQUEST, text)
        permit = call.admit(Use.CONFIGURE, on_cluster(self._operations, AclOperation.ALTER_CONFIGS))
        if changes and not only_check:
            settings = [
                Setting(CHANGEABLE[key], (BROKER_CONFIGS[key].default or "") if value is None else value)
                for key, value in changes.items()
            ]
            self._operations.administration.change_settings(permit, settings)

    def _topic(self, call: KafkaCall, name: str, use: Use, operation: AclOperation) -> Topic:
        """Return a topic that the client may see or change. Raises `CreationRejected`."""
        topic = self._topics.find(name)
        if topic is None:
            text = f"The topic '{name}' does not exist."
            raise CreationRejected(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text)
        try:
            call.admit(use, on_topic(topic.store_name, operation))
        except NotAdmitted as error:
            raise CreationRejected(ErrorCode.TOPIC_AUTHORIZATION_FAILED, str(error)) from None
        return topic

    def _check_broker(self, call: KafkaCall, name: str, use: Use, operation: AclOperation) -> None:
        if name and name != str(self._node.id):
            text = f"Unexpected broker id, expected {self._node.id} or empty string, but received {name}"
            raise CreationRejected(ErrorCode.INVALID_REQUEST, text)
        try:
            call.admit(use, on_cluster(self._operations, operation))
        except NotAdmitted as error:
            raise CreationRejected(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, str(error)) from None


def _times(resources: Sequence[AlterConfigsResource | ReplacedResource]) -> Counter[tuple[int, str]]:
    """Return how often a request names each resource, by type and name."""
    return Counter((each.resource_type, each.resource_name) for each in resources)


def _own(attributes: Mapping[str, str]) -> Iterator[str]:
    """Yield the names of the settings that a topic has itself."""
    return (name for name in KAFKA_CONFIGS if PREFIX + name in attributes)


def _changed_list(before: str, value: str, operation: int) -> str:
    words = [word for word in before.split(",") if word]
    named = [word.strip() for word in value.split(",") if word.strip()]
    if operation == APPEND:
        return ",".join(dict.fromkeys([*words, *named]))
    return ",".join(word for word in words if word not in named)
