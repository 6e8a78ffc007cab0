"""Queries through operations."""

from __future__ import annotations

import pytest

from mqgateway.engine.message import parse_offset_message_id
from mqgateway.engine.store.record import decode
from mqgateway.gateway.broker.operations import OperationError, Reason, Use
from tests.support.gateway.broker.operating import OperatedBroker
from tests.support.gateway.broker.producing import outcome_of


@pytest.fixture
def operated() -> OperatedBroker:
    return OperatedBroker(store_options={"message_index_enable": True})


def test_message_is_found_by_key(operated: OperatedBroker) -> None:
    operated.send(b"a", KEYS="k")
    found = operated.operations.queries.by_key(operated.permit(Use.QUERY), "T", "k", 8)
    assert [decode(record).body for record in outcome_of(found).records] == [b"a"]


def test_record_is_read_if_its_topic_may_be_used(operated: OperatedBroker) -> None:
    offset = parse_offset_message_id(operated.send(b"a").message_id)[2]
    queries, permit = operated.operations.queries, operated.permit(Use.QUERY)
    assert decode(outcome_of(queries.by_position(permit, offset, lambda topic: topic == "T"))).body == b"a"
    with pytest.raises(OperationError) as refused:
        queries.by_position(permit, offset, lambda topic: False)
    assert refused.value.reason is Reason.NO_PERMISSION
