"""Queries through operations."""

from __future__ import annotations

import pytest

from mqgateway.engine.message import parse_offset_message_id
from mqgateway.engine.store.record import decode
from mqgateway.gateway.broker.operations import OperationError, Reason, Use
from tests.support.gateway.broker.cold import ColdStore
from tests.support.gateway.broker.operating import OperatedBroker
from tests.support.gateway.broker.producing import later, outcome_of


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


def test_messages_of_a_queue_are_read_by_offset(operated: OperatedBroker) -> None:
    for body in (b"a", b"b", b"c"):
        operated.send(body)
    queries, permit = operated.operations.queries, operated.permit(Use.QUERY)
    found = outcome_of(queries.messages(permit, "T", 0, 1, 3))
    assert [message.body for message in found] == [b"b", b"c"]
    in_memory = queries.messages_in_memory(permit, "T", 0, 0, 2)
    assert in_memory is not None and [message.body for message in in_memory] == [b"a", b"b"]


def test_messages_that_are_not_in_memory_are_brought_or_left_out(
    operated: OperatedBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    operated.send(b"a")
    queries, permit = operated.operations.queries, operated.permit(Use.QUERY)
    cold = ColdStore(operated.broker.store, monkeypatch, 2, names=("messages",))
    assert queries.messages_in_memory(permit, "T", 0, 0, 1) is None and not cold.waiting
    found = later(queries.messages(permit, "T", 0, 0, 1))
    assert found == [] and cold.bring() == 1
    [[message]] = found
    assert (message.body, cold.waits) == (b"a", 0)


def test_delayed_messages_are_counted_by_level(operated: OperatedBroker) -> None:
    operated.send(b"a", DELAY="4")
    levels = operated.operations.queries.delay_levels()
    assert [one for one in levels if one.messages] == [(4, 30_000, 1)]
    assert [one.level for one in levels] == list(range(1, 19))


def test_timers_are_counted_by_the_time_when_they_are_due(operated: OperatedBroker) -> None:
    queries, memory = operated.operations.queries, operated.memory
    for seconds in ("90", "90", "200"):
        operated.send(b"a", TIMER_DELAY_SEC=seconds)
    memory.pass_time(5_000)
    assert queries.timers() == (3, {"T": 3})
    assert queries.due(memory.broker.store.steady.now(), 60_000, 5).result == [0, 2, 0, 1, 0]


def test_without_timer_wheel_no_timer_is_due() -> None:
    operated = OperatedBroker(store_options={"timer_wheel_enable": False})
    queries = operated.operations.queries
    assert queries.timers().pending is None
    assert queries.due(operated.operations.steady.now(), 60_000, 5).result == []
