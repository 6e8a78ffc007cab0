"""Pops and what follows from them, asked for without a command: what a door of any protocol may do."""

from dataclasses import replace

import pytest
from twisted.internet.defer import Deferred

from mqgateway.engine.options import FlushDiskType
from mqgateway.engine.pop import Receipt
from mqgateway.engine.steps import run
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.polling import PollingStatus
from mqgateway.gateway.broker.pop.acks import BatchAck, acknowledge, acknowledge_batch, change_invisible_time
from mqgateway.gateway.broker.pop.pop import PopOutcome, pop
from mqgateway.gateway.broker.pop.questions import NotificationOutcome, notification, peek, polling_info
from tests.support.gateway.broker.helpers import split_records
from tests.support.gateway.broker.pop_requests import Acked, Pop
from tests.support.gateway.broker.popping import GRACE, INVISIBLE, PopBroker


@pytest.fixture
def broker() -> PopBroker:
    return PopBroker()


def send(broker: PopBroker, *bodies: bytes, queue_id: int = 0) -> None:
    for body in bodies:
        assert broker.send("T", body, queue_id=queue_id, properties={"UNIQ_KEY": body.decode()}).code == 0


def popped(broker: PopBroker, request: Pop | None = None) -> PopOutcome:
    outcome = pop(broker.broker, request or Pop(), broker.consumer)
    assert isinstance(outcome, PopOutcome)
    return outcome


def bodies(outcome: PopOutcome) -> list[bytes]:
    return [message.body for find in outcome.finds for message in split_records(find.body)]


def receipt_of(outcome: PopOutcome) -> Receipt:
    """Of all messages of the first queue."""
    times = outcome.pop_time, outcome.invisible_time
    return Receipt(outcome.finds[0].start_offset, *times, outcome.revive_queue_id, "0", "broker-a")


def acked(outcome: PopOutcome, offset: int) -> Acked:
    return Acked(receipt_of(outcome).of_message(0, offset), offset)


def test_a_pop_says_queue_by_queue_what_it_found(broker: PopBroker) -> None:
    send(broker, b"a", b"b", b"c")
    send(broker, b"x", queue_id=1)
    outcome = popped(broker, Pop(max_msg_nums=3))
    assert outcome.status is PollingStatus.FOUND
    places = [(find.topic, find.queue_id, find.start_offset, [*find.queue_offsets]) for find in outcome.finds]
    assert places == [("T", 1, 0, [0]), ("T", 0, 0, [0, 1])]
    assert bodies(outcome) == [b"x", b"a", b"b"]
    assert (outcome.rest, outcome.invisible_time) == (1, INVISIBLE)
    assert [find.counts for find in outcome.finds] == [None, None]


def test_a_pop_in_order_counts_what_was_given_out_before(broker: PopBroker) -> None:
    send(broker, b"a", b"b")
    ordered = Pop(order=True, max_msg_nums=1)
    assert popped(broker, ordered).finds[0].counts == {}
    assert popped(broker, ordered).status is PollingStatus.POLLING_TIMEOUT
    broker.pass_time(INVISIBLE + GRACE)
    assert popped(broker, replace(ordered, max_msg_nums=2)).finds[0].counts == {0: 1}


def test_a_pop_waits_until_there_is_something_or_there_is_no_room(broker: PopBroker) -> None:
    broker.options.pop_polling_size = 1
    outcomes: list[PopOutcome] = []
    waiting = pop(broker.broker, Pop(poll_time=1000), broker.consumer)
    assert isinstance(waiting, Deferred)
    waiting.addCallback(outcomes.append)
    assert popped(broker, Pop(poll_time=1000)).status is PollingStatus.POLLING_FULL
    assert polling_info(broker.broker, "T", "G", -5, broker.consumer) == 1
    send(broker, b"a")
    assert [bodies(outcome) for outcome in outcomes] == [[b"a"]]
    assert polling_info(broker.broker, "T", "G", -1, broker.consumer) == 0


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (Pop(max_msg_nums=33), Reason.INVALID_PARAMETER),
        (Pop(topic="U"), Reason.TOPIC_NOT_EXIST),
        (Pop(exp="a >", exp_type="SQL92"), Reason.SUBSCRIPTION_PARSE_FAILED),
        (Pop(born_time=1, poll_time=1000), Reason.POLLING_TIMEOUT),
    ],
)
def test_a_pop_is_refused_for_a_reason(broker: PopBroker, request_: Pop, reason: Reason) -> None:
    with pytest.raises(OperationError) as refused:
        pop(broker.broker, request_, broker.consumer)
    assert refused.value.reason is reason


def test_what_is_acknowledged_does_not_come_again(broker: PopBroker) -> None:
    send(broker, b"a", b"b", b"c", b"d")
    outcome = popped(broker)
    assert acknowledge(broker.broker, acked(outcome, 0), broker.consumer) is None
    batch = BatchAck("T", "G", 0, receipt_of(outcome), [1, 3, 99])
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
        (Acked("", 9), Reason.NO_MESSAGE),
        (Acked("", 0), Reason.SYSTEM_ERROR),
        (Acked("", 0, queue_id=7), Reason.MESSAGE_ILLEGAL),
        (Acked("0 1 1 99 0 broker-a", 0), Reason.SYSTEM_ERROR),
    ],
)
def test_an_acknowledgement_is_refused_for_a_reason(
    broker: PopBroker, request_: Acked, reason: Reason
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
    outcome = popped(broker, Pop(order=is_ordered))
    broker.pass_time(1000)
    later = replace(acked(outcome, 1), invisible_time=60_000)
    changed = change_invisible_time(broker.broker, later, broker.consumer)
    assert isinstance(changed, Receipt)
    assert changed.start_offset == 1
    assert changed.revive_time == broker.broker.store.steady.now() + 60_000
    assert change_invisible_time(broker.broker, replace(later, offset=9), broker.consumer) is None
    assert acknowledge(broker.broker, Acked(changed.of_message(0, 1), 1), broker.consumer) is None
    broker.pass_time(60_000 + GRACE)
    assert bodies(popped(broker, Pop(order=is_ordered))) == again


def test_a_peek_takes_nothing(broker: PopBroker) -> None:
    send(broker, b"a", b"b")
    for _ in range(2):
        outcome = peek(broker.broker, Pop(max_msg_nums=1), broker.consumer)
        assert not isinstance(outcome, Deferred)
        assert [len(split_records(body)) for body in outcome.bodies] == [1]
        assert outcome.rest == 2


def test_one_is_notified_when_there_is_something(broker: PopBroker) -> None:
    assert notification(broker.broker, Pop(), broker.consumer) == NotificationOutcome(False)
    broker.options.pop_polling_size = 1
    outcomes: list[NotificationOutcome] = []
    waiting = notification(broker.broker, Pop(poll_time=1000), broker.consumer)
    assert isinstance(waiting, Deferred)
    waiting.addCallback(outcomes.append)
    full = notification(broker.broker, Pop(poll_time=1000), broker.consumer)
    assert full == NotificationOutcome(False, is_polling_full=True)
    send(broker, b"a")
    assert outcomes == [NotificationOutcome(True)]
