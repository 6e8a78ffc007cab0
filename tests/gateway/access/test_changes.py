"""Administrative requests are logged with user, address, object and result; other requests are unchanged."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.options.access import AuditFormat
from mqgateway.engine.steps import Steps
from mqgateway.gateway.access.audit import Audit
from mqgateway.gateway.access.changes import CHANGES, audited
from mqgateway.gateway.access.requests import REQUESTS as OF_ACCESS
from mqgateway.gateway.access.signature import ACCESS_KEY
from mqgateway.gateway.broker.requests import REQUESTS as OF_BROKER
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.version_4 import AclRequestCode
from mqgateway.gateway.container.requests import REQUESTS as OF_CONTAINER
from mqgateway.gateway.controller.requests import REQUESTS as OF_CONTROLLER
from mqgateway.gateway.namesrv.service import REQUESTS as OF_NAME_SERVER
from mqgateway.gateway.remoting.call import Reply, RequestError
from mqgateway.gateway.remoting.dispatch import Dispatcher
from tests.support.gateway.broker.helpers import FakePeer

DELETE = RequestCode.DELETE_TOPIC_IN_BROKER


def refusal(error: BaseException) -> Reply | None:
    return Reply(26, remark=str(error)) if isinstance(error, LookupError) else None


def audit_lines(
    caplog: pytest.LogCaptureFixture, function: Any, code: int = DELETE, body: bytes = b"", **fields: str
) -> list[dict[str, str]]:
    caplog.set_level(logging.INFO, "mqgateway.audit")
    table = audited({code: function}, Audit(AuditFormat.JSON), refusal)
    command = RemotingCommand(code, ext_fields=fields, body=body)
    answer: Any = Dispatcher(None, table, {}, clock=ManualClock()).dispatch(command, FakePeer("10.0.0.7:5"))
    assert answer is not None
    own = [record for record in caplog.records if record.name == "mqgateway.audit.administration"]
    return [json.loads(record.getMessage()) for record in own]


def test_change_is_logged_with_user_address_and_object(caplog: pytest.LogCaptureFixture) -> None:
    fields = {"topic": "T\n=", ACCESS_KEY: "alice", "Signature": "secret", "password": "secret"}
    assert audit_lines(caplog, lambda *_: Reply(), **fields) == [
        {
            "event": "administration",
            "user": "alice",
            "address": "10.0.0.7:5",
            "request": str(int(DELETE)),
            "what": "topic:T\n=",
            "result": "0",
        }
    ]


@pytest.mark.parametrize(
    ("error", "result"),
    [
        (RequestError(17, "no such topic"), "17"),
        (LookupError("no such topic"), "26"),
        (ValueError("no such topic"), "failed"),
    ],
)
def test_failed_change_is_logged_with_reason(
    error: Exception, result: str, caplog: pytest.LogCaptureFixture
) -> None:
    def at_once(*_: object) -> Reply:
        raise error

    def in_steps(*_: object) -> Steps[Reply]:
        yield
        raise error

    def later(*_: object) -> Deferred[Reply]:
        failed: Deferred[Reply] = Deferred()
        failed.errback(error)
        return failed

    for function in (at_once, in_steps, later):
        (line,) = audit_lines(caplog, function, topic="T")
        assert (line["result"], line["reason"]) == (result, "no such topic")
        caplog.clear()


def test_deferred_change_is_logged_on_completion(caplog: pytest.LogCaptureFixture) -> None:
    answer: Deferred[Reply] = Deferred()

    def in_steps(*_: object) -> Steps[Deferred[Reply]]:
        yield
        return answer

    assert audit_lines(caplog, in_steps, topic="T") == []
    answer.callback(Reply(1, remark="too late"))
    assert [json.loads(message)["reason"] for message in caplog.messages] == ["too late"]


@pytest.mark.parametrize(
    ("code", "body", "what"),
    [
        (
            RequestCode.UPDATE_BROKER_CONFIG,
            b"# why\nflushDiskType=SYNC_FLUSH\nauthKey=secret",
            "flushDiskType,authKey",
        ),
        (RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, b'{"groupName":"g"}', "g"),
        (
            RequestCode.UPDATE_AND_CREATE_TOPIC_LIST,
            b'{"topicConfigList":[{"topicName":"a"},{"topicName":"b"}]}',
            "a,b",
        ),
        (RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, b"{", "(unreadable)"),
        (RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, b'{"groupName":"' + b"x" * 70_000 + b'"}', None),
        (RequestCode.UPDATE_BROKER_CONFIG, b"a=\\u12", "(unreadable)"),
        (RequestCode.UPDATE_BROKER_CONFIG, b"a : 1\nb 2\nc=x\\\ny=z", "a,b,c"),
    ],
)
def test_names_in_body_are_logged(
    code: int, body: bytes, what: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    (line,) = audit_lines(caplog, lambda *_: Reply(), code, body)
    assert line.get("what") == what


def test_other_request_functions_are_not_wrapped() -> None:
    table = audited(OF_BROKER, Audit(AuditFormat.TEXT))
    same = {code for code, function in table.items() if function is OF_BROKER[code]}
    assert same == set(OF_BROKER) - set(CHANGES)
    assert RequestCode.SEND_MESSAGE_V2 in same


def test_every_audited_code_is_served() -> None:
    of_servers = set(OF_BROKER) | set(OF_NAME_SERVER) | set(OF_CONTROLLER) | set(OF_CONTAINER)
    assert set(CHANGES) <= of_servers | set(OF_ACCESS) | set(AclRequestCode)


def test_version_4_account_change_is_logged_without_secret(caplog: pytest.LogCaptureFixture) -> None:
    code = AclRequestCode.UPDATE_AND_CREATE_ACL_CONFIG
    (line,) = audit_lines(caplog, lambda *_: Reply(), code, accessKey="the-account", secretKey="its-secret")
    assert line["what"] == "accessKey:the-account" and "its-secret" not in caplog.text
