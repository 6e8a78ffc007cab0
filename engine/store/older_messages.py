"""Interface of a place that has messages which the local log has deleted, such as an object store.

A store is made with one, or without. `older_reading` answers readers from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from mqgateway.engine.errors import StoreError
from mqgateway.engine.store.batch_consume_queue import BatchUnit
from mqgateway.engine.store.consume_queue import AnyQueue


class NothingYet(StoreError):
    """Older messages cannot be read now, and the reader cannot wait for them. The text has the reason."""


class KeySearch(NamedTuple):
    """Search for up to `most` records of a topic with a key, stored in [begin, end] ms. `kind` is the index
    type (`key_query`), `key_hash` the hash that index files have for it."""

    topic: str
    key: str
    kind: str
    key_hash: int
    most: int
    begin: int
    end: int


class OlderBlock(Protocol):
    """Consecutive records of a queue, with their units. Units have numbers from 0 on."""

    @property
    def end_offset(self) -> int:
        """The queue offset after the last message."""

    def __len__(self) -> int:
        """Return the number of units."""

    def unit_at(self, offset: int) -> int:
        """Return the number of the unit with a queue offset of the block."""

    def unit(self, number: int) -> tuple[int, int, int]:
        """Return position in the log, size and tags code of a record."""

    def offset_of(self, number: int) -> int:
        """Return the queue offset of the first message of a unit."""

    def batch_units(self, number: int) -> Iterator[BatchUnit]:
        """Yield the units of a queue of batches from a number on."""

    def record(self, number: int) -> bytes:
        """Return the record of a unit."""


class OlderMessages(Protocol):
    """Messages of queues before their local `min_offset`.

    Methods that read raise `ColdRead` for what a worker has to load first, unless `may_wait`. They never wait
    on the event loop, so that they raise `NothingYet` instead.
    """

    def is_known(self, position: int) -> bool:
        """Return True if it is known which messages there are of the log before a position. If not, it will
        be soon."""

    def has(self, queue: AnyQueue) -> bool:
        """Return True if it is known that there are older messages of a queue."""

    def min_offset(self, queue: AnyQueue) -> int:
        """Return the first offset of a queue, here or in the local log, as far as it is known."""

    def blocks(
        self, queue: AnyQueue, offset: int, end: int, may_wait: bool
    ) -> Iterator[tuple[int, OlderBlock | None]]:
        """Yield the blocks of a queue from an offset on and before `end`, each with the offset at which to
        read it. None stands for messages that are gone, with the offset after them. It ends with what is
        known of the queue, or with `end`."""

    def load_ahead(self, queue: AnyQueue, offset: int, next_offset: int) -> None:
        """Note that a reader has read from `offset` to `next_offset`, and will probably continue."""

    def first_stored_at(self, queue: AnyQueue, time: int, may_wait: bool) -> int | None:
        """Return the offset of the first older message of a queue that was stored at or after a time in ms;
        None if there is none."""

    def store_time(self, queue: AnyQueue, offset: int, may_wait: bool) -> int:
        """Return when a message was stored, in ms; -1 if it is gone."""

    def record_at(self, position: int, may_wait: bool) -> bytes | None:
        """Return the record at a position in the log, or None."""

    def with_key(self, search: KeySearch, before: int, may_wait: bool) -> tuple[bytes, ...]:
        """Return the records before a position in the log that match a search, in the order of the log: the
        newest, or for a unique key the oldest of the time."""
