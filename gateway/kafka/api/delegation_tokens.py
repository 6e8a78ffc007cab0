"""CreateDelegationToken, RenewDelegationToken, ExpireDelegationToken, DescribeDelegationToken (KIP-48).

A client needs no right for tokens of its own. It must have authenticated itself, and not by a token. Source:
`KafkaApis`, `DelegationTokenControlManager`, `DelegationTokenManager.filterToken`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from mqgateway.engine.steps import Steps
from mqgateway.gateway.access.administration import AccessAdministration
from mqgateway.gateway.access.audit import Audit
from mqgateway.gateway.access.delegation import (
    DelegationTokens,
    NoSuchToken,
    NotOwner,
    OwnedToken,
    TokenExpired,
    TokenLimitExceeded,
)
from mqgateway.gateway.access.errors import AccessError
from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.access.policies import ResourceType
from mqgateway.gateway.access.users import SUBJECT_PREFIX
from mqgateway.gateway.broker.operations import NotAdmitted, Operations, Use
from mqgateway.gateway.kafka.api import Handlers
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.codec.apis import APIS
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.create_delegation_token_request import (
    CreateDelegationTokenRequest,
)
from mqgateway.gateway.kafka.codec.messages.create_delegation_token_response import (
    CreateDelegationTokenResponse,
)
from mqgateway.gateway.kafka.codec.messages.describe_delegation_token_request import (
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
)
from mqgateway.gateway.kafka.codec.messages.describe_delegation_token_response import (
    DescribedDelegationToken,
    DescribedDelegationTokenRenewer,
    DescribeDelegationTokenResponse,
)
from mqgateway.gateway.kafka.codec.messages.expire_delegation_token_request import (
    ExpireDelegationTokenRequest,
)
from mqgateway.gateway.kafka.codec.messages.expire_delegation_token_response import (
    ExpireDelegationTokenResponse,
)
from mqgateway.gateway.kafka.codec.messages.renew_delegation_token_request import RenewDelegationTokenRequest
from mqgateway.gateway.kafka.codec.messages.renew_delegation_token_response import (
    RenewDelegationTokenResponse,
)
from mqgateway.gateway.kafka.delegation import delegation_tokens
from mqgateway.gateway.kafka.rights import may, on_named

USER: Final = SUBJECT_PREFIX.rstrip(":")
"""The type of principals that are users."""
ANONYMOUS: Final = "ANONYMOUS"
"""The name of a client that has not authenticated itself."""
NO_TIME: Final = -1
"""Stands for the time of a token in a refusal of the broker that got the request."""
REQUESTERS_SINCE: Final = 3
"""Version of CreateDelegationToken and DescribeDelegationToken from which answers name the requester."""
_CODES: Final[Mapping[type[AccessError], ErrorCode]] = {
    NoSuchToken: ErrorCode.DELEGATION_TOKEN_NOT_FOUND,
    NotOwner: ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH,
    TokenExpired: ErrorCode.DELEGATION_TOKEN_EXPIRED,
    TokenLimitExceeded: ErrorCode.POLICY_VIOLATION,
}


class DelegationTokenRequests:
    """Requests about the tokens of users."""

    def __init__(self, operations: Operations) -> None:
        self._tokens = delegation_tokens(operations)
        self._access = operations.access
        self._audit = Audit(operations.options.audit_log_format)

    def handlers(self) -> Handlers:
        """Return the functions by API key."""
        return {
            CreateDelegationTokenRequest.KEY: self.create,
            RenewDelegationTokenRequest.KEY: self.renew,
            ExpireDelegationTokenRequest.KEY: self.expire,
            DescribeDelegationTokenRequest.KEY: self.describe,
        }

    def create(self, call: KafkaCall, request: CreateDelegationTokenRequest) -> CreateDelegationTokenResponse:
        """Answer CreateDelegationToken."""
        requester = call.user or ANONYMOUS
        kind, owner = USER, requester
        if request.owner_principal_name:
            kind, owner = request.owner_principal_type or "", request.owner_principal_name
        shown = _requester(call, requester)
        answer = CreateDelegationTokenResponse(ErrorCode.NONE, kind, owner, *shown, NO_TIME, NO_TIME, NO_TIME)
        answer.error_code = self._refusal(call) or self._refusal_to_create(call, request, kind, owner)
        if answer.error_code:
            return answer
        answer.issue_timestamp_ms = answer.expiry_timestamp_ms = answer.max_timestamp_ms = 0
        tokens = self._tokens
        if tokens is None:
            answer.error_code = ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
            return answer
        renewers = [one.principal_name for one in request.renewers]
        try:
            made = tokens.create(owner, requester, renewers, request.max_lifetime_ms)
        except AccessError as error:
            answer.error_code = (
                ErrorCode.RESOURCE_NOT_FOUND if isinstance(error, NoSuchToken) else _code(error)
            )
            self._report(call, f"username:{owner}", answer.error_code, str(error))
            return answer
        token = made.token
        answer.issue_timestamp_ms, answer.expiry_timestamp_ms = token.issued, token.expires
        answer.max_timestamp_ms, answer.token_id, answer.hmac = token.ends, token.token_id, made.secret
        self._report(call, f"username:{owner},token:{token.token_id}", ErrorCode.NONE, "")
        return answer

    def renew(self, call: KafkaCall, request: RenewDelegationTokenRequest) -> RenewDelegationTokenResponse:
        """Answer RenewDelegationToken."""
        hmac, period = bytes(request.hmac), request.renew_period_ms
        changed = self._changed(call, hmac, lambda tokens, user: tokens.renew(user, hmac, period))
        return RenewDelegationTokenResponse(*changed)

    def expire(self, call: KafkaCall, request: ExpireDelegationTokenRequest) -> ExpireDelegationTokenResponse:
        """Answer ExpireDelegationToken."""
        hmac, period = bytes(request.hmac), request.expiry_time_period_ms
        changed = self._changed(call, hmac, lambda tokens, user: tokens.expire(user, hmac, period))
        return ExpireDelegationTokenResponse(*changed)

    def describe(
        self, call: KafkaCall, request: DescribeDelegationTokenRequest
    ) -> Steps[DescribeDelegationTokenResponse]:
        """Answer DescribeDelegationToken: the tokens that the client may see; without owners, of all."""
        refusal = self._refusal(call)
        if refusal:
            return DescribeDelegationTokenResponse(refusal)
        if self._tokens is None:
            return DescribeDelegationTokenResponse(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
        owners = None if request.owners is None else _users(request.owners)
        found: list[DescribedDelegationToken] = []
        for one in self._tokens.all():
            yield
            if (owners is None or owners & one.viewers) and _may_see(call, one, self._access):
                found.append(_described(call, one, _shows_secret(call, one, self._access)))
        return DescribeDelegationTokenResponse(ErrorCode.NONE, found)

    def _changed(
        self, call: KafkaCall, hmac: bytes, change: Callable[[DelegationTokens, str], int]
    ) -> tuple[ErrorCode, int]:
        """Change a token; return the error code, and when the token expires."""
        refusal, tokens = self._refusal(call), self._tokens
        if refusal:
            return refusal, NO_TIME
        if tokens is None:
            return ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED, 0
        token_id = tokens.id_of(hmac)
        try:
            expires = change(tokens, call.user or "")
        except AccessError as error:
            self._report(call, f"token:{token_id}", _code(error), str(error))
            return _code(error), 0
        self._report(call, f"token:{token_id}", ErrorCode.NONE, "")
        return ErrorCode.NONE, expires

    def _refusal(self, call: KafkaCall) -> ErrorCode:
        """Return why a client may ask nothing about tokens; NONE if it may."""
        if call.user is None or call.has_token:
            return ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
        try:
            call.admit(Use.QUERY)
        except NotAdmitted:
            return ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
        return ErrorCode.NONE

    def _refusal_to_create(
        self, call: KafkaCall, request: CreateDelegationTokenRequest, kind: str, owner: str
    ) -> ErrorCode:
        """Return why a client may not create such a token; NONE if it may."""
        is_own = kind == USER and owner == call.user
        need = on_named(ResourceType.USER, f"{kind}:{owner}", AclOperation.CREATE_TOKENS)
        if not is_own and not (may(call, need) and _may_act_for(self._access, call.user or "", owner)):
            return ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
        if kind != USER or any(one.principal_type != USER for one in request.renewers):
            return ErrorCode.INVALID_PRINCIPAL_TYPE
        return ErrorCode.NONE

    def _report(self, call: KafkaCall, what: str, code: int, reason: str) -> None:
        """Log a change in the audit log."""
        api = APIS[call.header.key].name
        self._audit.administered(call.user or "", call.connection.address, api, what, str(int(code)), reason)


def _may_act_for(access: AccessAdministration | None, user: str, owner: str) -> bool:
    """Return True unless a user that is no super user wants to act for one that is."""
    found = None if access is None else access.user(owner)
    return access is None or found is None or not found.is_super or access.is_super(user)


def _may_see(call: KafkaCall, one: OwnedToken, access: AccessAdministration | None) -> bool:
    """Return True if a client may see a token."""
    user = call.user or ""
    if user in one.viewers:
        return True
    has_right = may(
        call, on_named(ResourceType.DELEGATION_TOKEN, one.token.token_id, AclOperation.DESCRIBE)
    ) or may(call, on_named(ResourceType.USER, SUBJECT_PREFIX + one.owner, AclOperation.DESCRIBE_TOKENS))
    return has_right and _may_act_for(access, user, one.owner)


def _shows_secret(call: KafkaCall, one: OwnedToken, access: AccessAdministration | None) -> bool:
    """Return True if a client that sees a token may see its secret, by which it could be the owner."""
    user = call.user or ""
    return user in one.viewers or access is None or access.shows_passwords(user)


def _requester(call: KafkaCall, name: str) -> tuple[str, str]:
    """Return type and name of the requester of a token, as the version of a call has them."""
    return (USER, name) if call.version >= REQUESTERS_SINCE else ("", "")


def _described(call: KafkaCall, one: OwnedToken, shows_secret: bool) -> DescribedDelegationToken:
    token = one.token
    return DescribedDelegationToken(
        USER,
        one.owner,
        *_requester(call, token.requester),
        token.issued,
        token.expires,
        token.ends,
        token.token_id,
        one.secret if shows_secret else b"",
        [DescribedDelegationTokenRenewer(USER, name) for name in token.renewers],
    )


def _code(error: AccessError) -> ErrorCode:
    return _CODES.get(type(error), ErrorCode.UNKNOWN_SERVER_ERROR)


def _users(principals: Iterable[DescribeDelegationTokenOwner]) -> set[str]:
    """Return the names of the principals that are users."""
    return {one.principal_name for one in principals if one.principal_type == USER}
