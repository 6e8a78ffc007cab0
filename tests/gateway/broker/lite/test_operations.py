"""Operations of lite topics, called without a command, as front ends of any protocol do."""

import pytest
from twisted.internet.defer import Deferred

from mqgateway.engine.lite.subscriptions import Subscriber, SubscriptionStart
from mqgateway.engine.pop import ORDER_REVIVE_QUEUE, Receipt
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.lite.acks import acknowledge_lite, change_invisible_time_lite
from mqgateway.gateway.broker.lite.pop import PopLiteOutcome, ReceiveLite, pop_lite
from mqgateway.gateway.broker.lite.subscriptions import (
    LiteTopicChange,
    SubscriptionChange,
    change_subscriptions,
)
from mqgateway.gateway.broker.polling import PollingStatus
from tests.support.gateway.broker.helpers import split_records
from tests.support.gateway.broker.lite import INVISIBLE, PARENT, LiteBroker, queue
from tests.support.gateway.broker.pop_requests import RECEIVE_LITE, delivery, receive_lite

ALL = SubscriptionStart("POLICY", 1)


class Client:
    """A subscriber; `lost` has its notifications."""

    def __init__(self) -> None:
        self.lost: list[tuple[Subscriber, str]] = []

    def unsubscribed(self, subscriber: Subscriber, lite_topic: str) -> None:
        self.lost.append((subscriber, lite_topic))


def change(
    broker: LiteBroker,
    action: LiteTopicChange,
    *names: str,
    client_id: str = "c1",
    group: str = "G",
    client: Client | None = None,
) -> list[object]:
    """Return a list that will have the outcome."""
    outcomes: list[object] = []
    asked = SubscriptionChange(action, Subscriber(client_id, group), PARENT, names, ALL)
    changed = change_subscriptions(broker.broker, [asked], client or Client())
    changed.addCallbacks(outcomes.append, lambda failure: outcomes.append(failure.value))
    return outcomes


def popped(broker: LiteBroker, request: ReceiveLite = RECEIVE_LITE) -> PopLiteOutcome:
    outcome = pop_lite(broker.broker, request, broker.consumer)
    assert isinstance(outcome, PopLiteOutcome)
    return outcome


def bodies(outcome: PopLiteOutcome) -> list[bytes]:
    return [message.body for find in outcome.finds for message in split_records(find.body)]


def subscribed(*names: str) -> LiteBroker:
    broker = LiteBroker()
    assert change(broker, LiteTopicChange.PARTIAL_ADD, *names) == [None]
    return broker


def test_pop_returns_messages_by_topic() -> None:
    broker = subscribed("a", "b")
    broker.post("a", b"1", b"2")
    broker.post("b", b"3")
    outcome = popped(broker)
    assert outcome.status is PollingStatus.FOUND
    found = {find.queue: ([*find.queue_offsets], dict(find.counts)) for find in outcome.finds}
    assert found == {queue("a"): ([0, 1], {}), queue("b"): ([0], {})}
    assert sorted(bodies(outcome)) == [b"1", b"2", b"3"]
    assert popped(broker).status is PollingStatus.POLLING_TIMEOUT


def test_pop_waits_and_refusal_has_a_reason() -> None:
    broker = subscribed("a")
    outcomes: list[PopLiteOutcome] = []
    waiting = pop_lite(broker.broker, receive_lite(max_wait=1000), broker.consumer)
    assert isinstance(waiting, Deferred)
    waiting.addCallback(outcomes.append)
    broker.options.pop_polling_size = 1
    assert popped(broker, receive_lite(max_wait=1000)).status is PollingStatus.POLLING_FULL
    broker.post("a", b"1")
    assert [bodies(outcome) for outcome in outcomes] == [[b"1"]]
    with pytest.raises(OperationError) as refused:
        pop_lite(broker.broker, receive_lite(topic="T"), broker.consumer)
    assert refused.value.reason is Reason.TOPIC_NOT_EXIST


def test_acknowledgements_and_changes_of_the_time() -> None:
    broker = subscribed("a")
    broker.post("a", b"1", b"2")
    outcome = popped(broker)
    receipt = Receipt(0, outcome.pop_time, INVISIBLE, ORDER_REVIVE_QUEUE, "0", "broker-a")
    first = delivery(receipt.of_message(0, 0), 0, topic=PARENT, lite_topic="a")
    changed = change_invisible_time_lite(broker.broker, first._replace(offset=1), 60_000, is_suspended=False)
    assert changed is not None
    assert (changed.start_offset, changed.revive_time) == (1, broker.broker.store.steady.now() + 60_000)
    acknowledge_lite(broker.broker, first)
    assert broker.broker.tables.offsets.query("G", queue("a"), 0) == 1
    with pytest.raises(OperationError) as stale:
        change_invisible_time_lite(broker.broker, first, 60_000, is_suspended=False)
    assert stale.value.reason is Reason.RECEIPT_STALE
    missing = first._replace(offset=9)
    assert change_invisible_time_lite(broker.broker, missing, 60_000, is_suspended=False) is None
    with pytest.raises(OperationError) as refused:
        acknowledge_lite(broker.broker, first._replace(topic="T"))
    assert refused.value.reason is Reason.INVALID_PARAMETER


def test_client_that_loses_a_lite_topic_is_notified_by_its_own_method() -> None:
    broker = LiteBroker()
    broker.bind("E", model="Exclusive")
    first, second = Client(), Client()
    change(broker, LiteTopicChange.PARTIAL_ADD, "a", group="E", client=first)
    change(broker, LiteTopicChange.PARTIAL_ADD, "a", group="E", client_id="c2", client=second)
    assert (first.lost, second.lost) == ([(Subscriber("c1", "E"), "a")], [])


def test_refusal_of_a_subscription_has_a_reason() -> None:
    broker = LiteBroker(options={"max_lite_subscription_count": 1})
    broker.bind("W", wildcard="true")
    reasons = []
    for name, group in (("a", "W"), ("x" * 99_999, "G"), ("a", "G"), ("b", "G")):
        (outcome,) = change(broker, LiteTopicChange.PARTIAL_ADD, name, group=group)
        reasons.append(outcome.reason if isinstance(outcome, OperationError) else outcome)
    assert reasons == [
        Reason.ILLEGAL_OPERATION,
        Reason.SYSTEM_ERROR,
        None,
        Reason.LITE_SUBSCRIPTION_QUOTA_EXCEEDED,
    ]
