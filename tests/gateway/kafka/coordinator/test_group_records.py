"""Records of groups of any type; `test_records` of each type has those of that one."""

from mqgateway.gateway.kafka.coordinator.group_records import by_topic, flat


def test_partitions_are_grouped_by_topic() -> None:
    partitions = {(b"u" * 16, 2), (b"t" * 16, 0), (b"u" * 16, 1)}
    grouped = by_topic(partitions)
    assert grouped == [(b"t" * 16, [0]), (b"u" * 16, [1, 2])]
    assert flat(grouped) == partitions
