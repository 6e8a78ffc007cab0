"""Authentication and authorization of every request of a server.

As a hook, it sees the header of each request first. Resources named in a body are checked by `guarded`, in
front of the request function, because long bodies are read incrementally. A refusal is answered with code 16
and RocketMQ's text. RocketMQ: `AuthenticationPipeline`, `AuthorizationPipeline`,
`DefaultAuthenticationHandler`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from mqgateway.engine.clock import Clock
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.options.access import AccessOptions
from mqgateway.engine.steps import Steps, in_parts
from mqgateway.gateway.access.administration import AccessAdministration
from mqgateway.gateway.access.allowed import Allowed, Watched
from mqgateway.gateway.access.audit import Audit
from mqgateway.gateway.access.callers import FrontEndCaller
from mqgateway.gateway.access.decisions import decide
from mqgateway.gateway.access.errors import NotAdmitted
from mqgateway.gateway.access.memory import Outcomes
from mqgateway.gateway.access.needs import Fields, Need
from mqgateway.gateway.access.resources import (
    BY_BODY,
    BY_RECORD,
    UNCHECKED_BY_STANDARD,
    BodyReader,
    needs_of_header,
    needs_of_record,
    standard_needs_of_header,
)
from mqgateway.gateway.access.settings import AccessSettings
from mqgateway.gateway.access.signature import ACCESS_KEY, is_signed
from mqgateway.gateway.access.tables import AccessTables
from mqgateway.gateway.access.throttling import LateRefusals, Pause, ip_of
from mqgateway.gateway.access.users import User
from mqgateway.gateway.codec.codes import ResponseCode
from mqgateway.gateway.remoting.call import Call, Peer, RequestError

NO_NAME: Final = "username cannot be null."
NOT_SIGNED: Final = "check signature failed."
UNKNOWN_TOKEN: Final = "the delegation token is unknown or has expired."
UNKNOWN_SUBJECT: Final = "Authorization failed. Please verify your access rights and try again."
UNREADABLE: Final = "parse authorization context error."


NeedsOfHeader = Callable[[int, Fields, str], list[Need]]
"""Function of request code, header fields and the server's cluster that returns the needs of a request."""


class AccessControl:
    """Access control with the users and policies of a server. Call `load` first.

    `pause` delays throttled refusals.
    """

    after: None = None

    def __init__(
        self,
        settings: AccessSettings,
        tables: AccessTables,
        options: AccessOptions,
        clock: Clock,
        pause: Pause,
        needs: NeedsOfHeader | None = None,
    ) -> None:
        self._settings = settings
        self.late_refusals = LateRefusals(clock, pause)
        self.tables = tables
        self._audit = Audit(settings.audit_format)
        of_broker = needs_of_header if settings.is_strict else standard_needs_of_header
        self._checks_records = settings.is_strict and needs is None
        self._needs_of_header = of_broker if needs is None else needs
        by_signature, by_policy = settings.authentication_memory, settings.authorization_memory
        self._signatures = None if by_signature is None else Outcomes(by_signature, clock)
        self._decisions = None if by_policy is None else Outcomes(by_policy, clock)
        self.allowed = Allowed()
        self.administration = AccessAdministration(tables, options)

    def load(self) -> None:
        """Load the tables and create the configured users. Raises `ConfigError`."""
        self.tables.load()
        users = self.tables.users
        for user in self._settings.first_users:
            if user.username not in users:
                users.put(user)

    def retry(self) -> None:
        """Retry failed writes; for a slow periodic task."""
        self.tables.retry()

    def close(self) -> None:
        """Write pending changes to the files."""
        self.tables.close()

    # Hook interface

    def before(self, call: Call) -> None:
        """Refuse a request that is not authenticated, or not authorized by its header.

        Raises `RequestError`.
        """
        settings, command = self._settings, call.command
        code, name = command.code, command.ext_fields.get(ACCESS_KEY)
        user = self.tables.users.get(name) if name else None
        is_logged = self._audit.is_verbose
        if settings.authenticates and code not in settings.unsigned_codes:
            if self._signatures is None:
                refusal = self._signature_refusal(call, name, user, is_logged)
            else:
                find = partial(self._signature_refusal, call, name, user, is_logged)
                refusal = self._signatures.get(call.peer, name, find)
            if refusal:
                until = self.late_refusals.until(call.peer) if name else None
                raise RequestError(ResponseCode.NO_PERMISSION, refusal, until=until)
        elif settings.is_strict:
            name = user = None
        if settings.authorizes and code not in settings.unchecked_codes:
            self._authorize_header(call, name, user, is_logged)
            if self._checks_records and code in BY_RECORD and self._needs_a_look(user):
                group = command.ext_fields.get(BY_RECORD[code][1], "")
                call.may_use = partial(self._may_use, call.peer, code, name, group)

    def guarded(self, table: Mapping[int, Any], options: BrokerOptions) -> dict[int, Any]:
        """Wrap the functions of a broker's table whose bodies name resources with an authorization check.

        Bodies are read within the limits of `options`.
        """
        settings = self._settings
        unchecked = settings.unchecked_codes | (frozenset() if settings.is_strict else UNCHECKED_BY_STANDARD)
        readers = BY_BODY if settings.authorizes else {}
        return {
            code: function
            if code in unchecked or (reader := readers.get(code)) is None
            else self._guarded(function, reader, options)
            for code, function in table.items()
        }

    def _guarded(self, function: Any, reader: BodyReader, options: BrokerOptions) -> Any:
        def serve(broker: Any, call: Call) -> Steps[Any]:
            name = self._name(call)
            if self._needs_a_look(None if name is None else self.tables.users.get(name)):
                try:
                    needs = yield from reader(call.body, options)
                except Exception:
                    raise RequestError(ResponseCode.NO_PERMISSION, UNREADABLE) from None
                for part in in_parts(list(dict.fromkeys(needs))):
                    self._authorize(call.peer, call.command.code, name, part)
                    yield
            reply = function(broker, call)
            if isinstance(reply, Generator):
                reply = yield from reply
            return reply

        return serve

    def _needs_a_look(self, user: User | None) -> bool:
        """Return True if a user's needs must be checked or logged: super users may do everything."""
        return user is None or not user.is_super or user.is_disabled or self._audit.is_verbose

    # Protocol front ends without commands

    def admit(self, caller: FrontEndCaller, needs: Callable[[], Sequence[Need]]) -> None:
        """See `callers.CallerAccess`."""
        settings = self._settings
        if settings.authenticates:
            refusal = self._caller_refusal(caller)
            if refusal:
                is_guess = (caller.name or caller.token) and not caller.has_session
                until = self.late_refusals.until_for(caller.ip) if is_guess else None
                raise NotAdmitted(refusal, until)
        if not settings.authorizes:
            return
        asked = needs()
        name = caller.name if settings.authenticates or not settings.is_strict else None
        if asked and not name:
            raise NotAdmitted(UNKNOWN_SUBJECT)
        for need in dict.fromkeys(asked):
            refusal = self._decision(name or "", need, caller.ip, caller.address, caller.request)
            if refusal:
                raise NotAdmitted(refusal)

    # Authentication

    def _signature_refusal(self, call: Call, name: str | None, user: User | None, is_logged: bool) -> str:
        """Return why a request is not authenticated; empty if it is."""
        command = call.command
        if user is None or user.is_disabled:
            refusal = _unknown(name, user)
        else:
            refusal = "" if is_signed(command, user.password) else NOT_SIGNED
        if refusal or is_logged:
            self._log_authentication(name, call.peer.address, command.code, refusal)
        return refusal

    def _caller_refusal(self, caller: FrontEndCaller) -> str:
        """Return why a caller of a front end without commands is not authenticated; empty if it is."""
        user = self.tables.users.get(caller.name or "")
        refusal = UNKNOWN_TOKEN if caller.token and not caller.name else _unknown(caller.name, user)
        if not refusal and user is not None and not caller.has_session and not caller.proof(user.password):
            refusal = NOT_SIGNED
        if refusal or self._audit.is_verbose:
            self._log_authentication(caller.name, caller.address, caller.request, refusal, caller.token)
        return refusal

    def _log_authentication(
        self, name: str | None, address: str, request: int | str, refusal: str, token: str = ""
    ) -> None:
        if name or token:
            self._audit.authenticated(name or "", address, request, refusal, token)

    def _name(self, call: Call) -> str | None:
        """Return the user of a request; None without one, or if it must be authenticated and is not."""
        settings, command = self._settings, call.command
        is_proved = settings.authenticates and command.code not in settings.unsigned_codes
        return command.ext_fields.get(ACCESS_KEY) if is_proved or not settings.is_strict else None

    # Authorization

    def _authorize_header(self, call: Call, name: str | None, user: User | None, is_logged: bool) -> None:
        """Refuse a request whose header needs what its user may not do. Raises `RequestError`.

        Cached decisions are used unless the request is logged or a stateful strategy decides.
        """
        if not self._needs_a_look(user):
            return
        settings, command = self._settings, call.command
        fields, code = command.ext_fields, command.code
        if name is None or self._decisions is not None or is_logged:
            self._authorize(call.peer, code, name, self._needs_of_header(code, fields, settings.cluster_name))
            return
        ip, acls = ip_of(call.peer), (self.tables.acl_of(name), self.tables.acl_of_everyone())
        if self.allowed.knows(name, ip, code, fields, user, acls):
            return
        watched = Watched(fields)
        self._authorize(call.peer, code, name, self._needs_of_header(code, watched, settings.cluster_name))
        self.allowed.add(name, ip, code, watched, user, acls)

    def _authorize(self, peer: Peer, code: int, name: str | None, needs: Sequence[Need]) -> None:
        """Refuse a request with needs that its user does not meet. Raises `RequestError`."""
        if not needs:
            return
        if name is None:
            raise RequestError(ResponseCode.NO_PERMISSION, UNKNOWN_SUBJECT)
        ip, address = ip_of(peer), peer.address
        for need in needs:
            if self._decisions is None:
                refusal = self._decision(name, need, ip, address, code)
            else:
                find = partial(self._decision, name, need, ip, address, code)
                refusal = self._decisions.get(peer, (name, need, ip), find)
            if refusal:
                raise RequestError(ResponseCode.NO_PERMISSION, refusal)

    def _may_use(self, peer: Peer, code: int, name: str | None, group: str, topic: str) -> bool:
        """Return True if a user may do what a code stands for with records of a topic."""
        try:
            self._authorize(peer, code, name, needs_of_record(topic, BY_RECORD[code][0], group))
        except RequestError:
            return False
        return True

    def _decision(self, name: str, need: Need, ip: str, address: str, request: int | str) -> str:
        tables, (resource, actions, operation) = self.tables, need
        user, acl, everyone = tables.users.get(name), tables.acl_of(name), tables.acl_of_everyone()
        refusal = decide(name, user, acl, resource, actions, ip, operation, everyone).refusal
        if refusal or self._audit.is_verbose:
            words = ",".join(actions) if operation is None else operation.value
            self._audit.authorized(name, address, request, words, str(resource), refusal)
        return refusal


def _unknown(name: str | None, user: User | None) -> str:
    """Return why a user is refused whatever the signature; empty if the signature decides."""
    if not name:
        return NO_NAME
    if user is None:
        return f"User:{name} is not found."
    return f"User:{name} is disabled." if user.is_disabled else ""
