"""The status of a transactional id: its states, its producer, and its transaction.

Kafka: `TransactionState`, `TransactionMetadata`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final, NamedTuple

NO_PRODUCER: Final = -1
NO_EPOCH: Final = -1
NO_TIME: Final = -1
EPOCH_MAX: Final = 32767
"""The epoch of the last marker of a producer id; no client is given it."""
EPOCH_LAST: Final = EPOCH_MAX - 1
"""The last epoch of a producer id that a client has."""


class TxnState(IntEnum):
    """A state of a transactional id; the number is the one in its record."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7

    @property
    def label(self) -> str:
        """The name that clients see."""
        return _LABELS[self]

    @property
    def is_prepared(self) -> bool:
        """True if the outcome is decided, and markers are to be written."""
        return self in (TxnState.PREPARE_COMMIT, TxnState.PREPARE_ABORT)


_LABELS: Final = {state: state.name.title().replace("_", "") for state in TxnState}
STATES: Final = {label: state for state, label in _LABELS.items()}
"""States by the names that clients see."""


class TopicPartition(NamedTuple):
    """A partition of a topic, by Kafka's name."""

    topic: str
    partition: int


class ProducerEpoch(NamedTuple):
    """A producer id and its epoch."""

    producer_id: int
    epoch: int


NO_IDENTITY: Final = ProducerEpoch(NO_PRODUCER, NO_EPOCH)
"""The answer's producer where there is none."""


@dataclass(frozen=True, slots=True)
class TxnStatus:
    """Status of a transactional id. Times are wall times in ms, the timeout is in ms.

    `last_epoch` is the producer's epoch before the last change of it, `previous_producer_id` the id before
    the epochs of that one were used up. `next_producer_id` replaces the id at the end of the transaction.
    `epoch` of a prepared transaction is that of its markers. `version` is the version of transactions that
    the client speaks: from 2 on every transaction has an epoch of its own (KIP-890).
    """

    producer_id: int
    epoch: int
    timeout: int
    state: TxnState
    updated: int
    started: int = NO_TIME
    partitions: frozenset[TopicPartition] = frozenset()
    last_epoch: int = NO_EPOCH
    previous_producer_id: int = NO_PRODUCER
    next_producer_id: int = NO_PRODUCER
    version: int = 0

    @property
    def producer(self) -> ProducerEpoch:
        """The producer id and its epoch."""
        return ProducerEpoch(self.producer_id, self.epoch)

    @property
    def is_exhausted(self) -> bool:
        """True if the producer id has no further epoch for a client."""
        return self.epoch >= EPOCH_LAST

    @property
    def is_commit(self) -> bool:
        """True if the transaction is committed, or is to be."""
        return self.state in (TxnState.PREPARE_COMMIT, TxnState.COMPLETE_COMMIT)
