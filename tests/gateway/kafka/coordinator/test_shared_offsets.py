"""Rules of the shared table of offsets, which the one in memory keeps too."""

from mqgateway.gateway.kafka.coordinator.records import OffsetKey
from mqgateway.gateway.kafka.coordinator.shared_offsets import SharedInMemory, SharedOffsets

KEYS = [OffsetKey("g", "orders", 0), OffsetKey("g", "orders", 1)]


def check_shared_offsets(shared: SharedOffsets) -> None:
    """Check a table that has the topic `orders` with two partitions, and no offsets."""
    assert shared.topic_id("none") is None and shared.topic_id("orders") is not None
    assert shared.get(KEYS[0]) is None
    shared.put(KEYS[0], 5)
    shared.put(KEYS[1], 0)
    shared.put(KEYS[0], 3)
    assert [shared.get(key) for key in KEYS] == [3, 0]
    assert sorted(shared.keys("g")) == KEYS and shared.keys("h") == []
    assert shared.groups() == {"g"}
    assert shared.has_group("g") and not shared.has_group("h")
    assert not shared.has_members("g")
    shared.remove("g", "orders", [0])
    assert [shared.get(key) for key in KEYS] == [None, 0]
    shared.remove("g", "orders", [0, 1])
    assert shared.groups() == set() and not shared.has_group("g")


def test_table_in_memory_keeps_the_rules() -> None:
    check_shared_offsets(SharedInMemory({"orders": b"t" * 16}))
