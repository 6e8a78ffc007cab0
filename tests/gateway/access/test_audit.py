"""The audit log has user, address, request and reason, and its lines cannot be forged."""

from __future__ import annotations

import json
import logging

import pytest

from mqgateway.engine.options.access import AuditFormat
from mqgateway.gateway.access.audit import Audit


def test_refusal_is_logged_at_info(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "mqgateway.audit")
    audit = Audit(AuditFormat.TEXT)
    audit.authenticated("alice", "1.2.3.4:5", 310, "check signature failed.")
    audit.authorized("alice", "1.2.3.4:5", 38, "Sub,Get", "Group:gb", "no.")
    assert caplog.messages == [
        "event=authentication user=alice address=1.2.3.4:5 request=310 decision=deny "
        'reason="check signature failed."',
        "event=authorization user=alice address=1.2.3.4:5 request=38 action=Sub,Get resource=Group:gb "
        "decision=deny reason=no.",
    ]


def test_allowed_request_is_logged_at_debug_only(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "mqgateway.audit")
    audit = Audit(AuditFormat.TEXT)
    audit.authenticated("alice", "a", 310, "")
    assert not caplog.messages and not audit.is_verbose
    caplog.set_level(logging.DEBUG, "mqgateway.audit")
    audit.authenticated("alice", "a", 310, "")
    assert audit.is_verbose
    assert caplog.messages == ["event=authentication user=alice address=a request=310 decision=allow"]


def test_json_format_writes_objects(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "mqgateway.audit")
    Audit(AuditFormat.JSON).authenticated('al"ice', "a", 310, "User is not found.")
    assert json.loads(caplog.messages[0]) == {
        "event": "authentication",
        "user": 'al"ice',
        "address": "a",
        "request": "310",
        "decision": "deny",
        "reason": "User is not found.",
    }


@pytest.mark.parametrize("user", ["a\nevent=x", "a b", 'a"b', "a=b", "\u2028", "x" * 100_000])
def test_user_name_cannot_forge_lines_or_fields(user: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "mqgateway.audit")
    Audit(AuditFormat.TEXT).authenticated(user, "a", 1, "no")
    (line,) = caplog.messages
    assert len(line.splitlines()) == 1 and len(line) < 1000
    assert " event=" not in line
