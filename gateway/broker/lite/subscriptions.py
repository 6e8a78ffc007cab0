"""Subscriptions of clients to lite topics.

RocketMQ: `LiteSubscriptionCtlProcessor`.
"""

from collections.abc import Collection, Iterable
from enum import Enum, auto
from functools import partial
from typing import NamedTuple

from twisted.internet.defer import Deferred, gatherResults

from mqgateway.engine.clock import elapsed_millis
from mqgateway.engine.errors import EngineError
from mqgateway.engine.lite.names import lmq_name
from mqgateway.engine.lite.subscriptions import (
    NotForWildcards,
    Subscriber,
    SubscriptionQuotaExceeded,
    SubscriptionStart,
)
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.cluster.route_cache import Found
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.lite.state import LiteClient

NOT_CONSUMING = "java.lang.IllegalStateException: Consumer group is not allowed to consume."


class LiteTopicChange(Enum):
    """Change of a client's lite topics: add or remove some, replace all, or remove all."""

    PARTIAL_ADD = auto()
    PARTIAL_REMOVE = auto()
    COMPLETE_ADD = auto()
    COMPLETE_REMOVE = auto()


class SubscriptionChange(NamedTuple):
    """Change of one client's subscriptions; `topic` is the parent, `start` the initial offset of new ones."""

    action: LiteTopicChange
    subscriber: Subscriber
    topic: str
    lite_topics: Collection[str]
    start: SubscriptionStart | None = None

    @property
    def adds(self) -> bool:
        """True if the change may add lite topics."""
        return self.action in (LiteTopicChange.PARTIAL_ADD, LiteTopicChange.COMPLETE_ADD)


def change_subscriptions(
    broker: Broker, changes: Iterable[SubscriptionChange], client: LiteClient
) -> Deferred[None]:
    """Change the subscriptions, once the home brokers of their lite topics are known.

    Changes without a client, a group or a topic are skipped. The Deferred may fail with `OperationError`.
    """
    changes = [each for each in changes if all(map(str.strip, (*each.subscriber, each.topic)))]
    parents = sorted({change.topic for change in changes if change.adds})
    asked = gatherResults([broker.lite.route_cache.of(parent) for parent in parents])
    return asked.addCallback(partial(_change_all, broker, client, changes, parents))


def _change_all(
    broker: Broker,
    client: LiteClient,
    changes: Iterable[SubscriptionChange],
    parents: list[str],
    found: list[Found],
) -> None:
    queues_by_parent = dict(zip(parents, found, strict=True))
    for change in changes:
        try:
            _change(broker, client, change, queues_by_parent.get(change.topic))
        except SubscriptionQuotaExceeded as refusal:
            why = f"org.apache.rocketmq.broker.lite.LiteQuotaException: {refusal}"
            raise OperationError(Reason.LITE_SUBSCRIPTION_QUOTA_EXCEEDED, why) from None
        except NotForWildcards as refusal:
            why = f"java.lang.IllegalStateException: {refusal}"
            raise OperationError(Reason.ILLEGAL_OPERATION, why) from None
        except EngineError as refusal:
            raise OperationError(Reason.SYSTEM_ERROR, str(refusal)) from None


def _change(broker: Broker, client: LiteClient, change: SubscriptionChange, found: Found) -> None:
    state, subscriber, topic = broker.lite, change.subscriber, change.topic
    longest = max(map(len, (*subscriber, topic, *change.lite_topics)))
    if longest > broker.options.max_name_length:
        raise OperationError(Reason.SYSTEM_ERROR, f"a name of {longest} characters is too long")
    now = elapsed_millis(broker.clock)
    queues = sorted(lmq_name(topic, name) for name in change.lite_topics if name)
    if change.action is LiteTopicChange.PARTIAL_REMOVE:
        state.subscriptions.remove(subscriber, queues, now)
        return
    if change.action is LiteTopicChange.COMPLETE_REMOVE:
        state.subscriptions.remove_client(subscriber.client_id)
        return
    known = broker.tables.groups.find(subscriber.group)
    if known is None or not known.consume_enable:
        raise OperationError(Reason.ILLEGAL_OPERATION, NOT_CONSUMING)
    queues = [queue for queue in queues if state.is_home(queue, found) or state.max_offset(queue) > 0]
    if change.action is LiteTopicChange.PARTIAL_ADD:
        state.subscriptions.add(subscriber, topic, queues, change.start, now)
    else:
        state.subscriptions.replace(subscriber, topic, queues, now)
    state.heard(subscriber.client_id, client)
