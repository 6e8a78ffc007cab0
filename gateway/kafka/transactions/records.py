"""The status of a transactional id as a record of the topic `__transaction_state`, in Kafka's own schema.

A key begins with the version of its schema, a value too. A record without a value is a tombstone. Kafka:
`TransactionLog`.
"""

from __future__ import annotations

from typing import Final

from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.engine.record_batches.reader import Reader
from mqgateway.gateway.kafka.codec.messages.transaction_log_key import TransactionLogKey
from mqgateway.gateway.kafka.codec.messages.transaction_log_value import PartitionsSchema, TransactionLogValue
from mqgateway.gateway.kafka.codec.plans import encode_into, read
from mqgateway.gateway.kafka.codec.schema import Message
from mqgateway.gateway.kafka.transactions.status import TopicPartition, TxnState, TxnStatus

KEY_VERSION: Final = 0
VALUE_VERSION: Final = 1


def txn_key(transactional_id: str) -> bytes:
    """Return the key of an id's record."""
    return _bytes(TransactionLogKey(transactional_id), KEY_VERSION)


def txn_value(status: TxnStatus) -> bytes:
    """Return the value of an id's record."""
    topics: dict[str, list[int]] = {}
    for topic, partition in sorted(status.partitions):
        topics.setdefault(topic, []).append(partition)
    partitions = [PartitionsSchema(topic, numbers) for topic, numbers in topics.items()]
    value = TransactionLogValue(
        producer_id=status.producer_id,
        previous_producer_id=status.previous_producer_id,
        next_producer_id=status.next_producer_id,
        producer_epoch=status.epoch,
        transaction_timeout_ms=status.timeout,
        transaction_status=status.state,
        transaction_partitions=None if status.state is TxnState.EMPTY else partitions,
        transaction_last_update_timestamp_ms=status.updated,
        transaction_start_timestamp_ms=status.started,
        client_transaction_version=status.version,
    )
    return _bytes(value, VALUE_VERSION)


def read_id(key: bytes) -> str | None:
    """Return the transactional id of a record; None for a record of another kind. Raises `CodecError`."""
    reader = Reader(key)
    if reader.int16() != KEY_VERSION:
        return None
    return read(TransactionLogKey, reader, KEY_VERSION).transactional_id


def read_status(value: bytes) -> TxnStatus:
    """Return the status that a record has. Raises `CodecError`.

    As in Kafka, a record does not have the last epoch.
    """
    reader = Reader(value)
    known = read(TransactionLogValue, reader, reader.int16())
    try:
        state = TxnState(known.transaction_status)
    except ValueError as error:
        raise CodecError(f"state {known.transaction_status} is unknown", 0) from error
    return TxnStatus(
        known.producer_id,
        known.producer_epoch,
        known.transaction_timeout_ms,
        state,
        known.transaction_last_update_timestamp_ms,
        started=known.transaction_start_timestamp_ms,
        partitions=frozenset(
            TopicPartition(topic.topic, number)
            for topic in known.transaction_partitions or ()
            for number in topic.partition_ids
        ),
        previous_producer_id=known.previous_producer_id,
        next_producer_id=known.next_producer_id,
        version=known.client_transaction_version,
    )


def _bytes(message: Message, version: int) -> bytes:
    out = bytearray(version.to_bytes(2, "big"))
    encode_into(out, message, version)
    return bytes(out)
