"""Changes of topics, settings and delegation tokens, which only the leader of a group makes.

Its slaves copy them. Settings of consumer groups and of client metrics are the controller's; it leads the
first of several broker groups. Another broker refuses them with NOT_CONTROLLER, as Apache Kafka's brokers did
before they forwarded such requests: clients look for the controller again. Settings of a broker and of its
loggers are its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from mqgateway.engine.steps import Steps
from mqgateway.gateway.kafka.api import Answer, Handler, Handlers
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.cluster_view import ClusterView
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages import (
    alter_configs_response as altered,
)
from mqgateway.gateway.kafka.codec.messages import (
    incremental_alter_configs_response as incremental,
)
from mqgateway.gateway.kafka.codec.messages.alter_configs_request import AlterConfigsRequest
from mqgateway.gateway.kafka.codec.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
)
from mqgateway.gateway.kafka.codec.messages.alter_partition_reassignments_response import (
    AlterPartitionReassignmentsResponse,
)
from mqgateway.gateway.kafka.codec.messages.create_delegation_token_request import (
    CreateDelegationTokenRequest,
)
from mqgateway.gateway.kafka.codec.messages.create_delegation_token_response import (
    CreateDelegationTokenResponse,
)
from mqgateway.gateway.kafka.codec.messages.create_partitions_request import CreatePartitionsRequest
from mqgateway.gateway.kafka.codec.messages.create_partitions_response import (
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from mqgateway.gateway.kafka.codec.messages.create_topics_request import CreateTopicsRequest
from mqgateway.gateway.kafka.codec.messages.create_topics_response import (
    CreatableTopicResult,
    CreateTopicsResponse,
)
from mqgateway.gateway.kafka.codec.messages.delete_topics_request import DeleteTopicsRequest
from mqgateway.gateway.kafka.codec.messages.delete_topics_response import (
    DeletableTopicResult,
    DeleteTopicsResponse,
)
from mqgateway.gateway.kafka.codec.messages.expire_delegation_token_request import (
    ExpireDelegationTokenRequest,
)
from mqgateway.gateway.kafka.codec.messages.expire_delegation_token_response import (
    ExpireDelegationTokenResponse,
)
from mqgateway.gateway.kafka.codec.messages.incremental_alter_configs_request import (
    IncrementalAlterConfigsRequest,
)
from mqgateway.gateway.kafka.codec.messages.renew_delegation_token_request import RenewDelegationTokenRequest
from mqgateway.gateway.kafka.codec.messages.renew_delegation_token_response import (
    RenewDelegationTokenResponse,
)
from mqgateway.gateway.kafka.codec.schema import NO_UUID, Message

CODE: Final = ErrorCode.NOT_CONTROLLER
TEXT: Final = "This is not the correct controller for this cluster."
OWN_RESOURCES: Final = frozenset((4, 8))
"""Types of resources of one broker: its settings, and its loggers."""
TOPIC_RESOURCE: Final = 2


def led(handlers: Handlers, cluster: ClusterView) -> Handlers:
    """Return the same handlers; those of such changes refuse them while this broker does not lead."""

    def guarded(handler: Handler, refuse: Callable[[Any], Message]) -> Handler:
        def answer(call: KafkaCall, request: Any) -> Answer | Steps[Any]:
            return handler(call, request) if _may_change(cluster, request) else refuse(request)

        return answer

    return {**handlers, **{key: guarded(handlers[key], refuse) for key, refuse in _REFUSALS.items()}}


def _may_change(cluster: ClusterView, request: Message) -> bool:
    """Return True if this broker may make the changes of a request."""
    if not isinstance(request, AlterConfigsRequest | IncrementalAlterConfigsRequest):
        return cluster.leads
    kinds = {each.resource_type for each in request.resources} - OWN_RESOURCES
    return not kinds or cluster.controls or (cluster.leads and kinds == {TOPIC_RESOURCE})


def _refuse_creation(request: CreateTopicsRequest) -> CreateTopicsResponse:
    return CreateTopicsResponse(
        topics=[CreatableTopicResult(each.name, NO_UUID, CODE, TEXT) for each in request.topics]
    )


def _refuse_deletion(request: DeleteTopicsRequest) -> DeleteTopicsResponse:
    wanted = [(each.name, each.topic_id) for each in request.topics]
    wanted += [(name, NO_UUID) for name in request.topic_names]
    return DeleteTopicsResponse(responses=[DeletableTopicResult(*each, CODE, TEXT) for each in wanted])


def _refuse_partitions(request: CreatePartitionsRequest) -> CreatePartitionsResponse:
    return CreatePartitionsResponse(
        results=[CreatePartitionsTopicResult(each.name, CODE, TEXT) for each in request.topics]
    )


def _refuse_settings(request: AlterConfigsRequest) -> altered.AlterConfigsResponse:
    return altered.AlterConfigsResponse(
        responses=[
            altered.AlterConfigsResourceResponse(CODE, TEXT, each.resource_type, each.resource_name)
            for each in request.resources
        ]
    )


def _refuse_changes(request: IncrementalAlterConfigsRequest) -> incremental.IncrementalAlterConfigsResponse:
    return incremental.IncrementalAlterConfigsResponse(
        responses=[
            incremental.AlterConfigsResourceResponse(CODE, TEXT, each.resource_type, each.resource_name)
            for each in request.resources
        ]
    )


def _refuse_token(request: CreateDelegationTokenRequest) -> CreateDelegationTokenResponse:
    return CreateDelegationTokenResponse(CODE)


_REFUSALS: Final[Mapping[int, Callable[[Any], Message]]] = {
    CreateTopicsRequest.KEY: _refuse_creation,
    DeleteTopicsRequest.KEY: _refuse_deletion,
    CreatePartitionsRequest.KEY: _refuse_partitions,
    AlterConfigsRequest.KEY: _refuse_settings,
    IncrementalAlterConfigsRequest.KEY: _refuse_changes,
    CreateDelegationTokenRequest.KEY: _refuse_token,
    RenewDelegationTokenRequest.KEY: lambda _: RenewDelegationTokenResponse(CODE),
    AlterPartitionReassignmentsRequest.KEY: lambda _: AlterPartitionReassignmentsResponse(
        error_code=CODE, error_message=TEXT
    ),
    ExpireDelegationTokenRequest.KEY: lambda _: ExpireDelegationTokenResponse(CODE),
}
