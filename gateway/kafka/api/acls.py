"""DescribeAcls, CreateAcls, DeleteAcls: access control lists over the policies of users.

Standard: `AclApis`, `AclControlManager`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

from mqgateway.engine.steps import Steps
from mqgateway.gateway.access.administration import AccessAdministration
from mqgateway.gateway.access.audit import Audit
from mqgateway.gateway.access.bindings import Binding
from mqgateway.gateway.access.errors import AccessError
from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.access.users import subject_of
from mqgateway.gateway.broker.operations import NotAdmitted, OperationError, Operations, Use
from mqgateway.gateway.kafka.acl_bindings import BindingFilter, BindingRejected, KafkaBinding, kafka_bindings
from mqgateway.gateway.kafka.api import Handlers
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.codec.apis import APIS
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.create_acls_request import AclCreation, CreateAclsRequest
from mqgateway.gateway.kafka.codec.messages.create_acls_response import AclCreationResult, CreateAclsResponse
from mqgateway.gateway.kafka.codec.messages.delete_acls_request import DeleteAclsFilter, DeleteAclsRequest
from mqgateway.gateway.kafka.codec.messages.delete_acls_response import (
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsResponse,
)
from mqgateway.gateway.kafka.codec.messages.describe_acls_request import DescribeAclsRequest
from mqgateway.gateway.kafka.codec.messages.describe_acls_response import (
    AclDescription,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from mqgateway.gateway.kafka.dispatch import UnservableRequest
from mqgateway.gateway.kafka.errors import error_code
from mqgateway.gateway.kafka.rights import on_cluster

NO_AUTHORIZER: Final = "No Authorizer is configured."
PART_OF_ENTRY: Final = (
    "It is a part of a policy entry that RocketMQ's tools wrote. Delete all bindings of the entry, or change "
    "it with mqadmin updateAcl."
)

B = TypeVar("B", KafkaBinding, BindingFilter)
Refusal = tuple[ErrorCode, str]
DONE: Final = ErrorCode.NONE, ""


class AclRequests:
    """Requests about access control lists."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations
        self._cluster = operations.options.broker_cluster_name
        self._audit = Audit(operations.options.audit_log_format)

    def handlers(self) -> Handlers:
        """Return the functions by API key."""
        return {
            DescribeAclsRequest.KEY: self.describe,
            CreateAclsRequest.KEY: self.create,
            DeleteAclsRequest.KEY: self.delete,
        }

    def describe(self, call: KafkaCall, request: DescribeAclsRequest) -> Steps[DescribeAclsResponse]:
        """Answer DescribeAcls: the bindings that a filter has, by resource."""
        access = self._admitted(call, AclOperation.DESCRIBE)
        if not isinstance(access, AccessAdministration):
            return DescribeAclsResponse(0, *access)
        wanted = _checked(_filter(request))
        resources: dict[tuple[int, str, int], dict[tuple[str, str, int, int], None]] = {}
        for found in access.bindings():
            yield
            for one in self._shown(found):
                if wanted.matches(one):
                    resources.setdefault(one[:3], {})[one[3:]] = None
        return DescribeAclsResponse(
            resources=[
                DescribeAclsResource(*resource, [AclDescription(*acl) for acl in acls])
                for resource, acls in resources.items()
            ],
        )

    def create(self, call: KafkaCall, request: CreateAclsRequest) -> Steps[CreateAclsResponse]:
        """Answer CreateAcls: each binding that is valid is added."""
        access = self._admitted(call, AclOperation.ALTER)
        if not isinstance(access, AccessAdministration):
            return CreateAclsResponse(results=[AclCreationResult(*access) for _ in request.creations])
        outcomes: list[Refusal] = []
        by_user: dict[str, list[tuple[int, Binding]]] = {}
        for number, one in enumerate([_checked(_binding(creation)) for creation in request.creations]):
            yield
            try:
                binding = one.to_policy(self._cluster)
            except BindingRejected as error:
                outcomes.append((ErrorCode.INVALID_REQUEST, str(error)))
            else:
                outcomes.append(DONE)
                by_user.setdefault(binding.username, []).append((number, binding))
        for username, added in by_user.items():
            yield
            try:
                access.add_bindings(username, [binding for _, binding in added])
            except AccessError as error:
                for number, _ in added:
                    outcomes[number] = ErrorCode.INVALID_REQUEST, str(error)
        chosen = [binding for added in by_user.values() for _, binding in added]
        self._report(call, chosen, outcomes)
        return CreateAclsResponse(results=[AclCreationResult(*outcome) for outcome in outcomes])

    def delete(self, call: KafkaCall, request: DeleteAclsRequest) -> Steps[DeleteAclsResponse]:
        """Answer DeleteAcls: the bindings that a filter has are removed."""
        access = self._admitted(call, AclOperation.ALTER)
        if not isinstance(access, AccessAdministration):
            return DeleteAclsResponse(
                filter_results=[DeleteAclsFilterResult(*access) for _ in request.filters]
            )
        filters = [_checked(_filter(one)) for one in request.filters]
        matching: list[dict[KafkaBinding, None]] = [{} for _ in filters]
        chosen: dict[str, set[Binding]] = {}
        kept: set[KafkaBinding] = set()
        for found in access.bindings():
            yield
            for binding in found:
                shown = list(kafka_bindings(binding, self._cluster))
                matched = {one for one in shown if any(each.matches(one) for each in filters)}
                for each, results in zip(filters, matching, strict=True):
                    results.update((one, None) for one in shown if each.matches(one))
                if matched and len(matched) == len(shown):
                    chosen.setdefault(binding.username, set()).add(binding)
                else:
                    kept |= matched
        for username, bindings in chosen.items():
            yield
            kept.update(self._shown(access.remove_bindings(username, bindings)))
        outcomes = [(ErrorCode.INVALID_REQUEST, PART_OF_ENTRY)] if kept else [DONE]
        self._report(call, [one for bindings in chosen.values() for one in bindings], outcomes)
        return DeleteAclsResponse(
            filter_results=[
                DeleteAclsFilterResult(
                    ErrorCode.NONE, None, [_deleted(one, is_kept=one in kept) for one in results]
                )
                for results in matching
            ]
        )

    def _admitted(self, call: KafkaCall, operation: AclOperation) -> AccessAdministration | Refusal:
        """Return the users and policies for a request that is allowed, else why it is not."""
        access = self._operations.access
        if access is None or not self._operations.options.authorization_enabled:
            return ErrorCode.SECURITY_DISABLED, NO_AUTHORIZER
        use = Use.QUERY if operation is AclOperation.DESCRIBE else Use.ADMINISTER
        try:
            call.admit(use, on_cluster(self._operations, operation))
        except (NotAdmitted, OperationError) as error:
            return error_code(error, ErrorCode.CLUSTER_AUTHORIZATION_FAILED), str(error)
        return access

    def _shown(self, bindings: Iterable[Binding]) -> Iterable[KafkaBinding]:
        """Return bindings in Kafka's terms, each once."""
        return dict.fromkeys(one for binding in bindings for one in kafka_bindings(binding, self._cluster))

    def _report(self, call: KafkaCall, changed: Sequence[Binding], outcomes: Iterable[Refusal]) -> None:
        """Log a change in the audit log, with the first failure."""
        code, reason = next((one for one in outcomes if one[0]), DONE)
        objects = (f"subject:{subject_of(one.username)},resource:{one.resource}" for one in changed)
        what = ",".join(dict.fromkeys(objects))
        api = APIS[call.header.key].name
        self._audit.administered(call.user or "", call.connection.address, api, what, str(int(code)), reason)


def _checked(one: B) -> B:
    """Return a binding or filter. Raises `UnservableRequest` for an element that is not set."""
    if one.has_unset:
        raise UnservableRequest("an access control list has an element without a value")
    return one


def _binding(creation: AclCreation) -> KafkaBinding:
    return KafkaBinding(
        creation.resource_type,
        creation.resource_name,
        creation.resource_pattern_type,
        creation.principal,
        creation.host,
        creation.operation,
        creation.permission_type,
    )


def _filter(request: DescribeAclsRequest | DeleteAclsFilter) -> BindingFilter:
    return BindingFilter(
        request.resource_type_filter,
        request.resource_name_filter,
        request.pattern_type_filter,
        request.principal_filter,
        request.host_filter,
        request.operation,
        request.permission_type,
    )


def _deleted(one: KafkaBinding, *, is_kept: bool) -> DeleteAclsMatchingAcl:
    code, text = (ErrorCode.INVALID_REQUEST, PART_OF_ENTRY) if is_kept else (ErrorCode.NONE, None)
    return DeleteAclsMatchingAcl(code, text, *one)
