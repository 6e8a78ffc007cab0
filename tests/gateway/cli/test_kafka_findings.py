"""Problems of groups and transactions, from what was queried."""

from __future__ import annotations

import pytest

from mqgateway.gateway.cli.kafka_findings import (
    findings_of_groups,
    hanging,
    hanging_findings,
    late_transactions,
    stuck,
)
from mqgateway.gateway.cli.kafka_queries import (
    NOT_OPEN,
    KafkaGroupDetails,
    KafkaMember,
    KafkaPosition,
    ListedTransaction,
    PartitionProducer,
)
from mqgateway.gateway.migration.kafka.cluster import Partition

A, B = Partition("a", 0), Partition("b", 0)
MEMBER = KafkaMember("m", "c", "h", "", (A,))


def transaction(state: str = "Ongoing", *partitions: Partition, started: int = 0) -> ListedTransaction:
    """Return a transaction with a timeout of 10 s."""
    return ListedTransaction("t", state, 7, 0, started, 10_000, frozenset(partitions or (A,)))


def group(offset: int, lag: int, *members: KafkaMember, kind: str = "consumer") -> KafkaGroupDetails:
    """Return a group that reads partition `a-0`."""
    return KafkaGroupDetails("g", kind, "Stable", "uniform", members, (KafkaPosition(A, offset, lag),))


def test_open_transaction_that_no_coordinator_has_in_the_partition_hangs() -> None:
    open_here = PartitionProducer(A, 7, 0, 3, 1000, 5)
    elsewhere = PartitionProducer(B, 7, 0, 3, 1000, 9)
    done = PartitionProducer(B, 8, 0, 3, 1000, NOT_OPEN)
    every = [open_here, elsewhere, done]
    assert hanging(every, [transaction()]) == [elsewhere]
    assert hanging(every, []) == [open_here, elsewhere]
    [found] = hanging_findings([elsewhere])
    assert "b-0: producer 7 has an open transaction since offset 9" in found.what
    assert found.cure == "kafka-transactions.sh abort --topic b --partition 0 --start-offset 9"


@pytest.mark.parametrize(
    ("state", "check"), [("Ongoing", "late-transaction"), ("PrepareCommit", "markers-not-written")]
)
def test_transaction_that_should_have_ended_is_found(state: str, check: str) -> None:
    assert list(late_transactions([transaction(state)], 69_999)) == []
    [found] = late_transactions([transaction(state)], 70_000)
    assert found.check == check and "a-0" in found.what


def test_group_that_waits_without_members_or_partitions_is_found() -> None:
    assert list(stuck(group(1, 0), group(1, 0), 5)) == []
    [found] = stuck(group(1, 4), group(1, 4), 5)
    assert found.check == "no-member" and "4 records wait" in found.what
    idle = MEMBER._replace(partitions=())
    [found] = stuck(group(1, 4, idle), group(1, 4, idle), 5)
    assert found.check == "no-assignment"


@pytest.mark.parametrize(("kind", "check"), [("consumer", "no-progress"), ("share", "share-no-progress")])
def test_group_without_progress_is_found(kind: str, check: str) -> None:
    before = group(1, 4, MEMBER, kind=kind)
    [found] = stuck(before, group(1, 6, MEMBER, kind=kind), 5)
    assert found.check == check and "no progress in 5 s: 6 records wait in a-0 from offset 1" in found.what
    assert "mqgateway kafka records a -p 0 -o 1" in found.cure
    assert list(stuck(before, group(2, 6, MEMBER, kind=kind), 5)) == []
    assert list(stuck(before, group(1, 3, MEMBER, kind=kind), 5)) == []


def test_progress_in_one_partition_is_progress() -> None:
    still, moved = KafkaPosition(A, 1, 4), KafkaPosition(B, 1, 4)
    before = group(1, 4, MEMBER)._replace(positions=(still, moved))
    after = before._replace(positions=(still, KafkaPosition(B, 2, 4)))
    assert list(stuck(before, after, 5)) == []


def test_group_that_was_not_there_before_is_left_out() -> None:
    waiting = group(1, 4)
    assert list(findings_of_groups({}, [waiting], 5)) == []
    assert len(list(findings_of_groups({"g": waiting}, [waiting], 5))) == 1
