"""Timeouts of transactions, and limits of the tables that clients grow.

Kafka: `TransactionStateManagerConfig`. Apache Kafka has no limit of ids, of their length and of partitions.
"""

from __future__ import annotations

from dataclasses import dataclass

from mqgateway.engine.options import BrokerOptions

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


def txn_settings(options: BrokerOptions) -> TxnSettings:
    """Return the settings of a broker's coordinator."""
    return TxnSettings(
        timeout_max=options.kafka_transaction_max_timeout_millis,
        timeout_interval=options.kafka_transaction_abort_timed_out_transaction_cleanup_interval_millis,
        id_retention=options.kafka_transactional_id_expiration_millis,
        expiry_interval=options.kafka_transaction_remove_expired_transaction_cleanup_interval_millis,
    )
