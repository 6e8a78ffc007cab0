"""The table of pending offsets."""

from mqgateway.gateway.kafka.coordinator.pending import PendingOffsets
from mqgateway.gateway.kafka.coordinator.records import Committed, OffsetKey, Pending, PendingKey

KEY, OTHER = OffsetKey("g", "orders", 0), OffsetKey("h", "orders", 0)
PENDING = Pending(3, Committed(9, -1, "", 1))


def test_offsets_are_found_by_producer_partition_and_group() -> None:
    table = PendingOffsets()
    table.put(PendingKey(7, KEY), PENDING)
    table.put(PendingKey(8, KEY), PENDING)
    table.put(PendingKey(8, OTHER), None)
    table.put(PendingKey(7, KEY), None)
    assert (len(table), sorted(table.producers())) == (3, [7, 8])
    assert dict(table.of(8)) == {KEY: PENDING, OTHER: None}
    assert sorted(table.at(KEY)) == [PendingKey(7, KEY), PendingKey(8, KEY)]
    assert table.keys("h") == [OTHER] and table.has_group("g")


def test_nothing_is_left_of_what_was_removed() -> None:
    table = PendingOffsets()
    for producer_id in (7, 8):
        table.put(PendingKey(producer_id, KEY), PENDING)
    for producer_id in (7, 7, 8):
        table.remove(PendingKey(producer_id, KEY))
    assert len(table) == 0 and not table.producers() and not table.of(7)
    assert not table.at(KEY) and not table.has_group("g") and not table.keys("g")
    table.put(PendingKey(7, KEY), PENDING)
    table.clear()
    assert len(table) == 0 and not table.at(KEY) and not table.has_group("g")
