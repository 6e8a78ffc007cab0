"""Ends of transactions through operations."""

from __future__ import annotations

import pytest

from mqgateway.engine.message import SysFlag, parse_offset_message_id
from mqgateway.gateway.broker.operations import (
    HalfPlace,
    OperationError,
    Reason,
    Resolution,
    TransactionEnd,
    Use,
)
from tests.support.gateway.broker.operating import OperatedBroker
from tests.support.gateway.broker.producing import outcome_of


@pytest.fixture
def operated() -> OperatedBroker:
    operated = OperatedBroker(store_options={"message_index_enable": True})
    operated.broker.transactions.load()
    return operated


def half(operated: OperatedBroker) -> HalfPlace:
    """Send a half message with the key h."""
    sent = operated.send(b"h", SysFlag.TRANSACTION_PREPARED, TRAN_MSG="true", PGROUP="PG")
    return HalfPlace(sent.queue_offset, parse_offset_message_id(sent.message_id)[2])


def end(place: HalfPlace, resolution: Resolution) -> TransactionEnd:
    return TransactionEnd(resolution, "PG", place.queue_offset, place.physical_offset, False, "h", None)


@pytest.mark.parametrize(("resolution", "stored"), [(Resolution.COMMIT, [b"h"]), (Resolution.ROLLBACK, [])])
def test_ended_transaction_is_readable_only_if_committed(
    operated: OperatedBroker, resolution: Resolution, stored: list[bytes]
) -> None:
    place = half(operated)
    assert operated.bodies("T") == []
    permit = operated.permit(Use.END_TRANSACTION)
    operated.operations.transactions.end(permit, end(place, resolution), lambda topic: topic == "T")
    assert operated.bodies("T") == stored


def test_end_of_a_half_message_of_another_topic_is_refused(operated: OperatedBroker) -> None:
    place, permit = half(operated), operated.permit(Use.END_TRANSACTION)
    with pytest.raises(OperationError) as refused:
        operated.operations.transactions.end(
            permit, end(place, Resolution.COMMIT), lambda topic: topic == "Other"
        )
    assert refused.value.reason is Reason.NO_PERMISSION


def test_half_message_is_found_by_topic_and_key(operated: OperatedBroker) -> None:
    place, transactions = half(operated), operated.operations.transactions
    permit = operated.permit(Use.END_TRANSACTION)
    assert outcome_of(transactions.find_half(permit, "T", "h")) == place
    assert outcome_of(transactions.find_half(permit, "T", "other")) is None
    assert outcome_of(transactions.find_half(permit, "Other", "h")) is None


def test_check_of_a_message_that_was_not_given_up_is_refused(operated: OperatedBroker) -> None:
    message_id = operated.send(b"a").message_id
    with pytest.raises(OperationError) as refused:
        operated.operations.transactions.resume_check(operated.permit(Use.ADMINISTER), message_id, None)
    assert refused.value.reason is Reason.SYSTEM_ERROR


def test_check_of_a_half_message_of_another_topic_is_refused(operated: OperatedBroker) -> None:
    message_id = operated.send(b"a").message_id
    with pytest.raises(OperationError) as refused:
        operated.operations.transactions.resume_check(
            operated.permit(Use.ADMINISTER), message_id, lambda topic: topic == "Other"
        )
    assert refused.value.reason is Reason.NO_PERMISSION


def test_open_transactions_are_listed_until_they_end(operated: OperatedBroker) -> None:
    place, transactions = half(operated), operated.operations.transactions
    operated.memory.clock.advance(3_000)
    [found] = transactions.open(10, operated.memory.clock.millis())
    assert (found.topic, found.group, found.checks, found.age) == ("T", "PG", 0, 3_000)
    assert parse_offset_message_id(found.message_id)[2] == place.physical_offset
    assert transactions.open_counts() == {"T": 1}
    transactions.end(operated.permit(Use.END_TRANSACTION), end(place, Resolution.ROLLBACK), None)
    assert transactions.open(10, 0) == [] and transactions.open_counts() == {}
