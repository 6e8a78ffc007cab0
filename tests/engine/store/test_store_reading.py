"""Messages of a store found by queue, position and unique key, also inside batches of Kafka."""

import pytest

from mqgateway.engine.store.expansion import unique_key
from mqgateway.engine.store.record import decode
from tests.support.engine.store.kafka_records import mixed


def test_messages_between_offsets() -> None:
    store = mixed().store
    assert [one.body for one in store.messages("batched", 0, 1, 5)] == [b"b", b"c", b"d", b"e"]
    assert store.messages("batched", 1, 0, 5) == []
    found = store.message("batched", 0, 4)
    assert found is not None and found.body == b"e"
    assert store.message("batched", 0, 99) is None


def test_message_is_found_by_position_and_unique_key() -> None:
    store = mixed().store
    place = store.consume_queue_units("batched", 0, 4, 1)[0][0]
    second = store.message_record_at(place, unique_key("batched", 0, 5))
    assert second is not None and decode(second).body == b"f"
    first = store.message_record_at(place)
    assert first is not None and decode(first).body == b"e"
    for key in (unique_key("batched", 0, 6), unique_key("batched", 0, 3), unique_key("batched", 1, 5), "x"):
        assert store.message_record_at(place, key) is None
    ordinary = store.consume_queue_units("batched", 0, 3, 1)[0][0]
    assert store.message_record_at(ordinary, "x") == store.record_at(ordinary)


@pytest.mark.parametrize("kind", ["K", "U"])
def test_message_is_found_by_unique_key(kind: str) -> None:
    store = mixed().store
    [record] = store.query("batched", unique_key("batched", 0, 1), 32, 0, 1, kind).records
    assert decode(record).body == b"b"
    assert store.query("batched", unique_key("batched", 0, 3), 32, 0, 1, kind).records == []
    assert store.query("batched", unique_key("batched", 9, 1), 32, 0, 1, kind).records == []


@pytest.mark.parametrize("topic", ["batched", "plain"])
def test_offset_at_a_position_is_that_of_the_first_record_from_there_on(topic: str) -> None:
    store = mixed().store
    end = store.max_offset(topic, 0)
    units = store.consume_queue_units(topic, 0, 0, end) if end else []
    for position, size in [(unit[0], unit[1]) for unit in units]:
        offset = store.offset_at_position(topic, 0, position)
        assert store.consume_queue_units(topic, 0, offset, 1)[0][0] == position
        assert store.offset_at_position(topic, 0, position + 1) >= offset
        assert store.offset_at_position(topic, 0, position + size) >= offset
    assert store.offset_at_position(topic, 0, store.max_physical_offset) == end
    assert store.offset_at_position(topic, 9, 0) == 0
