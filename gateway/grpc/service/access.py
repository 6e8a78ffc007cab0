"""Authentication of a call, and the rights that its request needs.

A client signs the time that it sends in a header. The needs of each request are declared here; the decision
is the one of remoting (`gateway.access`). RocketMQ: `AuthenticationPipeline`, `AuthorizationPipeline`,
`DefaultAuthenticationContextBuilder`, `DefaultAuthorizationContextBuilder`.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from mqgateway.gateway.access.callers import FrontEndCaller
from mqgateway.gateway.access.needs import PUB, SUB, Need
from mqgateway.gateway.access.policies import group as group_resource
from mqgateway.gateway.access.policies import topic as topic_resource
from mqgateway.gateway.grpc import v2
from mqgateway.gateway.grpc.service.caller import AUTHORIZATION, DATE_TIME, CallConnection
from mqgateway.gateway.grpc.service.sessions import CONSUMERS, LITE_CONSUMERS
from mqgateway.gateway.grpc.service.status import CallRefused, Code

_CREDENTIAL, _SIGNATURE = "Credential", "Signature"


class Signed(NamedTuple):
    """Credentials in the headers of a call: user name, and the signature of `content`."""

    name: str | None
    content: str
    signature: bytes


def signed_by(caller: CallConnection) -> Signed:
    """Return the credentials in the headers. Raises `CallRefused` if the headers cannot be parsed."""
    headers = caller.call.metadata
    text = headers.get(AUTHORIZATION, "")
    if not text:
        return Signed(None, "", b"")
    content = headers.get(DATE_TIME)
    if not content:
        raise _unauthorized("datetime is null.")
    _, blank, rest = text.partition(" ")
    if not blank:
        raise _unauthorized("authentication header is incorrect.")
    values = {}
    for item in rest.split(","):
        name, mark, value = item.strip().partition("=")
        if not mark:
            raise _unauthorized("authentication keyValues length is incorrect, actual length=1.")
        values[name.strip()] = value.strip()
    try:
        signature = bytes.fromhex(values.get(_SIGNATURE, ""))
    except ValueError:
        raise _unauthorized("create authentication context error.") from None
    return Signed(values.get(_CREDENTIAL, "").partition("/")[0] or None, content, signature)


def _unauthorized(message: str) -> CallRefused:
    return CallRefused(Code.UNAUTHORIZED, message)


def front_end_caller(caller: CallConnection, name: str) -> FrontEndCaller:
    """Return the credentials of a call whose request has this name. Raises `CallRefused`."""
    signed = signed_by(caller)

    def proof(secret: str) -> bool:
        digest = hmac.digest(secret.encode("utf-8", "replace"), signed.content.encode(), hashlib.sha1)
        return hmac.compare_digest(digest, signed.signature)

    return FrontEndCaller(signed.name, proof, caller.address, name)


def needs_of(request: Any, is_strict: bool) -> Sequence[Need]:
    """Return what a request needs. `is_strict` adds the needs that RocketMQ does not check. Raises
    `CallRefused`.
    """
    return _NEEDS[type(request).DESCRIPTOR.name](request, is_strict)


def _named(resource: v2.Resource, what: str) -> str:
    name: str = resource.name
    if not name.strip():
        raise _unauthorized(f"{what} is null.")
    return name


def _topic(resource: v2.Resource, *actions: Any) -> Need:
    return Need(topic_resource(_named(resource, "topic")), actions)


def _group(resource: v2.Resource) -> Need:
    return Need(group_resource(_named(resource, "group")), (SUB,))


def _of_group_and_topic(request: Any, is_strict: bool) -> Sequence[Need]:
    return [_group(request.group), _topic(request.topic, SUB)]


def _of_queue(request: Any, is_strict: bool) -> Sequence[Need]:
    if not request.HasField("message_queue"):
        raise _unauthorized("messageQueue is null.")
    return [_group(request.group), _topic(request.message_queue.topic, SUB)]


def _of_sending(request: v2.SendMessageRequest, is_strict: bool) -> Sequence[Need]:
    if not request.messages:
        raise _unauthorized("message is null.")
    return [_topic(request.messages[0].topic, PUB)]


def _of_publishing(request: Any, is_strict: bool) -> Sequence[Need]:
    return [_topic(request.topic, PUB)]


def _of_change(request: v2.ChangeInvisibleDurationRequest, is_strict: bool) -> Sequence[Need]:
    return _of_group_and_topic(request, is_strict) if is_strict else [_group(request.group)]


def _of_lite(request: v2.SyncLiteSubscriptionRequest, is_strict: bool) -> Sequence[Need]:
    return _of_group_and_topic(request, is_strict) if request.lite_topic_set or is_strict else []


def _of_heartbeat(request: v2.HeartbeatRequest, is_strict: bool) -> Sequence[Need]:
    kind = request.client_type
    is_checked = kind in CONSUMERS and (is_strict or kind not in LITE_CONSUMERS)
    return [_group(request.group)] if is_checked else []


def _of_termination(request: v2.NotifyClientTerminationRequest, is_strict: bool) -> Sequence[Need]:
    return [_group(request.group)] if request.group.name.strip() else []


def _of_telemetry(command: v2.TelemetryCommand, is_strict: bool) -> Sequence[Need]:
    if not command.HasField("settings"):
        return []
    settings = command.settings
    if settings.HasField("publishing"):
        return [_topic(topic, PUB) for topic in settings.publishing.topics]
    if settings.HasField("subscription"):
        subscription = settings.subscription
        topics = [_topic(entry.topic, SUB) for entry in subscription.subscriptions]
        return [_group(subscription.group), *topics]
    raise CallRefused(Code.INTERNAL_SERVER_ERROR, "settings command doesn't have publishing or subscription.")


_NEEDS: dict[str, Callable[[Any, bool], Sequence[Need]]] = {
    "SendMessageRequest": _of_sending,
    "RecallMessageRequest": _of_publishing,
    "EndTransactionRequest": _of_publishing,
    "QueryRouteRequest": lambda request, _: [_topic(request.topic, PUB, SUB)],
    "QueryAssignmentRequest": _of_group_and_topic,
    "ReceiveMessageRequest": _of_queue,
    "AckMessageRequest": _of_group_and_topic,
    "ForwardMessageToDeadLetterQueueRequest": _of_group_and_topic,
    "ChangeInvisibleDurationRequest": _of_change,
    "SyncLiteSubscriptionRequest": _of_lite,
    "HeartbeatRequest": _of_heartbeat,
    "NotifyClientTerminationRequest": _of_termination,
    "TelemetryCommand": _of_telemetry,
    "PullMessageRequest": _of_queue,
    "UpdateOffsetRequest": _of_queue,
    "GetOffsetRequest": _of_queue,
    "QueryOffsetRequest": lambda request, _: [_topic(request.message_queue.topic, SUB)],
}
"""By the name of the request's message."""
