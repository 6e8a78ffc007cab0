"""Popped messages through operations: delivered, acknowledged, hidden, dead-lettered."""

from __future__ import annotations

import pytest
from twisted.internet.defer import Deferred

from mqgateway.engine.pop import OrderKey, Receipt
from mqgateway.gateway.broker.operations import (
    CheckpointAcks,
    Delivery,
    OperationError,
    Peek,
    PollingStatus,
    PopOutcome,
    Reason,
    Receive,
    ReceiveLite,
    Use,
    Watch,
)
from tests.support.gateway.broker.helpers import split_records
from tests.support.gateway.broker.operating import OperatedBroker
from tests.support.gateway.broker.producing import outcome_of

WANTED = Receive("G", "T", 32, 60_000, 0, "*", "TAG", False, None)


@pytest.fixture
def operated() -> OperatedBroker:
    """A broker with messages a and b."""
    operated = OperatedBroker()
    operated.memory.chance = 0
    operated.send(b"a")
    operated.send(b"b")
    return operated


def received(operated: OperatedBroker) -> PopOutcome:
    outcome = operated.operations.pop.receive(operated.permit(Use.RECEIVE), WANTED)
    return outcome_of(outcome)


def delivery(outcome: PopOutcome, offset: int) -> Delivery:
    (find,) = outcome.finds
    times = outcome.pop_time, outcome.invisible_time
    made = Receipt(find.start_offset, *times, outcome.revive_queue_id, "0", "broker-a")
    return Delivery("G", "T", find.queue_id, made.of_message(find.queue_id, offset), offset, None)


def test_received_messages_are_acknowledged_and_hidden(operated: OperatedBroker) -> None:
    found, pop = received(operated), operated.operations.pop
    assert [message.body for message in split_records(found.finds[0].body)] == [b"a", b"b"]
    assert pop.acknowledge(operated.permit(Use.ACKNOWLEDGE), delivery(found, 0)) is None
    permit = operated.permit(Use.CHANGE_INVISIBLE_TIME)
    assert isinstance(pop.change_invisible_time(permit, delivery(found, 1), 90_000), Receipt)
    assert received(operated).status is PollingStatus.POLLING_TIMEOUT


def test_receipt_of_an_acknowledged_message_is_stale(operated: OperatedBroker) -> None:
    found, pop = received(operated), operated.operations.pop
    pop.check_receipt(operated.permit(Use.DEAD_LETTER), delivery(found, 0))
    pop.acknowledge(operated.permit(Use.ACKNOWLEDGE), delivery(found, 0))
    with pytest.raises(OperationError) as refused:
        pop.check_receipt(operated.permit(Use.DEAD_LETTER), delivery(found, 0))
    assert refused.value.reason is Reason.RECEIPT_STALE


@pytest.mark.parametrize("use", [Use.DEAD_LETTER, Use.RECEIVE])
def test_dead_lettered_message_is_stored_in_the_dlq(operated: OperatedBroker, use: Use) -> None:
    (message, _) = operated.memory.stored("T")
    pop = operated.operations.pop
    pop.dead_letter(operated.permit(use), "G", "T", message.physical_offset, 0, message.queue_offset)
    operated.broker.store.dispatch()
    assert operated.bodies("%DLQ%G") == [b"a"]


def test_message_of_another_topic_is_not_dead_lettered(operated: OperatedBroker) -> None:
    (message, _) = operated.memory.stored("T")
    with pytest.raises(OperationError) as refused:
        permit = operated.permit(Use.DEAD_LETTER)
        operated.operations.pop.dead_letter(permit, "G", "Other", message.physical_offset, 0, 0)
    assert refused.value.reason is Reason.NO_PERMISSION


def test_receive_of_lite_topics_without_subscriptions_finds_nothing() -> None:
    operated = OperatedBroker(store_options={"enable_lmq": True, "enable_multi_dispatch": True})
    operated.memory.add_topic("chat", attributes={"message.type": "LITE"})
    group = operated.broker.tables.groups.get("G")
    assert group is not None
    group.attributes["lite.bind.topic"] = "chat"
    wanted = ReceiveLite("c1", "G", "chat", 32, 60_000, 0, None)
    found = outcome_of(operated.operations.pop.receive_lite(operated.permit(Use.RECEIVE), wanted))
    assert not found.is_found


def test_operations_that_only_look_take_nothing(operated: OperatedBroker) -> None:
    pop, permit = operated.operations.pop, operated.permit(Use.QUERY)
    peeked = outcome_of(pop.peek(permit, Peek("G", "T", -1, 1)))
    assert [len(split_records(body)) for body in peeked.bodies] == [1]
    assert outcome_of(pop.watch(permit, Watch("G", "T", -1, 0))).has_message
    assert pop.waiting(permit, "G", "T", -1) == 0
    assert len(received(operated).finds[0].queue_offsets) == 2


def test_requests_that_wait_are_counted(operated: OperatedBroker) -> None:
    received(operated)
    pop = operated.operations.pop
    waiting = pop.receive(operated.permit(Use.RECEIVE), WANTED._replace(max_wait=1000))
    assert isinstance(waiting, Deferred)
    assert pop.waiting(operated.permit(Use.QUERY), "G", "T", -1) == 1


def test_several_deliveries_are_acknowledged_a_delivery_a_step(operated: OperatedBroker) -> None:
    outcome = received(operated)
    times = outcome.pop_time, outcome.invisible_time
    receipt = Receipt(outcome.finds[0].start_offset, *times, outcome.revive_queue_id, "0", "broker-a")
    given = CheckpointAcks("T", "G", 0, receipt, [0, 1])
    steps = operated.operations.pop.acknowledging(operated.permit(Use.ACKNOWLEDGE), [given])
    assert operated.memory.in_turns(steps) is None
    again = delivery(outcome, 0)
    with pytest.raises(OperationError) as refused:
        operated.operations.pop.check_receipt(operated.permit(Use.DEAD_LETTER), again)
    assert refused.value.reason is Reason.RECEIPT_STALE


def test_steps_of_acknowledgements_need_their_permit(operated: OperatedBroker) -> None:
    with pytest.raises(ValueError, match="a permit to query does not allow to acknowledge"):
        operated.operations.pop.acknowledging(operated.permit(Use.QUERY), [])


def test_messages_in_flight_and_waiting_pops_are_counted_by_queue(operated: OperatedBroker) -> None:
    pop = operated.operations.pop
    received(operated)
    waiting = WANTED._replace(group="H", queue_id=0, max_wait=20_000)
    pop.receive(operated.permit(Use.RECEIVE), waiting)
    pop.receive(operated.permit(Use.RECEIVE), waiting)
    assert pop.in_flight()[OrderKey("T", "G", 0)] == 2
    assert pop.waiting_pops() == {OrderKey("T", "H", 0): 1}
    figures = pop.figures()
    assert (figures.waiting_pops, figures.queues_in_flight, figures.is_revived) == (1, 2, True)


def test_revive_queue_lags_behind_until_checkpoints_are_processed(operated: OperatedBroker) -> None:
    pop, memory = operated.operations.pop, operated.memory
    received(operated)
    assert len(pop.revival()) == memory.options.revive_queue_num
    assert not any(one.lag for one in pop.revival())
    memory.pass_time(61_000)
    assert sum(one.lag for one in pop.revival()) == sum(one.checkpoints for one in pop.revival()) == 1
    assert max(one.age for one in pop.revival()) > 0
