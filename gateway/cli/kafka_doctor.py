"""Problems of a Kafka cluster, found by two looks at it: for `mqgateway kafka doctor` and `mqgateway doctor`.

All functions raise `ClientError`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing

from mqgateway.gateway.cli.kafka_findings import (
    KafkaFinding,
    findings_of_groups,
    hanging,
    hanging_findings,
    late_transactions,
)
from mqgateway.gateway.cli.kafka_queries import (
    KafkaGroupDetails,
    details_of,
    partitions_of,
    producers,
    transactions,
)
from mqgateway.gateway.kafka.group_names import kafka_group
from mqgateway.gateway.kafka.topics import kafka_name
from mqgateway.gateway.migration.kafka.cluster import KafkaCluster
from mqgateway.gateway.migration.kafka.groups import read_groups
from mqgateway.gateway.migration.kafka.security import ClusterSecurity
from mqgateway.gateway.migration.kafka.share_groups import SHARE
from mqgateway.gateway.mqadmin import connection

WATCH_SECONDS = 5.0
"""Time after which a group that waits must have made progress."""


def examine_cluster(
    cluster: KafkaCluster,
    groups: Callable[[], Iterable[KafkaGroupDetails]],
    topics: Sequence[str] | None,
    *,
    now: int,
    watch: float,
    wait: Callable[[float], object],
) -> list[KafkaFinding]:
    """Return the problems of groups, and of the transactions in topics, None for all.

    `groups` looks at the groups, `now` is the wall time in ms. A second look comes after `watch` seconds, if
    the first one found something that may pass.
    """
    before = {one.name: one for one in groups()}
    partitions = [] if topics is not None and not topics else partitions_of(cluster, topics)
    known = transactions(cluster)
    suspects = hanging(producers(cluster, partitions), known)
    after: Iterable[KafkaGroupDetails] = ()
    if suspects or any(one.lag for one in before.values()):
        wait(watch)
        known = transactions(cluster)
        again = set(hanging(producers(cluster, {one.partition for one in suspects}), known))
        suspects = [one for one in suspects if one in again]
        after = groups()
    concerned = [one for one in known if topics is None or one.partitions & set(partitions)]
    return [
        *hanging_findings(suspects),
        *late_transactions(concerned, now),
        *findings_of_groups(before, after, watch),
    ]


def examine_share_group(
    address: str,
    name: str,
    topics: Iterable[str],
    *,
    seconds: float,
    now: int,
    wait: Callable[[float], object],
) -> list[KafkaFinding]:
    """Return the problems of a share group and of the transactions in topics, at a broker's Kafka address.

    The names are RocketMQ's; topics that Kafka clients do not see are left out. An answer may take `seconds`.
    """
    group_id = kafka_group(name)
    with closing(KafkaCluster([address], ClusterSecurity(connection.plain), seconds)) as cluster:
        shown = {one.name for one in cluster.metadata().topics}
        names = {found for topic in topics if (found := kafka_name(topic)) is not None and found in shown}

        def groups() -> list[KafkaGroupDetails]:
            listed = [one for one in read_groups(cluster) if one.name == group_id and one.kind == SHARE]
            return [details_of(cluster, one) for one in listed]

        names.update(one.partition.topic for found in groups() for one in found.positions)
        return examine_cluster(cluster, groups, sorted(names), now=now, watch=WATCH_SECONDS, wait=wait)
