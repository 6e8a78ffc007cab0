"""Pop operations, called without a command, as front ends of any protocol do."""

import pytest
from twisted.internet.defer import Deferred

from mqgateway.engine.options import FlushDiskType
from mqgateway.engine.pop import Receipt
from mqgateway.engine.steps import run
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.polling import PollingStatus
from mqgateway.gateway.broker.pop.acks import (
    CheckpointAcks,
    acknowledge,
    acknowledge_batch,
    change_invisible_time,
)
from mqgateway.gateway.broker.pop.pop import PopOutcome, pop
from mqgateway.gateway.broker.pop.questions import NotificationOutcome, notification, peek, polling_info
from mqgateway.gateway.broker.pop.reading import Receive
from mqgateway.gateway.broker.receipts import Delivery
from tests.support.gateway.broker.helpers import split_records
from tests.support.gateway.broker.pop import GRACE, INVISIBLE, PopBroker
from tests.support.gateway.broker.pop_requests import PEEK, RECEIVE, WATCH, delivery, receive


@pytest.fixture
def broker() -> PopBroker:
    return PopBroker()


def send(broker: PopBroker, *bodies: bytes, queue_id: int = 0) -> None:
    for body in bodies:
        assert broker.send("T", body, queue_id=queue_id, properties={"UNIQ_KEY": body.decode()}).code == 0


def popped(broker: PopBroker, request: Receive = RECEIVE) -> PopOutcome:
    outcome = pop(broker.broker, request, broker.consumer)
    assert isinstance(outcome, PopOutcome)
    return outcome


def bodies(outcome: PopOutcome) -> list[bytes]:
    return [message.body for find in outcome.finds for message in split_records(find.body)]


def receipt_of(outcome: PopOutcome) -> Receipt:
    """Of all messages of the first queue."""
    times = outcome.pop_time, outcome.invisible_time
    return Receipt(outcome.finds[0].start_offset, *times, outcome.revive_queue_id, "0", "broker-a")


def acked(outcome: PopOutcome, offset: int) -> Delivery:
    return delivery(receipt_of(outcome).of_message(0, offset), offset)


def test_pop_returns_messages_by_queue(broker: PopBroker) -> None:
    send(broker, b"a", b"b", b"c")
    send(broker, b"x", queue_id=1)
    outcome = popped(broker, receive(max_messages=3))
    assert outcome.status is PollingStatus.FOUND
    places = [(find.topic, find.queue_id, find.start_offset, [*find.queue_offsets]) for find in outcome.finds]
    assert places == [("T", 1, 0, [0]), ("T", 0, 0, [0, 1])]
    assert bodies(outcome) == [b"x", b"a", b"b"]
    assert (outcome.rest, outcome.invisible_time) == (1, INVISIBLE)
    assert [find.counts for find in outcome.finds] == [None, None]


def test_ordered_pop_counts_deliveries(broker: PopBroker) -> None:
    send(broker, b"a", b"b")
    ordered = receive(is_ordered=True, max_messages=1)
    assert popped(broker, ordered).finds[0].counts == {}
    assert popped(broker, ordered).status is PollingStatus.POLLING_TIMEOUT
    broker.pass_time(INVISIBLE + GRACE)
    assert popped(broker, ordered._replace(max_messages=2)).finds[0].counts == {0: 1}


def test_pop_waits_for_messages_unless_polling_is_full(broker: PopBroker) -> None:
    broker.options.pop_polling_size = 1
    outcomes: list[PopOutcome] = []
    waiting = pop(broker.broker, receive(max_wait=1000), broker.consumer)
    assert isinstance(waiting, Deferred)
    waiting.addCallback(outcomes.append)
    assert popped(broker, receive(max_wait=1000)).status is PollingStatus.POLLING_FULL
    assert polling_info(broker.broker, "T", "G", -5, broker.consumer) == 1
    send(broker, b"a")
    assert [bodies(outcome) for outcome in outcomes] == [[b"a"]]
    assert polling_info(broker.broker, "T", "G", -1, broker.consumer) == 0


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (receive(max_messages=33), Reason.INVALID_PARAMETER),
        (receive(topic="U"), Reason.TOPIC_NOT_EXIST),
        (receive(expression="a >", expression_type="SQL92"), Reason.SUBSCRIPTION_PARSE_FAILED),
        (receive(born_time=1, max_wait=1000), Reason.POLLING_TIMEOUT),
    ],
)
def test_refusal_of_a_pop_has_a_reason(broker: PopBroker, request_: Receive, reason: Reason) -> None:
    with pytest.raises(OperationError) as refused:
        pop(broker.broker, request_, broker.consumer)
    assert refused.value.reason is reason


def test_acknowledged_messages_are_not_redelivered(broker: PopBroker) -> None:
    send(broker, b"a", b"b", b"c", b"d")
    outcome = popped(broker)
    assert acknowledge(broker.broker, acked(outcome, 0), broker.consumer) is None
    batch = CheckpointAcks("T", "G", 0, receipt_of(outcome), [1, 3, 99])
    assert run(acknowledge_batch(broker.broker, [batch], broker.consumer)) is None
    broker.pass_time(INVISIBLE + GRACE)
    assert bodies(popped(broker)) == [b"c"]


def test_an_acknowledgement_waits_for_the_disk() -> None:
    broker = PopBroker(store_options={"flush_disk_type": FlushDiskType.SYNC_FLUSH})
    broker.send("T", b"a")
    outcome = popped(broker)
    stored = acknowledge(broker.broker, acked(outcome, 0), broker.consumer)
    done: list[None] = []
    assert isinstance(stored, Deferred)
    stored.addCallback(done.append)
    broker.broker.store.tick()
    assert done == [None]


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (delivery("", 9), Reason.NO_MESSAGE),
        (delivery("", 0), Reason.SYSTEM_ERROR),
        (delivery("", 0, queue_id=7), Reason.MESSAGE_ILLEGAL),
        (delivery("0 1 1 99 0 broker-a", 0), Reason.SYSTEM_ERROR),
    ],
)
def test_refusal_of_an_acknowledgement_has_a_reason(
    broker: PopBroker, request_: Delivery, reason: Reason
) -> None:
    send(broker, b"a")
    with pytest.raises(OperationError) as refused:
        acknowledge(broker.broker, request_, broker.consumer)
    assert refused.value.reason is reason


@pytest.mark.parametrize(("is_ordered", "again"), [(False, [b"a"]), (True, [b"a", b"b"])])
def test_a_message_whose_time_is_changed_has_another_receipt(
    broker: PopBroker, is_ordered: bool, again: list[bytes]
) -> None:
    send(broker, b"a", b"b")
    outcome = popped(broker, receive(is_ordered=is_ordered))
    broker.pass_time(1000)
    later = acked(outcome, 1)
    changed = change_invisible_time(broker.broker, later, 60_000, broker.consumer, is_suspended=False)
    assert isinstance(changed, Receipt)
    assert changed.start_offset == 1
    assert changed.revive_time == broker.broker.store.steady.now() + 60_000
    missing = later._replace(offset=9)
    assert change_invisible_time(broker.broker, missing, 60_000, broker.consumer, is_suspended=False) is None
    assert acknowledge(broker.broker, delivery(changed.of_message(0, 1), 1), broker.consumer) is None
    broker.pass_time(60_000 + GRACE)
    assert bodies(popped(broker, receive(is_ordered=is_ordered))) == again


def test_peek_delivers_nothing(broker: PopBroker) -> None:
    send(broker, b"a", b"b")
    for _ in range(2):
        outcome = peek(broker.broker, PEEK._replace(max_messages=1), broker.consumer)
        assert not isinstance(outcome, Deferred)
        assert [len(split_records(body)) for body in outcome.bodies] == [1]
        assert outcome.rest == 2


def test_notification_is_answered_when_a_message_arrives(broker: PopBroker) -> None:
    assert notification(broker.broker, WATCH, broker.consumer) == NotificationOutcome(False)
    broker.options.pop_polling_size = 1
    outcomes: list[NotificationOutcome] = []
    waiting = notification(broker.broker, WATCH._replace(max_wait=1000), broker.consumer)
    assert isinstance(waiting, Deferred)
    waiting.addCallback(outcomes.append)
    full = notification(broker.broker, WATCH._replace(max_wait=1000), broker.consumer)
    assert full == NotificationOutcome(False, is_polling_full=True)
    send(broker, b"a")
    assert outcomes == [NotificationOutcome(True)]
