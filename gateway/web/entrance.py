"""Authentication of the console: by users and passwords of the broker, or by a link that it prints.

With access control, users log in with the secret with which they sign requests, and policies apply as for
requests. Otherwise the console is reachable from this machine only, and opened by a link that works once.
Thus other users of the machine have no access.
"""

from __future__ import annotations

import hmac
import logging
import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mqgateway.engine.clock import Clock
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import BrokerOptions
from mqgateway.gateway.access.errors import AccessError
from mqgateway.gateway.access.needs import Need
from mqgateway.gateway.access.users import User
from mqgateway.gateway.web.call import Caller
from mqgateway.gateway.web.guard import is_loopback
from mqgateway.gateway.web.route import ApiError, Role
from mqgateway.gateway.web.sessions import Attempts, LoginSession, LoginSessions

if TYPE_CHECKING:
    from mqgateway.gateway.access.administration import AccessAdministration

log = logging.getLogger(__name__)

WRONG = "the user or the password is wrong"


def check(options: BrokerOptions) -> None:
    """Raise `ConfigError` for a reachable address without authentication, and for invalid roles."""
    if not options.authentication_enabled and not is_loopback(options.console_host):
        raise ConfigError(
            f"consoleHost={options.console_host}: without a login the console is for this machine only; "
            "set authenticationEnabled=true and initAuthenticationUser, or consoleHost=127.0.0.1"
        )
    read_roles(options.console_roles)


class Entrance:
    """Login to the console. The options have passed `check`."""

    def __init__(self, options: BrokerOptions, access: AccessAdministration | None, clock: Clock) -> None:
        self._options = options
        self._access = access if options.authentication_enabled else None
        self._roles = read_roles(options.console_roles)
        self.sessions = LoginSessions(clock)
        self._attempts = Attempts(clock)
        self.link_token = "" if self._access is not None else secrets.token_urlsafe(24)
        """Token that opens the console once; empty if users log in with passwords."""

    @property
    def asks_passwords(self) -> bool:
        """True if users log in with passwords, False if a link is needed."""
        return self._access is not None

    def log_in(self, user: str, password: str, address: str) -> LoginSession:
        """Return a new session after checking the password. Raises `ApiError`."""
        key = f"{address} {user}"
        wait = self._attempts.wait(key)
        if wait:
            raise ApiError(429, f"too many wrong passwords; try again in {wait:.0f} s")
        known = None if self._access is None else self._access.user(user)
        expected = secrets.token_urlsafe(16) if known is None else known.password
        is_right = hmac.compare_digest(expected.encode(), password.encode())
        if known is None or not is_right or known.is_disabled:
            self._attempts.failed(key)
            raise ApiError(401, WRONG)
        self._attempts.succeeded(key)
        return self.sessions.open(user, self._options.console_idle_minutes * 60)

    def enter(self, token: str) -> LoginSession:
        """Return a new session after checking the link's token, and replace the token. Raises `ApiError`."""
        if not self.link_token or not hmac.compare_digest(self.link_token.encode(), token.encode()):
            raise ApiError(401, "the link was used already, or is of another start; the log has a new one")
        self.link_token = secrets.token_urlsafe(24)
        log.info("the console was opened; the next browser can log in with #token=%s", self.link_token)
        return self.sessions.open("", None)

    def caller(self, session: LoginSession, address: str) -> Caller:
        """Return the caller of a session, with its current role. Raises `ApiError` for a deleted or disabled
        user."""
        if self._access is None:
            return Caller("", Role.ADMIN, address)
        user = self._user(session)
        role = Role.ADMIN if user.is_super else self._roles.get(user.username, Role.VIEWER)
        return Caller(user.username, role, address)

    def check_needs(self, caller: Caller, needs: Sequence[Need]) -> None:
        """Raise `ApiError` for needs that policies do not allow, if authorization is enabled."""
        if self._access is None or not self._options.authorization_enabled:
            return
        user = self._access.user(caller.user)
        try:
            acl = self._access.acl(caller.user)
        except AccessError as error:
            raise ApiError(403, str(error)) from None
        from mqgateway.gateway.access.decisions import decide

        for need in needs:
            verdict = decide(
                caller.user,
                user,
                acl,
                need.resource,
                need.actions,
                caller.address,
                everyone=self._access.tables.acl_of_everyone(),
            )
            if not verdict.is_allowed:
                raise ApiError(403, verdict.refusal)

    def _user(self, session: LoginSession) -> User:
        assert self._access is not None
        user = self._access.user(session.user)
        if user is None or user.is_disabled:
            self.sessions.close(session)
            raise ApiError(401, "the user is gone or disabled")
        return user


def read_roles(text: str) -> dict[str, Role]:
    """Return the roles by user in `consoleRoles`. Raises `ConfigError`."""
    roles: dict[str, Role] = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        user, _, name = pair.rpartition(":")
        role = Role.__members__.get(name.strip().upper())
        if not user.strip() or role is None or role is Role.NOBODY:
            raise ConfigError(
                f"consoleRoles: {pair!r} is not name:role; roles are viewer, reader, operator, admin"
            )
        roles[user.strip()] = role
    return roles
