"""The audit log: who was let in and who was not, from where, and why, by the logger `mqgateway.audit`.

What administrative requests changed is told by the logger below it, `mqgateway.audit.administration`.

Refusals and changes are told at INFO, what is let through at DEBUG. A line is text, or an object of JSON;
what a peer may choose is quoted, so that it makes no lines of its own.
Standard: the logger `RocketmqAuthAudit`.
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
    """Writes the lines in one form. Requests are called by their codes, those without one by name."""

    def __init__(self, form: AuditFormat) -> None:
        self._is_json = form is AuditFormat.JSON

    @property
    def is_verbose(self) -> bool:
        """Whether what is let through is told too."""
        return log.isEnabledFor(logging.DEBUG)

    def authenticated(self, user: str, address: str, request: int | str, refusal: str) -> None:
        """A signature was checked; `refusal` is empty where it was right."""
        self._tell(refusal, event="authentication", user=user, address=address, request=str(request))

    def authorized(
        self, user: str, address: str, request: int | str, actions: str, resource: str, refusal: str
    ) -> None:
        """It was decided whether a user may; `refusal` is empty where it is so."""
        self._tell(
            refusal,
            event="authorization",
            user=user,
            address=address,
            request=str(request),
            action=actions,
            resource=resource,
        )

    def administered(self, user: str, address: str, code: int, what: str, result: str, reason: str) -> None:
        """An administrative request was carried out, or failed; `result` is the code of its response."""
        if administration.isEnabledFor(logging.INFO):
            said = {"event": "administration", "user": user, "address": address, "request": str(code)}
            outcome = {"what": what, "result": result, "reason": reason}
            administration.info("%s", self._form(said | outcome))

    def _tell(self, refusal: str, **fields: str) -> None:
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
    """As it is where nothing can be mistaken, else as a string of JSON."""
    is_plain = value.isprintable() and not any(sign in value for sign in ' "=')
    return value if is_plain and value.isascii() else json.dumps(value)
