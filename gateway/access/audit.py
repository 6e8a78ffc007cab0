"""Audit log: authentication and authorization decisions with caller, address and reason.

They are logged by `mqgateway.audit`, changes by administrative requests by the child logger
`mqgateway.audit.administration`. Refusals and changes are logged at INFO, allowed requests at DEBUG. A line
is text or a JSON object. Values that a peer can choose are quoted, so that they cannot forge lines.
RocketMQ: the logger `RocketmqAuthAudit`.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping

from mqgateway.engine.options.access import AuditFormat

log = logging.getLogger("mqgateway.audit")
administration = logging.getLogger("mqgateway.audit.administration")

_SHOWN_MAX = 256


class Audit:
    """Writer of audit lines in one format. Requests appear by code, those without a code by name."""

    def __init__(self, form: AuditFormat) -> None:
        self._is_json = form is AuditFormat.JSON

    @property
    def is_verbose(self) -> bool:
        """True if allowed requests are logged too."""
        return log.isEnabledFor(logging.DEBUG)

    def authenticated(
        self, user: str, address: str, request: int | str, refusal: str, token: str = ""
    ) -> None:
        """Log an authentication, by a delegation token if its id is given.

        `refusal` is empty if it succeeded.
        """
        self._write(
            refusal, event="authentication", user=user, token=token, address=address, request=str(request)
        )

    def authorized(
        self, user: str, address: str, request: int | str, actions: str, resource: str, refusal: str
    ) -> None:
        """Log an authorization decision; `refusal` is empty if it was allowed."""
        self._write(
            refusal,
            event="authorization",
            user=user,
            address=address,
            request=str(request),
            action=actions,
            resource=resource,
        )

    def administered(
        self, user: str, address: str, request: int | str, what: str, result: str, reason: str
    ) -> None:
        """Log an administrative request, successful or failed; `result` is its response code."""
        if administration.isEnabledFor(logging.INFO):
            said = {"event": "administration", "user": user, "address": address, "request": str(request)}
            outcome = {"what": what, "result": result, "reason": reason}
            administration.info("%s", self._form(said | outcome))

    def _write(self, refusal: str, **fields: str) -> None:
        level = logging.INFO if refusal else logging.DEBUG
        if log.isEnabledFor(level):
            decision = {"decision": "deny" if refusal else "allow", "reason": refusal}
            log.log(level, "%s", self._form(fields | decision))

    def _form(self, fields: Mapping[str, str]) -> str:
        cut = {name: value[:_SHOWN_MAX] for name, value in fields.items() if value}
        if self._is_json:
            return json.dumps(cut)
        return " ".join(f"{name}={_quoted(value)}" for name, value in cut.items())


def _quoted(value: str) -> str:
    """Return the value unchanged if it is unambiguous, else as a JSON string."""
    is_plain = value.isprintable() and not any(sign in value for sign in ' "=')
    return value if is_plain and value.isascii() else json.dumps(value)
