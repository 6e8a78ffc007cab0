"""Checks of every request of a broker with access control of version 4.

As a hook it checks the header of each request before all else. Resources named in a body are checked before
the function of the code runs. A refusal is answered with 1 and RocketMQ's text, which has the class of the
exception and its source line. RocketMQ: `PlainAccessValidator`, `PlainPermissionManager.validate`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn

from mqgateway.engine.clock import Clock
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.options.access import AuthorizationProfile
from mqgateway.engine.steps import Steps
from mqgateway.gateway.access.audit import Audit
from mqgateway.gateway.access.callers import FrontEndCaller
from mqgateway.gateway.access.errors import NotAdmitted
from mqgateway.gateway.access.needs import Need
from mqgateway.gateway.access.plain.accounts import Account, Permission
from mqgateway.gateway.access.plain.keeper import AclRulesKeeper
from mqgateway.gateway.access.plain.needs import (
    BodyReader,
    needs_admin,
    needs_of_fields,
    needs_of_record,
    readers,
)
from mqgateway.gateway.access.plain.rules import TRACES, PlainNeed, refused_need, shown
from mqgateway.gateway.access.policies import Action
from mqgateway.gateway.access.resources import BY_RECORD
from mqgateway.gateway.access.signature import ACCESS_KEY, is_signed
from mqgateway.gateway.access.throttling import LateRefusals, Pause, ip_of
from mqgateway.gateway.codec.codes import ResponseCode
from mqgateway.gateway.remoting.call import Call, RequestError


class PlainControl:
    """Accepts requests by the keeper's rules; `pause` delays refusals."""

    after: None = None

    def __init__(self, keeper: AclRulesKeeper, options: BrokerOptions, clock: Clock, pause: Pause) -> None:
        self._keeper = keeper
        self.late_refusals = LateRefusals(clock, pause)
        self._options = options
        self._is_strict = options.authorization_profile is AuthorizationProfile.STRICT
        self._readers = readers(self._is_strict)
        self._audit = Audit(options.audit_log_format)

    def admit(self, caller: FrontEndCaller, needs: Callable[[], Sequence[Need]]) -> None:
        """See `access.callers.CallerAccess`."""
        rules = self._keeper.rules
        if rules.is_white(caller.ip):
            return
        if not caller.name:
            raise NotAdmitted("No accessKey is configured")
        account = rules.account(caller.name)
        if account is None:
            self._audit.authenticated(caller.name, caller.address, caller.request, "No acl config")
            raise NotAdmitted(f"No acl config for {caller.name}", self.late_refusals.until_for(caller.ip))
        if account.white_addresses.match(caller.ip):
            return
        if not caller.proof(account.secret_key):
            self._audit.authenticated(caller.name, caller.address, caller.request, "check signature failed")
            until = self.late_refusals.until_for(caller.ip)
            raise NotAdmitted(f"Check signature failed for accessKey={caller.name}", until)
        if self._audit.is_verbose:
            self._audit.authenticated(caller.name, caller.address, caller.request, "")
        asked = [PlainNeed(one.resource, _permission(one.actions)) for one in needs()]
        refused = refused_need(account, asked)
        if refused is not None:
            resource, action = shown(refused.resource), refused.permission.name or ""
            sentence = f"No default permission for {resource}"
            self._audit.authorized(caller.name, caller.address, caller.request, action, resource, sentence)
            raise NotAdmitted(sentence)

    # As a hook.

    def before(self, call: Call) -> None:
        """Refuse a request without a valid signature, or without the rights its header needs. Raises
        `RequestError`.
        """
        account = self._account(call)
        if account is None:
            return
        name, code = account.access_key, call.command.code
        if not is_signed(call.command, account.secret_key, as_version_4=True):
            self._refuse_name(call, name, f"Check signature failed for accessKey={name}", 683)
        if self._audit.is_verbose:
            self._audit.authenticated(name, call.peer.address, code, "")
        needs = needs_of_fields(code, call.command.ext_fields, self._is_strict)
        if TRACES in needs:
            return
        if not account.is_admin and needs_admin(code, self._is_strict):
            sentence = f"Need admin permission for request code={code}, but accessKey={name} is not"
            self._refuse(call, account, "admin", "", sentence, 580)
        self._check(call, account, needs)
        if self._is_strict and code in BY_RECORD:
            group = call.command.ext_fields.get(BY_RECORD[code][1], "")
            call.may_use = partial(self._may_use, call.peer.address, code, account, group)

    def guarded(self, table: Mapping[int, Any]) -> dict[int, Any]:
        """Return a table of request functions, with a check before those whose bodies name resources."""
        return {
            code: self._guarded(function, self._readers[code]) if code in self._readers else function
            for code, function in table.items()
        }

    def _guarded(self, function: Any, reader: BodyReader) -> Any:
        def serve(broker: Any, call: Call) -> Steps[Any]:
            account = self._account(call)
            if account is not None and not (account.is_admin and not account.permissions):
                try:
                    needs = yield from reader(call.body, self._options)
                except Exception as error:
                    raise RequestError(
                        ResponseCode.SYSTEM_ERROR, _said(str(error), "PlainAccessValidator", "parse", 134)
                    ) from None
                for need in dict.fromkeys(needs):
                    self._check(call, account, [need])
                    yield
            reply = function(broker, call)
            if isinstance(reply, Generator):
                reply = yield from reply
            return reply

        return serve

    def _may_use(self, address: str, code: int, account: Account, group: str, topic: str) -> bool:
        """Return True if an account may do what a code stands for with records of a topic."""
        need = refused_need(account, needs_of_record(code, topic, group))
        if need is not None:
            action, resource = need.permission.name or "", shown(need.resource)
            sentence = f"No default permission for {resource}"
            self._audit.authorized(account.access_key, address, code, action, resource, sentence)
        return need is None

    def _account(self, call: Call) -> Account | None:
        """Return the account of a request; None if its address needs none. Raises `RequestError`."""
        ip = ip_of(call.peer)
        rules = self._keeper.rules
        if rules.is_white(ip):
            return None
        name = call.command.ext_fields.get(ACCESS_KEY)
        if name is None:
            raise RequestError(
                ResponseCode.SYSTEM_ERROR, _said("No accessKey is configured", _MANAGER, "validate", 663)
            )
        account = rules.account(name)
        if account is None:
            self._refuse_name(call, name, f"No acl config for {name}", 667)
        return None if account.white_addresses.match(ip) else account

    def _check(self, call: Call, account: Account, needs: Sequence[PlainNeed]) -> None:
        need = refused_need(account, needs)
        if need is not None:
            resource = shown(need.resource)
            line = 610 if need.resource in account.permissions else 605
            action = need.permission.name or ""
            self._refuse(call, account, action, resource, f"No default permission for {resource}", line)
        if self._audit.is_verbose:
            for one in needs:
                self._audit.authorized(
                    account.access_key,
                    call.peer.address,
                    call.command.code,
                    one.permission.name or "",
                    shown(one.resource),
                    "",
                )

    def _refuse_name(self, call: Call, name: str, sentence: str, line: int) -> NoReturn:
        self._audit.authenticated(name, call.peer.address, call.command.code, sentence)
        said = _said(sentence, _MANAGER, "validate", line)
        until = self.late_refusals.until(call.peer) if name else None
        raise RequestError(ResponseCode.SYSTEM_ERROR, said, until=until)

    def _refuse(
        self, call: Call, account: Account, action: str, resource: str, sentence: str, line: int
    ) -> NoReturn:
        code, address = call.command.code, call.peer.address
        self._audit.authorized(account.access_key, address, code, action, resource, sentence)
        raise RequestError(ResponseCode.SYSTEM_ERROR, _said(sentence, _MANAGER, "checkPerm", line))


def _permission(actions: Sequence[Action]) -> Permission:
    """Return the permission of version 4; for several actions, one of which suffices, that of the first."""
    return Permission.PUB if actions[0] is Action.PUB else Permission.SUB


_MANAGER = "PlainPermissionManager"


def _said(sentence: str, where: str, method: str, line: int) -> str:
    """Return the text of a refusal, as RocketMQ shows an exception, with the line where 4.9.7 raises it."""
    exception = "org.apache.rocketmq.acl.common.AclException"
    return f"{exception}: {sentence}, org.apache.rocketmq.acl.plain.{where}.{method}({where}.java:{line})"
