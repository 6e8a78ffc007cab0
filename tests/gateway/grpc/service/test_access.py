"""Authentication and needs of requests: by users and policies, and by accounts of version 4."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from mqgateway.engine.options.access import AuthorizationProfile
from mqgateway.gateway.access.callers import CallerAccess, FrontEndCaller
from mqgateway.gateway.access.errors import NotAdmitted
from mqgateway.gateway.access.needs import PUB, SUB, Need
from mqgateway.gateway.access.policies import group, topic
from mqgateway.gateway.grpc import v2
from mqgateway.gateway.grpc.service.access import needs_of
from mqgateway.gateway.grpc.service.status import CallRefused
from tests.support.gateway.grpc.messaging import Service, message

TIME = "20261124T235959Z"
T, G = v2.Resource(name="T"), v2.Resource(name="G")


class Guard:
    """Lets alice in, whose secret is known, and keeps what was asked for."""

    def __init__(self, allowed: bool = True, until: Deferred[None] | None = None) -> None:
        self.allowed = allowed
        self.until = until
        self.asked: list[tuple[FrontEndCaller, list[Need]]] = []

    def admit(self, caller: FrontEndCaller, needs: Any) -> None:
        """As `CallerAccess`."""
        if caller.name != "alice" or not caller.proof("secret"):
            raise NotAdmitted("check signature failed.", self.until)
        self.asked.append((caller, list(needs())))
        if not self.allowed:
            raise NotAdmitted("no permission")


def signed(secret: str = "secret", name: str = "alice") -> dict[str, str]:
    """The headers of a client that signs."""
    digest = hmac.digest(secret.encode(), TIME.encode(), hashlib.sha1).hex()
    text = (
        f"MQv2-HMAC-SHA1 Credential={name}/region/RocketMQ, SignedHeaders=x-mq-date-time, Signature={digest}"
    )
    return {"authorization": text, "x-mq-date-time": TIME}


def route(service: Service, **headers: str) -> v2.Status:
    """Return the status of a route query."""
    status: v2.Status = service.ask(v2.QueryRouteRequest(topic=T), **headers).status
    return status


def test_signed_call_is_served() -> None:
    guard: Any = Guard()
    service = Service(guard)
    assert route(service, **signed()).code == v2.Code.OK
    ((caller, needs),) = guard.asked
    assert (caller.name, caller.ip, caller.request) == (
        "alice",
        "10.0.0.9",
        "apache.rocketmq.v2.QueryRouteRequest",
    )
    assert needs == [Need(topic("T"), (PUB, SUB))]


@pytest.mark.parametrize(
    "headers,what",
    [
        (signed("wrong"), "check signature failed."),
        ({}, "check signature failed."),
        ({"authorization": signed()["authorization"]}, "datetime is null."),
        (signed() | {"authorization": "MQv2"}, "authentication header is incorrect."),
        (
            signed() | {"authorization": "MQv2 Credential"},
            "authentication keyValues length is incorrect, actual length=1.",
        ),
        (signed() | {"authorization": "MQv2 Signature=xyz"}, "create authentication context error."),
    ],
)
def test_call_without_valid_signature_is_refused(headers: dict[str, str], what: str) -> None:
    """Before the client id is checked."""
    guard: CallerAccess = Guard()
    answer = Service(guard).ask(v2.QueryRouteRequest(topic=T), "", **headers)
    assert (answer.status.code, answer.status.message) == (v2.Code.UNAUTHORIZED, what)


def test_a_refusal_is_given_when_it_is_time() -> None:
    until: Deferred[None] = Deferred()
    service = Service(Guard(until=until))
    _, answers = service.begin(v2.QueryRouteRequest(topic=T))
    stream = service.producer()
    assert not answers and not stream.heard
    until.callback(None)
    assert answers[0].status.code == v2.Code.UNAUTHORIZED


def test_a_refused_stream_ends_normally() -> None:
    stream = Service(Guard()).producer()
    assert stream.heard[0].status.code == v2.Code.UNAUTHORIZED
    assert stream.call.ended is not None and stream.call.ended[0] == 0


def test_call_without_permission_is_refused() -> None:
    service = Service(Guard(allowed=False))
    assert route(service, **signed()).message == "no permission"
    (first, _) = service.ask(v2.ReceiveMessageRequest(group=G, message_queue={"topic": T}), **signed())
    assert first.status.code == v2.Code.UNAUTHORIZED


QUEUE = v2.MessageQueue(topic=T)
READS = [Need(group("G"), (SUB,)), Need(topic("T"), (SUB,))]
WRITES = [Need(topic("T"), (PUB,))]


@pytest.mark.parametrize(
    "request_,standard,strict",
    [
        (v2.SendMessageRequest(messages=[message()]), WRITES, WRITES),
        (v2.RecallMessageRequest(topic=T), WRITES, WRITES),
        (v2.EndTransactionRequest(topic=T), WRITES, WRITES),
        (v2.QueryAssignmentRequest(topic=T, group=G), READS, READS),
        (v2.ReceiveMessageRequest(message_queue=QUEUE, group=G), READS, READS),
        (v2.AckMessageRequest(topic=T, group=G), READS, READS),
        (v2.ForwardMessageToDeadLetterQueueRequest(topic=T, group=G), READS, READS),
        (v2.ChangeInvisibleDurationRequest(topic=T, group=G), READS[:1], READS),
        (v2.SyncLiteSubscriptionRequest(topic=T, group=G), [], READS),
        (v2.SyncLiteSubscriptionRequest(topic=T, group=G, lite_topic_set=["a"]), READS, READS),
        (v2.HeartbeatRequest(group=G, client_type=v2.ClientType.PUSH_CONSUMER), READS[:1], READS[:1]),
        (v2.HeartbeatRequest(group=G, client_type=v2.ClientType.LITE_PUSH_CONSUMER), [], READS[:1]),
        (v2.HeartbeatRequest(client_type=v2.ClientType.PRODUCER), [], []),
        (v2.NotifyClientTerminationRequest(), [], []),
        (v2.NotifyClientTerminationRequest(group=G), READS[:1], READS[:1]),
        (v2.PullMessageRequest(message_queue=QUEUE, group=G), READS, READS),
        (v2.UpdateOffsetRequest(message_queue=QUEUE, group=G), READS, READS),
        (v2.GetOffsetRequest(message_queue=QUEUE, group=G), READS, READS),
        (v2.QueryOffsetRequest(message_queue=QUEUE), READS[1:], READS[1:]),
        (v2.TelemetryCommand(), [], []),
        (v2.TelemetryCommand(settings={"publishing": {"topics": [T]}}), WRITES, WRITES),
        (
            v2.TelemetryCommand(settings={"subscription": {"group": G, "subscriptions": [{"topic": T}]}}),
            READS,
            READS,
        ),
    ],
)
def test_needs_of_requests(request_: Any, standard: list[Need], strict: list[Need]) -> None:
    assert list(needs_of(request_, False)) == standard
    assert list(needs_of(request_, True)) == strict


@pytest.mark.parametrize(
    "request_,what",
    [
        (v2.SendMessageRequest(), "message is null."),
        (v2.QueryRouteRequest(), "topic is null."),
        (v2.ReceiveMessageRequest(group=G), "messageQueue is null."),
        (v2.AckMessageRequest(topic=T), "group is null."),
        (v2.TelemetryCommand(settings={}), "settings command doesn't have publishing or subscription."),
    ],
)
def test_a_request_that_does_not_say_what_it_is_about(request_: Any, what: str) -> None:
    with pytest.raises(CallRefused) as refused:
        needs_of(request_, False)
    assert refused.value.message == what


def test_the_profile_of_the_broker_counts() -> None:
    guard: Any = Guard()
    for profile in AuthorizationProfile:
        service = Service(guard, options={"authorization_profile": profile})
        service.ask(v2.ChangeInvisibleDurationRequest(topic=T, group=G), **signed())
    assert sorted(len(needs) for _, needs in guard.asked) == [1, 2]


BINDS_TO_TOPIC = {
    "AckMessageRequest": "the handle is of the queue of the topic and the group that are named",
    "ChangeInvisibleDurationRequest": "the same",
    "ForwardMessageToDeadLetterQueueRequest": "the record must be of the topic of the handle",
    "EndTransactionRequest": "the half message must be of the topic that is named",
    "RecallMessageRequest": "the handle must name the topic, and deletes timers of that one only",
    "ReceiveMessageRequest": "lite topics are those of the parent that is named",
}
"""Methods that point at messages by more than queues, and what keeps them to the topic that was checked."""


def test_every_method_that_points_at_messages_is_classified() -> None:
    points = {"receipt_handle", "transaction_id", "recall_handle", "message_id", "entries"}
    service = Service().service
    requests = {path.rpartition("/")[2] + "Request" for path in service.methods()} - {"TelemetryRequest"}
    pointing = {
        name for name in requests if points & {field.name for field in getattr(v2, name).DESCRIPTOR.fields}
    }
    assert pointing | {"ReceiveMessageRequest"} == BINDS_TO_TOPIC.keys()
