"""The table of offsets."""

from mqgateway.gateway.kafka.coordinator.offsets import GroupOffsets
from mqgateway.gateway.kafka.coordinator.records import Committed, OffsetKey

KEY = OffsetKey("g", "t", 0)


def test_offsets_are_counted_found_and_removed() -> None:
    offsets = GroupOffsets()
    offsets.put(KEY, Committed(1, -1, "", 0))
    offsets.put(KEY, Committed(2, -1, "", 0))
    offsets.put(KEY._replace(partition=1), Committed(3, -1, "", 0))
    assert len(offsets) == 2
    assert offsets.get(KEY) == Committed(2, -1, "", 0)
    assert [key.partition for key in offsets.keys("g")] == [0, 1]
    for key in (KEY, KEY, KEY._replace(partition=1), KEY._replace(group="none")):
        offsets.remove(key)
    assert len(offsets) == 0 and not offsets.of("g") and offsets.get(KEY) is None
