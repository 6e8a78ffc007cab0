"""DescribeClientQuotas, AlterClientQuotas (KIP-546). Kafka: `KafkaApis`, `ControllerApis`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mqgateway.engine.tables.client_quotas import ClientQuotas, Entity
from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.broker.operations import NotAdmitted, OperationError, Operations, Use
from mqgateway.gateway.kafka.api import Handlers
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages import alter_client_quotas_response as altered
from mqgateway.gateway.kafka.codec.messages import describe_client_quotas_response as described
from mqgateway.gateway.kafka.codec.messages.alter_client_quotas_request import AlterClientQuotasRequest
from mqgateway.gateway.kafka.codec.messages.describe_client_quotas_request import DescribeClientQuotasRequest
from mqgateway.gateway.kafka.quotas.changes import QuotaChange, changes, in_order
from mqgateway.gateway.kafka.quotas.filters import EntityFilter, FilterRejected
from mqgateway.gateway.kafka.rights import cluster_refusal, on_cluster


class ClientQuotaRequests:
    """Requests about the quotas of one broker. `on_change` is called once they have changed."""

    def __init__(self, operations: Operations, on_change: Callable[[], None]) -> None:
        self._operations = operations
        self._on_change = on_change

    def handlers(self) -> Handlers:
        """Return the functions by API key."""
        return {DescribeClientQuotasRequest.KEY: self.describe, AlterClientQuotasRequest.KEY: self.alter}

    def describe(
        self, call: KafkaCall, request: DescribeClientQuotasRequest
    ) -> described.DescribeClientQuotasResponse:
        """Answer DescribeClientQuotas."""
        refusal = cluster_refusal(call, self._operations, AclOperation.DESCRIBE_CONFIGS)
        if refusal is not None:
            return described.DescribeClientQuotasResponse(0, *refusal, None)
        try:
            chosen = EntityFilter(request.components, is_strict=request.strict)
        except FilterRejected as refused:
            return described.DescribeClientQuotasResponse(0, refused.code, str(refused), None)
        quotas = self._operations.client_quotas.all()
        entries = [_described(one) for one in quotas if chosen.chooses(one.entity)]
        return described.DescribeClientQuotasResponse(error_message="", entries=entries)

    def alter(self, call: KafkaCall, request: AlterClientQuotasRequest) -> altered.AlterClientQuotasResponse:
        """Answer AlterClientQuotas: the changes that are allowed are made, in one write."""
        found = changes(request.entries, self._operations.client_quotas.get)
        try:
            permit = call.admit(Use.CONFIGURE, on_cluster(self._operations, AclOperation.ALTER_CONFIGS))
            if not request.validate_only:
                self._operations.client_quotas.put(permit, [one.quotas for one in found if one.quotas])
                self._on_change()
        except NotAdmitted as error:
            return _refused(found, ErrorCode.CLUSTER_AUTHORIZATION_FAILED, str(error))
        except OperationError as error:
            return _refused(found, ErrorCode.INVALID_REQUEST, error.message)
        return altered.AlterClientQuotasResponse(entries=[_altered(one) for one in found])


def _described(quotas: ClientQuotas) -> described.EntryData:
    entity = [described.EntityData(kind, name) for kind, name in in_order(quotas.entity).items()]
    return described.EntryData(
        entity, [described.ValueData(*limit) for limit in sorted(quotas.limits.items())]
    )


def _altered(change: QuotaChange) -> altered.EntryData:
    code = ErrorCode.NONE if change.problem is None else ErrorCode.INVALID_REQUEST
    return altered.EntryData(code, change.problem, list(_names(change.entity)))


def _refused(found: list[QuotaChange], code: ErrorCode, message: str) -> altered.AlterClientQuotasResponse:
    """Return the answer to a request that changes nothing."""
    entries = [altered.EntryData(code, message, list(_names(one.entity))) for one in found]
    return altered.AlterClientQuotasResponse(entries=entries)


def _names(entity: Entity) -> Iterator[altered.EntityData]:
    for kind, name in entity.items():
        yield altered.EntityData(kind, name)
