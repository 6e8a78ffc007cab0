"""Client-metrics resources in DescribeConfigs, AlterConfigs and IncrementalAlterConfigs.

Kafka: `ConfigHelper`, `ConfigurationControlManager`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from mqgateway.engine.tables.client_metrics import CLIENT_METRICS_CONFIGS
from mqgateway.engine.tables.kafka_configs import LIST
from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.broker.operations import NotAdmitted, Operations, Use
from mqgateway.gateway.kafka.broker_configs import TYPES
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.client_metrics import check_client_metrics, words_of
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.describe_configs_response import (
    DescribeConfigsResourceResult,
    DescribeConfigsSynonym,
)
from mqgateway.gateway.kafka.creation import CreationRejected
from mqgateway.gateway.kafka.rights import cluster_refusal, on_cluster

CLIENT_METRICS_RESOURCE: Final = 16
_OWN, _DEFAULT = 7, 5
"""Sources of a setting: the resource, Kafka's default."""


class ClientMetricsConfigs:
    """Settings of the client-metrics resources of one broker."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations

    def rows(self, call: KafkaCall, name: str) -> Iterator[DescribeConfigsResourceResult]:
        """Yield the settings of a resource; an unknown one has the defaults. Raises `CreationRejected`."""
        refusal = cluster_refusal(call, self._operations, AclOperation.DESCRIBE_CONFIGS)
        if refusal is None and not name:
            text = "Client metrics subscription name must not be empty"
            refusal = ErrorCode.INVALID_REQUEST, text
        if refusal is not None:
            raise CreationRejected(*refusal)
        own = self._operations.client_metrics.configs(name)
        for config in CLIENT_METRICS_CONFIGS.values():
            value = own.get(config.name)
            is_own = value is not None
            if value is not None and config.kind == LIST:
                value = ",".join(words_of(value))
            yield DescribeConfigsResourceResult(
                config.name,
                config.default if value is None else value,
                False,
                _OWN if is_own else _DEFAULT,
                False,
                [DescribeConfigsSynonym(config.name, value, _OWN)] if is_own else [],
                TYPES[config.kind],
                config.meaning,
            )

    def change(
        self,
        call: KafkaCall,
        name: str,
        changes: Mapping[str, str | None],
        *,
        only_check: bool,
        replaces: bool,
    ) -> None:
        """Change settings; None is the default. Raises `CreationRejected`, `OperationError`."""
        try:
            permit = call.admit(Use.CONFIGURE, on_cluster(self._operations, AclOperation.ALTER_CONFIGS))
        except NotAdmitted as error:
            raise CreationRejected(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, str(error)) from None
        before = {} if replaces else self._operations.client_metrics.configs(name)
        after = {key: value for key, value in {**before, **changes}.items() if value is not None}
        check_client_metrics(name, after)
        if not only_check:
            self._operations.client_metrics.put(permit, name, after)
