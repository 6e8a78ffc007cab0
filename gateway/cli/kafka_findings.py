"""Problems of groups and transactions of a Kafka cluster, from what was queried of it; pure.

Source of hanging transactions: KIP-664, `TransactionsCommand.FindHangingTransactionsCommand`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from mqgateway.gateway.cli.kafka_queries import (
    NOT_OPEN,
    KafkaGroupDetails,
    KafkaPosition,
    ListedTransaction,
    PartitionProducer,
)
from mqgateway.gateway.cli.times import iso
from mqgateway.gateway.kafka.stuck_transactions import abort_command, is_late, terminate_command
from mqgateway.gateway.migration.kafka.share_groups import SHARE

ONGOING: Final = "Ongoing"


class KafkaFinding(NamedTuple):
    """A problem: the name of its check, what it is, and its remedy."""

    check: str
    what: str
    cure: str


def hanging(
    producers: Iterable[PartitionProducer], known: Iterable[ListedTransaction]
) -> list[PartitionProducer]:
    """Return the producers with an open transaction in a partition that no coordinator has there."""
    added = {(one.producer_id, partition) for one in known for partition in one.partitions}
    return [
        one
        for one in producers
        if one.open_since != NOT_OPEN and (one.producer_id, one.partition) not in added
    ]


def hanging_findings(found: Iterable[PartitionProducer]) -> Iterator[KafkaFinding]:
    """Yield a finding for each hanging transaction."""
    for one in found:
        topic, number = one.partition
        yield KafkaFinding(
            "hanging-transaction",
            f"{one.partition}: producer {one.producer_id} has an open transaction since offset "
            f"{one.open_since}, last written {iso(one.last_timestamp)}, which no coordinator knows; "
            "read_committed consumers stop before it",
            abort_command(topic, number, one.open_since),
        )


def late_transactions(known: Iterable[ListedTransaction], now: int) -> Iterator[KafkaFinding]:
    """Yield a finding for each transaction that should have ended; `now` is the wall time, ms."""
    for one in known:
        age = now - one.started
        if not is_late(one.started, one.timeout, now):
            continue
        partitions = ", ".join(map(str, sorted(one.partitions)[:5]))
        if one.state == ONGOING:
            yield KafkaFinding(
                "late-transaction",
                f"transaction {one.transactional_id} of producer {one.producer_id} is open for "
                f"{age // 1000} s, its timeout is {one.timeout // 1000} s: {partitions}",
                "see the log of the coordinator, which should have aborted it, or abort it: "
                f"{terminate_command(one.transactional_id)}",
            )
        else:
            yield KafkaFinding(
                "markers-not-written",
                f"transaction {one.transactional_id} is in state {one.state} for {age // 1000} s: "
                f"its markers are missing in {partitions}",
                "see why the leaders of these partitions do not accept writes: too few replicas in sync, a "
                "full disk, or no leader",
            )


def stuck(before: KafkaGroupDetails, after: KafkaGroupDetails, seconds: float) -> Iterator[KafkaFinding]:
    """Yield the problems of a group that was looked at twice, so many seconds apart."""
    name, lag = after.name, after.lag
    if not lag:
        return
    if not after.members:
        yield KafkaFinding(
            "no-member",
            f"group {name} ({after.kind}) has no members, and {lag} records wait",
            "start its consumers, or see in their logs why they do not join",
        )
        return
    if not any(member.partitions for member in after.members):
        yield KafkaFinding(
            "no-assignment",
            f"group {name} ({after.kind}, {after.state}) has {len(after.members)} members and no "
            "partition is assigned",
            "wait until a rebalance ends; otherwise compare the topics that its members subscribe to",
        )
        return
    begun = {one.partition: one for one in before.positions}
    still = [one for one in after.positions if _is_unmoved(begun.get(one.partition), one)]
    if still and len(still) == sum(one.lag > 0 for one in after.positions):
        yield _no_progress(after, still[0], seconds)


def _is_unmoved(before: KafkaPosition | None, after: KafkaPosition) -> bool:
    """Return True if records wait and neither the offset nor the lag shows that any was processed."""
    if before is None or after.lag <= 0:
        return False
    return before.offset == after.offset and after.lag >= before.lag


def _no_progress(group: KafkaGroupDetails, one: KafkaPosition, seconds: float) -> KafkaFinding:
    topic, number = one.partition
    what = (
        f"group {group.name} ({group.kind}) has {len(group.members)} members and made no progress in "
        f"{seconds:g} s: {one.lag} records wait in {one.partition} from offset {one.offset}"
    )
    look = f"mqgateway kafka records {topic} -p {number} -o {one.offset}"
    if group.kind == SHARE:
        return KafkaFinding(
            "share-no-progress",
            what,
            f"see the record ({look}) and the logs of the members: one that is neither acknowledged nor "
            "released is delivered again after its lock, up to share.delivery.count.limit times",
        )
    return KafkaFinding(
        "no-progress",
        what,
        f"see the record ({look}), the logs of the members, and for read_committed open transactions",
    )


def findings_of_groups(
    before: Mapping[str, KafkaGroupDetails], after: Iterable[KafkaGroupDetails], seconds: float
) -> Iterator[KafkaFinding]:
    """Yield the problems of groups that were looked at twice; those that are new are left out."""
    for group in after:
        if group.name in before:
            yield from stuck(before[group.name], group, seconds)
