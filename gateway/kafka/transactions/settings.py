"""Timeouts of transactions, and limits of the tables that clients grow.

Kafka: `TransactionStateManagerConfig`. Apache Kafka has no limit of ids, of their length and of partitions.
"""

from __future__ import annotations

from dataclasses import dataclass

MINUTE = 60_000
DAY = 24 * 60 * MINUTE


@dataclass(frozen=True, slots=True)
class TxnSettings:
    """Settings of the coordinator. Times in ms, `id_bytes_max` in bytes of UTF-8.

    `partitions_max` limits the partitions of one transaction, `all_partitions_max` those of all open ones.
    """

    timeout_max: int = 15 * MINUTE
    timeout_interval: int = 10_000
    id_retention: int = 7 * DAY
    expiry_interval: int = 60 * MINUTE
    ids_max: int = 100_000
    id_bytes_max: int = 1024
    partitions_max: int = 10_000
    all_partitions_max: int = 1_000_000
