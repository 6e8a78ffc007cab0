"""States of share partitions in memory."""

from mqgateway.gateway.kafka.share_groups.partitions import SharePartitionOffset, SharePartitionsInMemory

TOPIC, OTHER = b"t" * 16, b"u" * 16


def test_start_offsets_are_described_and_deleted() -> None:
    partitions = SharePartitionsInMemory({(TOPIC, 0): 9})
    partitions.alter("g", TOPIC, 0, 4)
    partitions.alter("g", OTHER, 1, 2)
    assert partitions.describe("g") == {
        (TOPIC, 0): SharePartitionOffset(4, 0, 5),
        (OTHER, 1): SharePartitionOffset(2, 0, 0),
    }
    partitions.delete("g", TOPIC)
    assert list(partitions.describe("g")) == [(OTHER, 1)]
    partitions.delete("g", None)
    assert partitions.describe("g") == {}
