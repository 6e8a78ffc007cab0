"""Transactional ids, within limits."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Set
from typing import NamedTuple

from twisted.internet.defer import Deferred

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.transactions.rules import TxnRefused
from mqgateway.gateway.kafka.transactions.settings import TxnSettings
from mqgateway.gateway.kafka.transactions.status import ProducerEpoch, TopicPartition, TxnState, TxnStatus

log = logging.getLogger(__name__)


class WaitingPartitions(NamedTuple):
    """Partitions that are added once the record before theirs is durable, or the transaction before theirs is
    complete. The latter is waited for until `due`, ms of the steady clock."""

    producer: ProducerEpoch
    partitions: Set[TopicPartition]
    version: int
    due: int
    done: Deferred[None]


class TxnEntry:
    """A transactional id. `status` is None for a new one, whose first record is on its way.

    `is_writing` says that a record is on its way, `is_adding` that it adds partitions only. Partitions in
    `waiting` wait for that one, or for the end of a prepared transaction.
    """

    __slots__ = ("id", "is_adding", "is_writing", "status", "waiting")

    def __init__(self, transactional_id: str, status: TxnStatus | None = None) -> None:
        self.id = transactional_id
        self.status = status
        self.is_writing = False
        self.is_adding = False
        self.waiting: list[WaitingPartitions] = []

    @property
    def is_ending(self) -> bool:
        """True if the transaction is prepared and not complete."""
        return self.status is not None and self.status.state.is_prepared

    @property
    def is_busy(self) -> bool:
        """True if the status is about to change."""
        return self.status is None or self.is_writing or self.is_ending


class TxnTable:
    """Entries by transactional id. `open` and `prepared` have those with such a transaction."""

    def __init__(self, settings: TxnSettings) -> None:
        self._settings = settings
        self._entries: dict[str, TxnEntry] = {}
        self._partitions = 0
        self.open: dict[str, TxnEntry] = {}
        self.prepared: dict[str, TxnEntry] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[TxnEntry]:
        return iter(tuple(self._entries.values()))

    def get(self, transactional_id: str) -> TxnEntry | None:
        """Return an entry, None for an unknown id."""
        return self._entries.get(transactional_id)

    def add(self, transactional_id: str) -> TxnEntry:
        """Add an id. Raises `TxnRefused` if there are as many as are allowed."""
        if len(self._entries) >= self._settings.ids_max:
            log.warning(
                "transactional id %r is refused: there are %d ids already",
                transactional_id,
                len(self._entries),
            )
            raise TxnRefused(ErrorCode.COORDINATOR_NOT_AVAILABLE, "there are too many transactional ids")
        entry = self._entries[transactional_id] = TxnEntry(transactional_id)
        return entry

    def check_room(self, entry: TxnEntry, status: TxnStatus) -> None:
        """Check that the transactions may have the partitions of a status. Raises `TxnRefused`."""
        before = 0 if entry.status is None else len(entry.status.partitions)
        count = len(status.partitions)
        limit = self._settings.partitions_max
        if count <= before:
            return
        if count > limit:
            raise TxnRefused(
                ErrorCode.POLICY_VIOLATION,
                f"a transaction has {limit} partitions at most, and this one would have {count}",
            )
        if self._partitions + count - before > self._settings.all_partitions_max:
            raise TxnRefused(
                ErrorCode.POLICY_VIOLATION, f"all transactions together have {self._partitions} partitions"
            )

    def put(self, entry: TxnEntry, status: TxnStatus) -> None:
        """Change the status of an entry."""
        if entry.status is not None:
            self._partitions -= len(entry.status.partitions)
        entry.status = status
        self._partitions += len(status.partitions)
        self.open.pop(entry.id, None)
        self.prepared.pop(entry.id, None)
        if status.state is TxnState.ONGOING:
            self.open[entry.id] = entry
        elif status.state.is_prepared:
            self.prepared[entry.id] = entry

    def restore(self, transactional_id: str, status: TxnStatus) -> None:
        """Record the status of an id that was read from the log; there may be more than are allowed."""
        entry = self._entries.get(transactional_id)
        if entry is None:
            entry = self._entries[transactional_id] = TxnEntry(transactional_id)
        self.put(entry, status)

    def discard(self, transactional_id: str) -> None:
        """Remove an id, if it is known."""
        entry = self._entries.pop(transactional_id, None)
        if entry is not None and entry.status is not None:
            self._partitions -= len(entry.status.partitions)
        self.open.pop(transactional_id, None)
        self.prepared.pop(transactional_id, None)

    def clear(self) -> None:
        """Remove all ids."""
        self._entries.clear()
        self.open.clear()
        self.prepared.clear()
        self._partitions = 0
