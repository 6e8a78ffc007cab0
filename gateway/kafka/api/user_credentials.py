"""DescribeUserScramCredentials and AlterUserScramCredentials: credentials of users of access control.

What is described and deleted are credentials that such requests have set. A user that has none authenticates
itself by SCRAM with its password. Standard: `ScramControlManager`, `ScramImage`, whose texts these are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from mqgateway.engine.steps import Steps, mapped
from mqgateway.gateway.access.administration import AccessAdministration, OnlySuperUsers
from mqgateway.gateway.access.audit import Audit
from mqgateway.gateway.access.errors import AccessError
from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.access.scram import ITERATIONS_MIN, SCRAM_MECHANISMS, ScramMechanism
from mqgateway.gateway.access.users import User
from mqgateway.gateway.broker.operations import Operations
from mqgateway.gateway.kafka.api import Handlers
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.codec.apis import APIS
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.alter_user_scram_credentials_request import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from mqgateway.gateway.kafka.codec.messages.alter_user_scram_credentials_response import (
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)
from mqgateway.gateway.kafka.codec.messages.describe_user_scram_credentials_request import (
    DescribeUserScramCredentialsRequest,
)
from mqgateway.gateway.kafka.codec.messages.describe_user_scram_credentials_response import (
    CredentialInfo,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from mqgateway.gateway.kafka.rights import cluster_refusal

ITERATIONS_MAX: Final = 16_384
"""Most iterations of a key derivation."""
ALTERED_AT_ONCE: Final = 50
"""Users that are changed in one step of a request."""
_API: Final = APIS[AlterUserScramCredentialsRequest.KEY].name
_BY_NUMBER: Final = {mechanism.number: mechanism for mechanism in SCRAM_MECHANISMS.values()}

Alteration = ScramCredentialDeletion | ScramCredentialUpsertion
Outcome = tuple[ErrorCode, str]


NO_USERS: Final = ErrorCode.SECURITY_DISABLED, "There are no users: authenticationEnabled is false."


class UserCredentials:
    """Requests about the SCRAM credentials of users. Without access control there are no users."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations
        self._audit = Audit(operations.options.audit_log_format)

    def handlers(self) -> Handlers:
        """Return the functions by API key."""
        return {
            DescribeUserScramCredentialsRequest.KEY: self.describe,
            AlterUserScramCredentialsRequest.KEY: self.alter,
        }

    @property
    def _access(self) -> AccessAdministration | None:
        return self._operations.access if self._operations.options.authentication_enabled else None

    def describe(
        self, call: KafkaCall, request: DescribeUserScramCredentialsRequest
    ) -> Steps[DescribeUserScramCredentialsResponse]:
        """Answer DescribeUserScramCredentials; without names all users that have credentials."""
        refusal = cluster_refusal(call, self._operations, AclOperation.DESCRIBE)
        if refusal is not None:
            return DescribeUserScramCredentialsResponse(0, *refusal)
        names, access = Counter(user.name for user in request.users or ()), self._access
        if names:
            results = yield from mapped(
                lambda name: _result(name, names[name], None if access is None else access.user(name)),
                list(names),
            )
        else:
            users = () if access is None else access.users()
            results = yield from mapped(_described, [user for user in users if user.scram])
        return DescribeUserScramCredentialsResponse(0, ErrorCode.NONE, None, results)

    def alter(
        self, call: KafkaCall, request: AlterUserScramCredentialsRequest
    ) -> Steps[AlterUserScramCredentialsResponse]:
        """Answer AlterUserScramCredentials: a request may change a user once."""
        by_name: dict[str, list[Alteration]] = {}
        alterations: list[Alteration] = [*request.deletions, *request.upsertions]
        for alteration in alterations:
            by_name.setdefault(alteration.name, []).append(alteration)
        refusal = cluster_refusal(call, self._operations, AclOperation.ALTER)
        caller, access = call.user or "", self._access
        if access is None:
            failed = [AlterUserScramCredentialsResult(name, *(refusal or NO_USERS)) for name in by_name]
            return AlterUserScramCredentialsResponse(0, failed)

        def result(name: str) -> AlterUserScramCredentialsResult:
            code, text = refusal or _altered(access, caller, by_name[name])
            self._audit.administered(
                caller, call.connection.address, _API, f"username:{name}", str(int(code)), text
            )
            return AlterUserScramCredentialsResult(name, code, text or None)

        results = yield from mapped(result, list(by_name), ALTERED_AT_ONCE)
        return AlterUserScramCredentialsResponse(0, results)


def _described(user: User) -> DescribeUserScramCredentialsResult:
    numbers = ((SCRAM_MECHANISMS[one.mechanism].number, one.iterations) for one in user.scram)
    credentials = [CredentialInfo(number, iterations) for number, iterations in sorted(numbers)]
    return DescribeUserScramCredentialsResult(user.username, ErrorCode.NONE, None, credentials)


def _result(name: str, count: int, user: User | None) -> DescribeUserScramCredentialsResult:
    if count > 1:
        text = f"Cannot describe SCRAM credentials for the same user twice in a single request: {name}"
        return DescribeUserScramCredentialsResult(name, ErrorCode.DUPLICATE_RESOURCE, text)
    if user is None or not user.scram:
        text = f"Attempt to describe a user credential that does not exist: {name}"
        return DescribeUserScramCredentialsResult(name, ErrorCode.RESOURCE_NOT_FOUND, text)
    return _described(user)


def _altered(access: AccessAdministration, caller: str, alterations: Sequence[Alteration]) -> Outcome:
    """Change a user, and return the outcome; several alterations of one user change nothing."""
    first = alterations[0]
    mechanism = _BY_NUMBER.get(first.mechanism)
    if not first.name:
        return ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty"
    if mechanism is None:
        return ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism"
    problem = _problem(access, first, mechanism)
    if problem is not None:
        return problem
    if len(alterations) > 1:
        text = "A user credential cannot be altered twice in the same request"
        return ErrorCode.DUPLICATE_RESOURCE, text
    try:
        if isinstance(first, ScramCredentialDeletion):
            access.delete_scram_credential(caller, first.name, mechanism.name)
        else:
            credential = mechanism.credential(
                bytes(first.salted_password), bytes(first.salt), first.iterations
            )
            access.put_scram_credential(caller, first.name, credential)
    except OnlySuperUsers as error:
        return ErrorCode.CLUSTER_AUTHORIZATION_FAILED, str(error)
    except AccessError as error:
        return ErrorCode.UNACCEPTABLE_CREDENTIAL, str(error)
    return ErrorCode.NONE, ""


def _problem(
    access: AccessAdministration, alteration: Alteration, mechanism: ScramMechanism
) -> Outcome | None:
    """Return why an alteration is wrong by itself; None if it is not."""
    if isinstance(alteration, ScramCredentialUpsertion):
        if alteration.iterations < ITERATIONS_MIN:
            return ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations"
        if alteration.iterations > ITERATIONS_MAX:
            return ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations"
        return None
    user = access.user(alteration.name)
    if user is None or user.scram_credential(mechanism.name) is None:
        return ErrorCode.RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist"
    return None
