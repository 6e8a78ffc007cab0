"""Records of a share partition that fail again and again: in which numbers they are delivered."""

from __future__ import annotations

from mqgateway.gateway.kafka.share_groups.settings import ShareGroupSettings
from mqgateway.gateway.kafka.share_partitions.partition import RELEASE, SharePartition
from mqgateway.gateway.kafka.share_partitions.spans import Acquired, BatchSpan
from tests.gateway.kafka.share_partitions.test_partition import SETTINGS, acknowledge, acquire, spans


def test_records_that_fail_again_and_again_are_delivered_in_smaller_numbers() -> None:
    partition = SharePartition(0)
    sizes = []
    for _ in range(5):
        [one] = acquire(partition, spans(0, 16))
        sizes.append(one.last - one.first + 1)
        acknowledge(partition, one.first, one.last, RELEASE)
    assert sizes == [16, 16, 16, 8, 1]
    assert acquire(partition, spans(0, 16)) == [Acquired(1, 1, 5)]


def release_all(partition: SharePartition, batches: list[BatchSpan], limit: int) -> list[list[Acquired]]:
    """Acquire and release records of batches until none is left; return what each read acquired."""
    settings = ShareGroupSettings(delivery_count_limit=limit)
    reads: list[list[Acquired]] = []
    while acquired := acquire(partition, batches, settings=settings):
        reads.append(acquired)
        partition.release("m", settings)
    return reads


def numbers(reads: list[list[Acquired]]) -> list[int]:
    """The number of records of each read."""
    return [sum(one.last - one.first + 1 for one in acquired) for acquired in reads]


def test_batch_is_halved_by_its_first_size() -> None:
    reads = release_all(SharePartition(0), spans(0, 10), 5)
    assert numbers(reads) == [10, 10, 10, 5, *[1] * 5, 5, *[1] * 5]


def test_batch_is_halved_with_each_delivery_over_half_the_limit() -> None:
    partition = SharePartition(0)
    reads = release_all(partition, spans(0, 512), 10)
    assert numbers(reads)[:11] == [*[512] * 5, 256, 128, 64, 32, *[1] * 2]
    deliveries = [0] * 512
    for one in (one for acquired in reads for one in acquired):
        assert one.deliveries == deliveries[one.first] + 1
        for offset in range(one.first, one.last + 1):
            deliveries[offset] += 1
    assert deliveries == [10] * 512
    assert (partition.start, partition.next) == (512, 512)


def test_limit_of_two_has_no_smaller_deliveries() -> None:
    assert numbers(release_all(SharePartition(0), spans(0, 10), 2)) == [10, 10]


def test_records_delivered_often_come_without_other_batches() -> None:
    partition = SharePartition(0)
    acquire(partition, spans(0, 4))
    partition.release("m", SETTINGS)
    acquire(partition, spans(0, 4))
    partition.release("m", SETTINGS)
    acquire(partition, spans(0, 4))
    acquire(partition, spans(4, 4), member="n")
    partition.release("m", SETTINGS)
    partition.release("n", SETTINGS)
    assert acquire(partition, spans(0, 4, 4, 4)) == [Acquired(0, 1, 4)]
    assert acquire(partition, spans(0, 4, 4, 4)) == [Acquired(2, 3, 4)]
    assert acquire(partition, spans(0, 4, 4, 4)) == [Acquired(4, 7, 2), Acquired(8, 11, 1)]


def test_records_delivered_often_follow_other_batches_in_a_later_read() -> None:
    partition = SharePartition(0)
    acquire(partition, spans(0, 4), member="n")
    for _ in range(3):
        acquire(partition, spans(4, 4))
        partition.release("m", SETTINGS)
    partition.release("n", SETTINGS)
    assert acquire(partition, spans(0, 4, 4, 4)) == [Acquired(0, 3, 2)]
    assert acquire(partition, spans(4, 4, 4)) == [Acquired(4, 5, 4)]
