"""Administrative requests in the audit log: caller, address, objects and result.

The functions of these request codes are wrapped once at start-up, so other requests are not slowed down. The
user is the one named in the request: authenticated with access control, unverified without.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from functools import partial
from typing import Any

import orjson
from twisted.python.failure import Failure

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import load_properties
from mqgateway.engine.steps import Steps
from mqgateway.gateway.access.audit import Audit
from mqgateway.gateway.access.signature import ACCESS_KEY
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.version_4 import AclRequestCode
from mqgateway.gateway.remoting.call import Call, Reply, RequestError
from mqgateway.gateway.runtime.outcomes import then

NAMES = (
    "topic",
    "parentTopic",
    "consumerGroup",
    "group",
    "groupName",
    "srcGroup",
    "destGroup",
    "username",
    "subject",
    "resource",
    "namespace",
    "key",
    "brokerName",
    "brokerId",
    "clusterName",
    "configPath",
    "accessKey",
    "aclFileFullPath",
)
"""Header fields that name the object of a request; other fields may be secrets."""
BODY_MAX = 64 * 1024
"""Maximum size in bytes of a body that is searched for names; longer ones are not logged."""

Names = Callable[[bytes], list[str]]
Refusal = Callable[[BaseException], Reply | None]


def _properties(body: bytes) -> list[str]:
    return [setting.key for setting in load_properties(body, "request")]


def _member(name: str) -> Names:
    return lambda body: [str(orjson.loads(body)[name])]


def _members(of: str, name: str) -> Names:
    return lambda body: [str(each[name]) for each in orjson.loads(body)[of]]


def _nothing(body: bytes) -> list[str]:
    return []


CHANGES: dict[int, Names] = {
    RequestCode.UPDATE_BROKER_CONFIG: _properties,
    RequestCode.UPDATE_NAMESRV_CONFIG: _properties,
    RequestCode.UPDATE_CONTROLLER_CONFIG: _properties,
    RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: _member("groupName"),
    RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST: _members("groupConfigList", "groupName"),
    RequestCode.UPDATE_AND_CREATE_TOPIC_LIST: _members("topicConfigList", "topicName"),
    **dict.fromkeys(
        (
            # Topics and groups
            RequestCode.UPDATE_AND_CREATE_TOPIC,
            RequestCode.UPDATE_AND_CREATE_STATIC_TOPIC,
            RequestCode.DELETE_TOPIC_IN_BROKER,
            RequestCode.DELETE_SUBSCRIPTIONGROUP,
            RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN,
            RequestCode.SET_MESSAGE_REQUEST_MODE,
            RequestCode.INVOKE_BROKER_TO_RESET_OFFSET,
            RequestCode.CLONE_GROUP_OFFSET,
            RequestCode.TRIGGER_LITE_DISPATCH,
            RequestCode.RESUME_CHECK_HALF_MESSAGE,
            RequestCode.POP_ROLLBACK,
            # The broker
            RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE,
            RequestCode.CLEAN_UNUSED_TOPIC,
            RequestCode.DELETE_EXPIRED_COMMITLOG,
            RequestCode.UPDATE_COLD_DATA_FLOW_CTR_CONFIG,
            RequestCode.REMOVE_COLD_DATA_FLOW_CTR_CONFIG,
            RequestCode.SET_COMMITLOG_READ_MODE,
            RequestCode.SWITCH_TIMER_ENGINE,
            RequestCode.RESET_MASTER_FLUSH_OFFSET,
            RequestCode.AUTH_CREATE_USER,
            RequestCode.AUTH_UPDATE_USER,
            RequestCode.AUTH_DELETE_USER,
            RequestCode.AUTH_CREATE_ACL,
            RequestCode.AUTH_UPDATE_ACL,
            RequestCode.AUTH_DELETE_ACL,
            AclRequestCode.UPDATE_AND_CREATE_ACL_CONFIG,
            AclRequestCode.DELETE_ACL_CONFIG,
            AclRequestCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG,
            # The name server, the controller, the container
            RequestCode.PUT_KV_CONFIG,
            RequestCode.DELETE_KV_CONFIG,
            RequestCode.WIPE_WRITE_PERM_OF_BROKER,
            RequestCode.ADD_WRITE_PERM_OF_BROKER,
            RequestCode.DELETE_TOPIC_IN_NAMESRV,
            RequestCode.REGISTER_TOPIC_IN_NAMESRV,
            RequestCode.CLEAN_BROKER_DATA,
            RequestCode.ADD_BROKER,
            RequestCode.REMOVE_BROKER,
        ),
        _nothing,
    ),
}
"""Audited request codes, with the reader of the names in their bodies."""


def audited(table: Mapping[int, Any], audit: Audit, refusal: Refusal = lambda _: None) -> dict[int, Any]:
    """Wrap the functions of a table whose requests change something, so that they are logged.

    `refusal` converts an error to its answer, as in `Dispatcher`.
    """
    return {
        code: _audited(function, names, audit, refusal)
        if (names := CHANGES.get(code)) is not None
        else function
        for code, function in table.items()
    }


def _audited(function: Any, names: Names, audit: Audit, refusal: Refusal) -> Any:
    def report(outcome: Any, call: Call) -> Any:
        result, reason = _result(outcome, refusal)
        user = call.command.ext_fields.get(ACCESS_KEY, "")
        what = _objects(call, names)
        audit.administered(user, call.peer.address, call.command.code, what, result, reason)
        return outcome

    def later(reply: Any, call: Call) -> Any:
        noted = partial(report, call=call)
        return then(reply, noted, noted)

    def in_steps(steps: Steps[Any], call: Call) -> Steps[Any]:
        try:
            reply = yield from steps
        except Exception as error:
            report(error, call)
            raise
        return later(reply, call)

    def serve(context: Any, call: Call) -> Any:
        try:
            reply = function(context, call)
        except Exception as error:
            report(error, call)
            raise
        return in_steps(reply, call) if isinstance(reply, Generator) else later(reply, call)

    return serve


def _result(outcome: Any, refusal: Refusal) -> tuple[str, str]:
    """Return the response code, if known, and the reason why it is not 0."""
    if isinstance(outcome, Failure):
        outcome = outcome.value
    answer = outcome if isinstance(outcome, Reply | RequestError) else refusal(outcome)
    return ("failed", str(outcome)) if answer is None else (str(int(answer.code)), answer.remark or "")


def _objects(call: Call, names: Names) -> str:
    """Return the objects of a request: header fields by name, then the names in the body."""
    fields = call.command.ext_fields
    said = [f"{name}:{fields[name]}" for name in NAMES if fields.get(name)]
    if call.body and len(call.body) <= BODY_MAX:
        try:
            said += names(call.body)
        except (ConfigError, ValueError, KeyError, TypeError):
            said.append("(unreadable)")
    return ",".join(said)
