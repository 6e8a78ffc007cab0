"""Questions to brokers about messages and where they lie."""

from __future__ import annotations

import pytest

from mqgateway.engine.message import parse_offset_message_id
from mqgateway.gateway.client import admin_messages as messages
from mqgateway.gateway.client.errors import BrokerError
from tests.support.gateway.client.administering import office
from tests.support.gateway.client.cluster import queue_of


def test_messages_are_found_by_key_and_place() -> None:
    with office() as here:
        sent = here.send(4, keys="order-1")
        here.cluster.settle(1.0)
        found = here.ask(messages.by_key("T", "order-1"))
        assert sorted(one.body for one in found) == [b"0", b"1", b"2", b"3"]
        one = here.ask(messages.by_key("T", sent[2].message_id, kind=messages.UNIQUE_KEY))
        assert [found.body for found in one] == [b"2"]
        assert here.ask(messages.by_key("T", "order-2")) == []
        _, _, offset = parse_offset_message_id(sent[1].offset_message_id)
        assert here.ask(messages.at(offset)).body == b"1"
        with pytest.raises(BrokerError):
            here.ask(messages.at(1 << 40))


def test_ends_and_entries_of_queues() -> None:
    with office() as here:
        here.send(8)
        queue, now = queue_of("T", 2), here.cluster.clock.millis()
        assert here.ask(messages.max_offset(queue)) == 2
        assert here.ask(messages.min_offset(queue)) == 0
        assert here.ask(messages.offset_at(queue, 0)) == 0
        assert here.ask(messages.offset_at(queue, now + 10_000, is_upper=True)) == 1
        assert 0 < here.ask(messages.earliest_store_time(queue)) <= now
        entries = here.ask(messages.queue_entries(queue, 0, 10))
        assert len(entries.queue_data) == 2 and entries.max_queue_index == 2
        assert here.ask(messages.queue_entries(queue, 99, 10)) is None


def test_a_half_message_that_is_none_cannot_be_asked_about() -> None:
    with office() as here:
        sent = here.send(1)[0]
        with pytest.raises(BrokerError):
            here.ask(messages.ask_about_again(sent.offset_message_id))
