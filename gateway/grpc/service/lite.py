"""SyncLiteSubscription: a client subscribes to lite topics.

The client calls each broker of the parent topic. RocketMQ:
`ClientProcessor.syncLiteSubscription`, `LiteSubscriptionService`.
"""

from __future__ import annotations

from twisted.internet.defer import Deferred

from mqgateway.engine.clock import elapsed_millis
from mqgateway.engine.lite.subscriptions import Subscriber, SubscriptionStart
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.gateway.broker.operations import (
    LiteClient,
    LiteTopicChange,
    Operations,
    Permit,
    SubscriptionChange,
    Use,
)
from mqgateway.gateway.grpc import v2
from mqgateway.gateway.grpc.service.names import checked_group, checked_lite_topic, checked_topic
from mqgateway.gateway.grpc.service.sessions import ClientSession
from mqgateway.gateway.grpc.service.settings import lite_quota
from mqgateway.gateway.grpc.service.status import OK, CallRefused, Code

QUOTA_SLACK = 300
"""Lite topics that a request may name beyond the quota of a client."""
SECOND_MILLIS = 1000

_ACTIONS = {
    v2.LiteSubscriptionAction.PARTIAL_ADD: LiteTopicChange.PARTIAL_ADD,
    v2.LiteSubscriptionAction.PARTIAL_REMOVE: LiteTopicChange.PARTIAL_REMOVE,
    v2.LiteSubscriptionAction.COMPLETE_ADD: LiteTopicChange.COMPLETE_ADD,
    v2.LiteSubscriptionAction.COMPLETE_REMOVE: LiteTopicChange.COMPLETE_REMOVE,
}


class LiteSubscribers:
    """Answers for one broker."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations
        self._second = 0
        self._in_second = 0

    def sync(
        self, request: v2.SyncLiteSubscriptionRequest, client_id: str, client: LiteClient, permit: Permit
    ) -> Deferred[v2.SyncLiteSubscriptionResponse]:
        """Change the subscriptions of a client. Raises `CallRefused`."""
        options = self._operations.options
        topic, group = checked_topic(request.topic), checked_group(request.group)
        action = _ACTIONS.get(request.action)
        if action is None:
            raise CallRefused(Code.BAD_REQUEST, f"there is no action {request.action}")
        if action is LiteTopicChange.PARTIAL_ADD:
            for name in request.lite_topic_set:
                checked_lite_topic(name, options)
        quota = lite_quota(checked_bound(self._operations, group, topic))
        if len(request.lite_topic_set) > quota + QUOTA_SLACK >= QUOTA_SLACK:
            raise CallRefused(
                Code.LITE_SUBSCRIPTION_QUOTA_EXCEEDED, f"lite subscription quota exceeded: {quota}"
            )
        if action is LiteTopicChange.PARTIAL_ADD:
            self._check_rate()
        change = SubscriptionChange(
            action, Subscriber(client_id, group), topic, frozenset(request.lite_topic_set), _start(request)
        )
        changed = self._operations.clients.change_lite_subscriptions(permit, [change], client)
        return changed.addCallback(lambda _: v2.SyncLiteSubscriptionResponse(status=OK))

    def left(self, session: ClientSession, client: LiteClient) -> None:
        """Remove the subscriptions of a client that left."""
        subscriber = Subscriber(session.client_id, session.group)
        topics = [one.topic for one in session.subscriptions] or [""]
        change = SubscriptionChange(LiteTopicChange.COMPLETE_REMOVE, subscriber, topics[0], frozenset())
        permit = self._operations.gate.internal(Use.CONNECT)
        self._operations.clients.change_lite_subscriptions(permit, [change], client)

    def _check_rate(self) -> None:
        second = elapsed_millis(self._operations.clock) // SECOND_MILLIS
        if second != self._second:
            self._second, self._in_second = second, 0
        self._in_second += 1
        if self._in_second > self._operations.options.max_sync_lite_subscription_rate:
            raise CallRefused(Code.TOO_MANY_REQUESTS, "too many lite subscriptions are added")


def checked_bound(operations: Operations, group: str, topic: str) -> SubscriptionGroupConfig:
    """Return the group, if it consumes the lite topics of this parent. Raises `CallRefused`."""
    config = operations.groups.find(group)
    if config is None:
        raise CallRefused(Code.ILLEGAL_CONSUMER_GROUP, f"group not found: {group}")
    bound = operations.groups.bound_topic(group)
    if bound != topic:
        raise CallRefused(
            Code.ILLEGAL_TOPIC,
            f"lite group {group} is expected to bind topic {bound or 'null'}, but actual is {topic}",
        )
    return config


def _start(request: v2.SyncLiteSubscriptionRequest) -> SubscriptionStart | None:
    """Return the position at which new subscriptions start."""
    option = request.offset_option
    kind = option.WhichOneof("offset_type") if request.HasField("offset_option") else None
    if kind is None:
        return None
    return SubscriptionStart(kind.upper(), getattr(option, kind))
